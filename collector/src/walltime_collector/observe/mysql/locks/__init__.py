"""Who waits for a lock and who holds it, while a wait lasts; and deadlocks."""

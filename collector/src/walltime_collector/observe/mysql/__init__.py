"""MySQL and MariaDB: statements, locks, load and plans."""

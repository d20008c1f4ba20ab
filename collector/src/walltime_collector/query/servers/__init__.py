"""What the servers behind the application cost: databases, caches, HTTP services, one row a component and address."""

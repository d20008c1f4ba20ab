"""Which statements take the time, seen from the application and from the database's own log at once."""

"""What the other side of the wire says about a cause: the database, who held its locks, the cache."""

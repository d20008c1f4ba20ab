"""What databases and caches say of themselves: their names, their status over time, what happened on them."""

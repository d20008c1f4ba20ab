"""Asks databases and caches, over connections of its own, for what the applications cannot see."""

"""Answers about the transactions of a Scope: a window of time and filters."""

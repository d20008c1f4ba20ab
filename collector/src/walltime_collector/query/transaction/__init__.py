"""One transaction: its trace, its place among others of its kind, and how both are worded."""

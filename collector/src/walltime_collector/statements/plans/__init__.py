"""The plan of a statement, without its values: its shape, and how it reads."""

"""A Wagtail site of two kinds of pages, on SQLite in memory."""

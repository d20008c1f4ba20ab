"""`find`: single transactions by any condition, in any order, page by page; and those that arrive."""

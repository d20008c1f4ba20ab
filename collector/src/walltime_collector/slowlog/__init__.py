"""The slow-log join's database side: a slow log is followed, parsed and stored without literals."""

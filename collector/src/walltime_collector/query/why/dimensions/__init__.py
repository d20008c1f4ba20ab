"""Other transactions than usual, and values (a host, a user) that explain a difference: see decision 037."""

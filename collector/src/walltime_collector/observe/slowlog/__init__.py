"""Follows the database's slow log, parses it, and stores its entries without literals."""

"""The glue: a database's slow log, followed, parsed and stored, so that a statement can be seen from both its ends."""

"""`walltime advise`."""

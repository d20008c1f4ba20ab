"""`walltime diff`."""

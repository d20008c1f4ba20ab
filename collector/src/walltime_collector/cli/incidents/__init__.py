"""`walltime incidents`."""

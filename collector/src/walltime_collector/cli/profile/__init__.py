"""`walltime profile`: where the time of a kind goes that no measured call explains."""

"""`walltime slowlog`."""

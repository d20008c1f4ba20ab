"""`walltime digest`: statements by time, of the collector or of slow logs."""

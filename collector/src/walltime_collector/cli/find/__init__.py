"""The command `walltime find`."""

"""`walltime advise`: what to change, with the time that each change would save."""

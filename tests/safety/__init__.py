"""What Walltime must never do to the process it is in: each rule of reliability tried, with its number."""

"""The version of both packages, walltime and walltime-collector; the one place where it is written."""

VERSION = "0.1.0"

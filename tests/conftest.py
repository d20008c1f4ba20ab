"""Settings of every test."""

from hypothesis import settings

# No deadline for an example: on a busy machine a slow one says nothing about the code.
settings.register_profile("walltime", deadline=None)
settings.load_profile("walltime")

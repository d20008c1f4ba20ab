"""Settings of every test."""

import signal

from hypothesis import settings

# No deadline for an example: on a busy machine a slow one says nothing about the code.
settings.register_profile("walltime", deadline=None)
settings.load_profile("walltime")

# A shell that starts the tests in the background makes them and all they start deaf to Ctrl-C, which some are about.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""Sends ten tasks in one transaction."""

import walltime
from tasks import send_mail

with walltime.transaction("order"):
    for number in range(10):
        send_mail.delay(number)

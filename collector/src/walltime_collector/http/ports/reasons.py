"""Reasons for refusing or closing connections: words for the counters, texts for the log and `walltime status`."""

from __future__ import annotations

REASONS = {
    "limit": "refused, all connections are in use",
    "address_limit": "refused, their address has its maximum",
    "made_room": "closed while idle, to accept others",
    "no_descriptors": "not accepted, the system gave no file descriptor",
    "silent": "closed, they sent nothing",
    "handshake": "closed, the TLS handshake failed or was too slow",
    "slow_headers": "closed, the headers did not arrive in time",
    "slow_body": "closed, the body did not arrive in time",
    "slow_reader": "closed, the response was not read in time",
    "unread_answers": "closed, unread responses took too much memory",
}
"""Reason, as in the counter `closed_<port>_<reason>` → text."""

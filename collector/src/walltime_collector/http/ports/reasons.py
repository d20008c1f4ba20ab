"""Why a port refuses or closes connections: the words in counters, and what people read."""

from __future__ import annotations

REASONS = {
    "limit": "refused, all connections are in use",
    "address_limit": "refused, their address has as many as one may have",
    "made_room": "closed while idle, to accept others",
    "no_descriptors": "not accepted, the system gave no file descriptor",
    "silent": "closed, they sent nothing",
    "handshake": "closed, the TLS handshake failed or was too slow",
    "slow_headers": "closed, the headers did not arrive in time",
    "slow_body": "closed, the body did not arrive in time",
    "slow_reader": "closed, the answer was not read in time",
    "unread_answers": "closed, answers that nobody reads took too much memory",
}
"""Why connections are refused or closed, as counted in `closed_<port>_<reason>`, and what the log says of it."""

"""The `Server-Timing` response header: the bill so far, for a browser's developer tools.

https://www.w3.org/TR/server-timing/
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from walltime.core.call import LINES, SKIPPED, Piece
from walltime.core.transaction import clock

if TYPE_CHECKING:
    from walltime.core.transaction import Transaction

MAX_COMPONENTS: Final = 12
"""Maximum of named components, the longest ones; the others are summed up. About 30 bytes each."""
_NOT_OF_TOKENS: Final = re.compile(r"[^!#$%&'*+.^_`|~0-9A-Za-z-]+")
_MAX_NAME_CHARS: Final = 40


def server_timing(transaction: Transaction) -> str:
    """
    Return the header's value: the total and each component up to now, in ms, its calls as the description.

    It is sent before the body: what the application does while it streams the body is not included.
    """
    total_ns = clock() - transaction.started_ns
    times_ns: dict[str, int] = {}
    calls: dict[str, int] = {}
    early = transaction.bill
    if early is not None:
        for component, cell in early.components.items():
            times_ns[component], calls[component] = cell.time_ns, cell.calls
    for line, subject, _, _, own_ns, failure, _, _ in list(transaction.calls):
        component = LINES[line].component
        times_ns[component] = times_ns.get(component, 0) + own_ns
        calls[component] = calls.get(component, 0) + (type(subject) is not Piece and failure is not SKIPPED)
    longest = sorted(times_ns, key=times_ns.__getitem__, reverse=True)
    parts = [f"total;dur={total_ns / 1e6:.2f}"]
    if transaction.queue_ns is not None:
        parts.append(f"queue;dur={transaction.queue_ns / 1e6:.2f}")
    for component in longest[:MAX_COMPONENTS]:
        name = _NOT_OF_TOKENS.sub("_", component[:_MAX_NAME_CHARS])
        parts.append(f'{name};dur={times_ns[component] / 1e6:.2f};desc="{calls[component]}"')
    rest_ns = sum(times_ns[component] for component in longest[MAX_COMPONENTS:])
    if rest_ns:
        parts.append(f"more;dur={rest_ns / 1e6:.2f}")
    return ", ".join(parts)

"""
Calls that are measured in pieces, such as a request and the reading of its body. The bill and the detail have one call
with one time. The export thread joins the pieces; the request's thread only notes to which call a piece belongs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from walltime.core.call import CONTINUED, Piece

if TYPE_CHECKING:
    from collections.abc import Sequence

    from walltime.core.call import Call, Line


def joined(calls: Sequence[Call]) -> list[Call]:
    """
    Return the calls, each with its pieces added: from the first start to the last end, exclusive times summed up.

    Pieces of a call that is not in `calls` become one piece.
    """
    pieces: dict[int, Call] = {}
    for call in calls:
        subject = call[1]
        if type(subject) is Piece:
            key = id(subject.of)
            known = pieces.get(key)
            pieces[key] = call if known is None else _both(known, call)
    if not pieces:
        return list(calls)
    whole: list[Call] = []
    for call in calls:
        subject = call[1]
        if type(subject) is Piece:
            continue
        piece = pieces.pop(id(subject), None) if type(subject) is tuple else None
        whole.append(call if piece is None else _both(call, piece))
    return whole + list(pieces.values())


def _both(call: Call, more: Call) -> Call:
    line, subject, started_ns, ended_ns, own_ns, failure, requested, matched = call
    _, _, more_started_ns, more_ended_ns, more_own_ns, more_failure, _, more_matched = more
    return (
        line, subject, min(started_ns, more_started_ns), max(ended_ns, more_ended_ns), own_ns + more_own_ns,
        failure or more_failure, requested, matched + more_matched,
    )  # fmt: skip


def without_calls(calls: Sequence[Call]) -> list[Call]:
    """Return joined calls; a remaining piece adds time to its component and does not count as a call."""
    return [(call[0], CONTINUED, *call[2:]) if type(call[1]) is Piece else call for call in calls]


def parted(calls: Sequence[Call]) -> tuple[list[Call], list[Call]]:
    """Split joined calls into complete ones and ones that may continue: pieces, and the last call of each line."""
    last: dict[Line, int] = {call[0]: place for place, call in enumerate(calls) if type(call[1]) is tuple}
    open_places = set(last.values())
    complete: list[Call] = []
    still_open: list[Call] = []
    for place, call in enumerate(calls):
        (still_open if place in open_places or type(call[1]) is Piece else complete).append(call)
    return complete, still_open

"""What to change, with the time that each change would save."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from ...errors import BadParameter
from ...format import quoted
from ...query.advise.advise import advise
from ...query.advise.answer import Advised
from ...query.advise.dismissed import dismissals
from ..request import MayChange, PageRequest, may_change

PARAMS = {"dismissed": ""}
"""`show`: also advice that was dismissed."""
_MOST = 20


@dataclass(frozen=True)
class AdvicePage:
    """The view model."""

    answer: Advised
    with_dismissed: bool
    may_dismiss: MayChange


def advice(request: PageRequest) -> AdvicePage:
    """Answer the view."""
    dismissed = request.params["dismissed"]
    if dismissed not in ("", "show"):
        raise BadParameter("dismissed", f"{quoted(dismissed)} is not one of its values", "use show")
    with_dismissed = dismissed == "show"
    answer = advise(request.engine, request.selected, request.now_ns, limit=_MOST, with_dismissed=with_dismissed)
    return AdvicePage(answer, with_dismissed, may_change(request.sources.access))


def decisions(request: PageRequest) -> Hashable:
    """What is dismissed now."""
    return tuple(dismissals(request.engine).values())

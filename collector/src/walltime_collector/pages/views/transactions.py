"""Single transactions by any condition, in any order, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from ...query.find.answer import Matches
from ...query.find.search import NEWEST, find
from ..request import PageRequest

PARAMS = {"sort": NEWEST, "after": ""}
"""`sort` is a field of conditions; `after` is the key of a page, which `next` of the page before is."""
_MOST = 50


@dataclass(frozen=True)
class TransactionsPage:
    """The view model."""

    matches: Matches


def transactions(request: PageRequest) -> TransactionsPage:
    """Answer the view."""
    sort, after = request.params["sort"], request.params["after"]
    return TransactionsPage(find(request.engine, request.selected, sort=sort, limit=_MOST, after=after))

"""What the filter form suggests; it is loaded when the form is opened."""

from __future__ import annotations

from ...query.kinds import FilterValues, filter_values
from ..request import PageRequest

_PERIOD_NS = 600_000_000_000


def suggestions(request: PageRequest) -> FilterValues:
    """Answer the view; it is computed at most every ten minutes."""
    key = ("filter values", request.now_ns // _PERIOD_NS)
    values: FilterValues = request.sources.minutely.get(key, lambda: filter_values(request.engine))
    return values

"""
Django's ORM: compiling queries to SQL (`orm.compile`), and making objects from rows (`orm.load`).

A result set is one load, without a cost per row. The rows of `QuerySet.iterator()` come one by one and are in the time
of their reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.core.exceptions import EmptyResultSet, FullResultSet
from django.db.models.query import QuerySet, RawQuerySet
from django.db.models.sql import compiler

from walltime.instrumentation.expected import expect
from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

if TYPE_CHECKING:
    from typing import Any

REQUIRES: Final = "Django >= 4.2, < 7"


expect(EmptyResultSet, FullResultSet)


def patches() -> list[Patch]:
    compile_, load = Outermost("orm.compile"), Outermost("orm.load", _is_to_load)
    kinds = ("SQLCompiler", "SQLInsertCompiler", "SQLUpdateCompiler", "SQLDeleteCompiler", "SQLAggregateCompiler")
    return [
        *(Patch(getattr(compiler, kind), "as_sql", compile_.call) for kind in kinds),
        Patch(QuerySet, "_fetch_all", load.call),
        Patch(RawQuerySet, "_fetch_all", load.call),
    ]


def _is_to_load(query: Any) -> bool:
    return query._result_cache is None or (bool(query._prefetch_related_lookups) and not query._prefetch_done)

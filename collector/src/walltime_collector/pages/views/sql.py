"""The SQL editor: the tables and columns beside it, and statements to begin with; the browser runs them at /api/sql."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

from ...errors import CollectorError
from ...sql.tables import Table
from ..request import PageRequest

PARAMS = {"q": ""}
"""`q` is the statement in the editor. A link fills the editor; it runs nothing."""
_EXAMPLES = (
    ("Kinds by total time", "kinds"),
    ("Response time, minute by minute", "response_time"),
    ("Hit ratio of each cache server", "hit_ratio"),
    ("The slowest transactions", "slowest"),
    ("Statements repeated in a transaction", "repeated"),
    ("Row locks in the slow log", "row_locks"),
    ("Transactions by user", "users"),
    ("Time of every component", "components"),
)


@dataclass(frozen=True)
class Example:
    """A statement to begin with."""

    title: str
    sql: str


@dataclass(frozen=True)
class SqlPage:
    """The view model."""

    statement: str
    tables: tuple[Table, ...]
    """Empty when the database does not answer."""
    examples: tuple[Example, ...]


def sql(request: PageRequest) -> SqlPage:
    """Answer the view."""
    try:
        tables = request.sources.tables.read()
    except CollectorError:
        tables = ()
    return SqlPage(request.params["q"] or EXAMPLES[0].sql, tables, EXAMPLES)


def _example(name: str) -> str:
    return (files(__package__) / "examples" / f"{name}.sql").read_text("utf-8").strip()


EXAMPLES = tuple(Example(title, _example(name)) for title, name in _EXAMPLES)

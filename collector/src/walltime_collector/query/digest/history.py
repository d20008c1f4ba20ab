"""A statement over all that is stored: when it was first seen, which versions sent it, what it cost each day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os.path import commonprefix

from ...clickhouse.engine import Engine
from ...conversion import from_row
from ...format import iso_time
from ...statements.fingerprint import fingerprint_id, of_template
from ..queries import Row, run
from .answer import Day, SentBy, StatementHistory
from .new_since import new_since
from .plans import plans

_S = 1_000_000_000
_MAX_VARIANTS = 10_000
_MAX_ROWS = 5_000
_MAX_VERSIONS = 20
_UNCHANGING = re.compile(
    r"(?:(?!\b(?:order\s+by|values?|null|true|false)\b)[^?%(:'\"+-])*", re.IGNORECASE
)  # what texts of one fingerprint have in common


def history(engine: Engine, number: int, texts: Sequence[str]) -> StatementHistory:
    """
    What is stored of a statement.

    Args:
        number: Its fingerprint's id.
        texts: Some of those that applications send; others of the same fingerprint are found by their beginning.

    Raises:
        EngineUnavailable, QueryFailed: No answer.
    """
    texts = variants(engine, number, texts)
    sent, whole = by_version(engine, texts)
    days = {row["day_s"]: from_row(Day, row) for row in run(engine, "digest/days", texts=texts)} if texts else {}
    logged = run(engine, "digest/server_days", fingerprint_id=number)
    for row in logged:
        day = vars(days.get(row["day_s"], Day(row["day_s"])))
        measured = {"logged_calls": row["calls"], "logged_ns": row["time_ns"]}
        measured |= {name: row[name] for name in ("rows_examined", "rows_used")}
        days[row["day_s"]] = Day(**{**day, **measured})
    first_s = min((int(row["first_s"]) for row in (*sent, *logged)), default=0)
    return StatementHistory(
        iso_time(first_s * _S) if first_s else "",
        new_since(sent, whole),
        _versions(sent)[:_MAX_VERSIONS],
        tuple(days[day_s] for day_s in sorted(days)),
        plans(engine, number),
    )


def variants(engine: Engine, number: int, texts: Sequence[str]) -> list[str]:
    """These texts and the others of the same fingerprint: a list with another number of values is another text."""
    if not texts:
        return []
    beginnings = [match[0] for match in map(_UNCHANGING.match, texts) if match]
    beginning = commonprefix(beginnings)  # noqa: RUF071  character by character
    rows = run(engine, "digest/variants", beginning=beginning, limit=_MAX_VARIANTS)
    others = (str(row["text"]) for row in rows)
    return list(dict.fromkeys([*texts, *(each for each in others if fingerprint_id(of_template(each)) == number)]))


def by_version(engine: Engine, texts: Sequence[str]) -> tuple[Sequence[Row], Sequence[Row]]:
    """The rows for `new_since`."""
    sent = run(engine, "digest/versions", texts=texts, limit=_MAX_ROWS) if texts else ()
    names = {column: sorted({str(row[column]) for row in sent}) for column in ("service", "name")}
    return sent, run(engine, "digest/kind_versions", services=names["service"], names=names["name"]) if sent else ()


def _versions(sent: Sequence[Row]) -> tuple[SentBy, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in sent:
        found.setdefault((row["service"], row["version"]), []).append(row)
    firsts = {key: min(int(row["first_s"]) for row in rows) for key, rows in found.items()}
    return tuple(
        SentBy(*key, iso_time(firsts[key] * _S), *_sums(found[key]), len(found[key]))
        for key in sorted(found, key=lambda key: (-firsts[key], key))
    )


def _sums(rows: Sequence[Row]) -> tuple[int, int]:
    return sum(int(row["calls"]) for row in rows), sum(int(row["time_ns"]) for row in rows)

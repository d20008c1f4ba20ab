"""Rows of `transactions` with every sort of column, and what a condition means, computed from them in Python."""

from __future__ import annotations

import json
import operator
import random
import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from lark import Lark, Token, Transformer, v_args
from walltime_collector.query.components import COLUMNS, FAMILIES
from walltime_collector.query.condition import parse
from walltime_collector.query.condition.fields import field
from walltime_collector.query.condition.tree import Field, Value
from walltime_collector.query.condition.values import value

Row = Mapping[str, Any]
Truth = Callable[[Row], bool]
TEXTS = ("", "a", "Bob", "bob's", 'say "x"', "{where_0:String}", "'; DROP TABLE transactions --", "2.1", "ÄÖ", "\\n")
SERVERS = ("127.0.0.1:11211", "10.0.0.5:3306", "[::1]:80")
STATEMENTS = ("SELECT * FROM reviews WHERE id = ?", "select 1", "UPDATE stock SET n = ?")
CUSTOM = ("redis.get", "tax", "mysql.pool", "render page")
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_STORED = {"time": "time_ns", "max": "max_ns"}


class Rows(list[dict[str, Any]]):
    """Hypothesis shows the parameters of a test, and these would be a megabyte."""

    def __repr__(self) -> str:
        return f"{len(self)} rows"


def make_rows(number: int, started_ns: int, seed: int = 1) -> Rows:
    """As JSONEachRow inserts them; half of the counters are 0."""
    rng = random.Random(seed)

    def some(most: int) -> int:
        return rng.choice((0, rng.randrange(most)))

    rows = Rows()
    for at in range(number):
        row: dict[str, Any] = {
            "trace_id": f"{at:016d}",
            "span_id": f"{at:08d}",
            "started_at": f"{(started_ns + at * 1_000_000) / 1e9:.9f}",
            "duration_ns": some(2_000_000_000),
            "name": rng.choice(("GET /", "GET /product/{id}")),
            "http_status": rng.choice((0, 200, 204, 404, 500, 503)),
            "is_error": rng.choice((True, False)),
            "error_type": rng.choice(TEXTS),
            "kept": rng.choice(("", "slow", "random")),
            "queue_ns": rng.choice((None, some(2_000_000))),
            "cpu_user_ns": rng.choice((None, some(2_000_000))),
            "cpu_system_ns": rng.choice((None, some(2_000_000))),
            "cpu_wait_ns": rng.choice((None, some(2_000_000))),
            "cpu_throttled_ns": some(2_000_000),
            "loop_run_ns": rng.choice((None, some(2_000_000))),
            "loop_wait_ns": rng.choice((None, some(2_000_000))),
            "peak_rss_growth_bytes": some(3_000_000),
            "covered_ns": some(2_000_000_000),
            "target.address": rng.sample(SERVERS, rng.randrange(3)),
            "statement.text": rng.sample(STATEMENTS, rng.randrange(3)),
            "attributes": {key: rng.choice((*TEXTS, "5", "-1.5")) for key in ("tenant", "tenant id") if some(2)},
            "more_counters": {f"walltime.{name}.hits": some(9) for name in CUSTOM if some(2)},
        }
        row |= {name: rng.choice(TEXTS) for name in ("host", "instance", "version", "environment", "user", "method")}
        row |= {"service": rng.choice(("shop", "pay")), "lock_ns": 0}
        for component, counters in COLUMNS.items():
            row |= {f"{component.replace('.', '_')}_{counter}": some(3_000) for counter in counters}
        for counter in ("calls", "time_ns", "max_ns", "errors"):
            row[f"custom_{counter}"] = {name: some(3_000) for name in CUSTOM if some(2)}
        row["attributes"]["walltime.tax.rows"] = str(some(9))
        row["target.component"] = ["memcache.get"] * len(row["target.address"])
        for column in ("calls", "time_ns", "errors", "hits", "misses"):
            row[f"target.{column}"] = [1] * len(row["target.address"])
        for column in ("calls", "time_ns", "errors"):
            row[f"statement.{column}"] = [1] * len(row["statement.text"])
        rows.append(row)
    return rows


def is_true(condition: str, row: Row) -> bool:
    """Whether a condition is true of a row."""
    return truth(condition)(row)


def truth(condition: str) -> Truth:
    """A condition as a function of rows; read by the product's grammar, and by nothing else of it that makes SQL."""
    grammar = Lark.open("condition.lark", rel_to=parse.__file__, parser="lalr", transformer=_Truth())
    result: Any = grammar.parse(condition)
    return result  # type: ignore[no-any-return]  # the transformer makes it


def named(name: str) -> Field:
    """The field with this name."""
    return field([(part[1] or part[2], bool(part[1])) for part in re.finditer(r'"([^"]*)"|([\w-]+)', name)])


@v_args(inline=True)
class _Truth(Transformer[Token, Truth]):
    def either(self, *of: Truth) -> Truth:
        return lambda row: any(each(row) for each in of)

    def both(self, *of: Truth) -> Truth:
        return lambda row: all(each(row) for each in of)

    def negation(self, of: Truth) -> Truth:
        return lambda row: not of(row)

    def value(self, token: Token) -> str:
        return re.sub(r"\\(.)", r"\1", token[1:-1]) if token.type == "STRING" else str(token)

    def list(self, *values: str) -> tuple[str, ...]:
        return values

    def comparison(self, name: Token, sign: Token, written: str) -> Truth:
        return _comparison(name, str(sign), (written,))

    def membership(self, name: Token, written: tuple[str, ...]) -> Truth:
        return _comparison(name, "=", written)

    def exclusion(self, name: Token, written: tuple[str, ...]) -> Truth:
        return _comparison(name, "!=", written)

    def flag(self, name: Token) -> Truth:
        return _comparison(name, "=", ("true",))


def _comparison(name: str, sign: str, written: tuple[str, ...]) -> Truth:
    of = named(name)
    values = [value(each, of.type, is_compared=sign[0] in "<>") for each in written]
    fold = all if sign.startswith("!") else any
    return lambda row: fold(_compared(of, sign, each, row) for each in values)


def _compared(field: Field, sign: str, value: Value, row: Row) -> bool:
    stored = stored_value(field.name, row)
    if field.type == "status" and isinstance(value, str):
        matches = {"failed": row["is_error"], "0": not stored}.get(value, value in (f"{stored // 100}xx", str(stored)))
        return bool(matches) is (sign == "=")
    if field.type == "texts":
        matches = value in stored if "~" not in sign else any(_contains(each, value) for each in stored)
        return matches is not sign.startswith("!")
    if "~" in sign:
        return _contains(stored, value) is not sign.startswith("!")
    if field.type == "attribute" and sign[0] in "<>":
        try:
            return _COMPARED[sign](float(stored), value)
        except ValueError:
            return False
    return _COMPARED[sign](stored, value)


def _contains(text: str, part: object) -> bool:
    return str(part).lower() in text.lower()


def stored_value(name: str, row: Row) -> Any:
    """The value of a field."""
    special = {
        "duration": row["duration_ns"],
        "kind": row["name"],
        "status": row["http_status"],
        "error": row["is_error"],
        "error.type": row["error_type"],
        "server": row["target.address"],
        "statement": row["statement.text"],
        "other.time": row["duration_ns"] - min(row["covered_ns"], row["duration_ns"]),
        "cpu.time": (row["cpu_user_ns"] or 0) + (row["cpu_system_ns"] or 0),
        "cpu.wait": row["cpu_wait_ns"] or 0,
        "cpu.throttled": row["cpu_throttled_ns"],
        "loop.run": row["loop_run_ns"] or 0,
        "loop.wait": row["loop_wait_ns"] or 0,
        "queue.time": row["queue_ns"] or 0,
        "lock.time": row["lock_ns"],
        "memory.growth": row["peak_rss_growth_bytes"],
    }
    if name in special:
        return special[name]
    if name in row:
        return row[name]
    if name.startswith("annotation."):
        return row["attributes"].get(name.removeprefix("annotation."), "")
    component, _, written = name.rpartition(".")
    counter = _STORED.get(written, written)
    if component and component not in FAMILIES:
        return _counters(row, counter).get(component, 0)
    of = [n for each, n in _counters(row, counter).items() if each.startswith(f"{component}." if component else "")]
    return max(of, default=0) if written == "max" else sum(of)


def _counters(row: Row, counter: str) -> dict[str, int]:
    """The counter of each component of a row."""
    columns = {name: row[f"{name.replace('.', '_')}_{counter}"] for name, of in COLUMNS.items() if counter in of}
    more = {key.removeprefix("walltime.").rpartition(".")[0]: n for key, n in row["more_counters"].items()}
    rows = {"tax": int(row["attributes"]["walltime.tax.rows"])} if counter == "rows" else {}
    return {**columns, **row.get(f"custom_{counter}", {}), **(more if counter == "hits" else {}), **rows}


def lock(rows: list[dict[str, Any]]) -> None:
    """Every third waited for a lock."""
    for row in rows[::3]:
        row["lock_ns"] = 2 * int(row["trace_id"]) * 100_000


def slow_log(rows: list[dict[str, Any]], started_ns: int) -> bytes:
    """Two entries for each that waited, to be stored as slow_log_entries."""
    logged = []
    for row in rows:
        if row["lock_ns"]:
            trace = {"trace_id": row["trace_id"].encode().hex(), "started_us": started_ns // 1_000, "weight": 1}
            logged += [{**trace, "query_ns": 10**9, "lock_ns": row["lock_ns"] // 2, "read_at": int(time.time())}] * 2
    return "\n".join(map(json.dumps, logged)).encode()

"""What the bills of a life say, and what must be true of them whatever fails inside Walltime."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans

Bill: TypeAlias = "dict[str, Any]"

_COUNTED_AS = {
    "pymysql": ("mysql.",),
    "pymemcache": ("memcache.",),
    "pool": ("memcache.pool",),
    "urllib3": ("http.",),
    "http_client": ("http.",),
    "component": ("page", "render", "step", "fails", "decorated", "many"),
    "transaction": ("step",),
    "instrument": ("",),
    "after": ("",),
    "wsgi": ("",),
}
"""First word of where a failure was contained → the components that may have lost calls by it; others lose none."""

_BY_CHANCE = ("python.gc", "memcache.pool")
"""A busy machine makes the shortest wait for a pool long enough to be a call."""


def read(encoded: bytes) -> Bill:
    """Return the bill in an exported transaction, from its bytes as they go to the collector."""
    spans = ScopeSpans.FromString(encoded).spans
    root = spans[0]
    said = {each.key: each.value for each in root.attributes}
    numbers = {key: value.int_value for key, value in said.items() if value.HasField("int_value")}
    arrays = {key: [each.int_value for each in value.array_value.values] for key, value in said.items()}
    path = said["url.path"].string_value if "url.path" in said else ""
    components = {
        key.removeprefix("walltime.").removesuffix(".calls"): {
            name: numbers.get(key.removesuffix("calls") + name, 0) for name in ("calls", "time_ns", "max_ns")
        }
        for key in numbers
        if key.endswith(".calls")
    }
    return {
        "name": f"{root.name} {path}",
        "duration_ns": root.end_time_unix_nano - root.start_time_unix_nano,
        "covered_ns": numbers["walltime.covered_ns"],
        "components": components,
        "targets_ns": sum(arrays.get("walltime.target.time_ns", [])),
        "statements_ns": sum(arrays.get("walltime.statement.time_ns", [])),
        "spans_own_ns": sum(
            each.value.int_value
            for span in spans[1:]
            for each in span.attributes
            if each.key == "walltime.own_ns" and not any(of.key == "walltime.after_response" for of in span.attributes)
        ),
    }


def trouble(bill: Bill, *, overlaps: bool = False) -> str | None:
    """
    Say what is wrong in a bill, if anything.

    Args:
        overlaps: calls of it may have run at the same time.
    """
    duration_ns, covered_ns, components = bill["duration_ns"], bill["covered_ns"], bill["components"]
    times_ns = sum(each["time_ns"] for each in components.values())
    of_mysql_ns = sum(each["time_ns"] for name, each in components.items() if name.startswith("mysql."))
    if not 0 <= covered_ns <= duration_ns:
        return f"{covered_ns} ns covered of {duration_ns}"
    if times_ns < covered_ns or (times_ns != covered_ns and not overlaps):
        return f"the components are {times_ns} ns, {covered_ns} are covered"
    if bill["targets_ns"] > times_ns or bill["statements_ns"] > of_mysql_ns or bill["spans_own_ns"] > times_ns:
        return f"its parts are more than the whole: {bill}"
    for name, each in components.items():
        if each["max_ns"] > each["time_ns"] or each["time_ns"] < 0:
            return f"{name}: its longest call is longer than all of them, {each}"
    return None


def troubles_in_themselves(bills: list[Bill]) -> list[str]:
    """Say what is wrong in bills of frameworks, whose requests run in tasks and threads."""
    return [f"{bill['name']}: {wrong}" for bill in bills if (wrong := trouble(bill, overlaps=True))]


def troubles(whole: list[Bill], bills: list[Bill], contained: dict[str, int]) -> list[str]:
    """Say what is wrong in the bills of a life in which failures were contained; `whole` are those without any."""
    found = [f"{bill['name']}: {wrong}" for bill in bills if (wrong := trouble(bill))]
    may_lack = tuple(prefix for where in contained for prefix in _COUNTED_AS.get(where.split()[0], ()))
    without = {bill["name"]: bill["components"] for bill in whole}
    expected_of = Counter(bill["name"] for bill in whole)
    more = Counter(bill["name"] for bill in bills) - expected_of
    if more and "wsgi" not in contained:  # a request that could not be opened leaves what is in it on its own
        found.append(f"transactions that are not there without the failure: {dict(more)}")
    for bill in bills:
        for component, expected in without.get(bill["name"], {}).items():
            calls = bill["components"].get(component, {"calls": 0})["calls"]
            if component in _BY_CHANCE or calls == expected["calls"]:
                continue
            if calls > expected["calls"] or not component.startswith(may_lack):
                found.append(f"{bill['name']}: {calls} calls of {component} in place of {expected['calls']}")
    return found

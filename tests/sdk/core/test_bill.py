"""The bill's arithmetic: whatever was called, every nanosecond is on it once and every call is counted."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from walltime.core.bill import MAX_COMPONENTS, MAX_STATEMENTS, MAX_TARGETS, Bill
from walltime.core.call import CONTINUED, LINES, OTHER, Call, address, line, lines
from walltime.core.ids import Ids
from walltime.core.transaction import MAX_CALLS, Transaction
from walltime.export.otlp_bill import without_literals

from tests.sdk.core.generated_calls import calls


@given(st.lists(calls(), max_size=60))
def test_every_call_is_counted_once_and_every_nanosecond_is_billed_once(made: list[Call]) -> None:
    bill = Bill()
    bill.add(made)
    bill.cover(made, has_branches=False)
    counted = [call for call in made if call[1] is not CONTINUED]
    assert bill.covered_ns == sum(call[4] for call in made) == sum(c.time_ns for c in bill.components.values())
    assert sum(cell.calls for cell in bill.components.values()) == len(counted)
    for component, cell in bill.components.items():
        mine = [call for call in made if LINES[call[0]].component == component]
        assert cell.calls == sum(call[1] is not CONTINUED for call in mine)
        assert cell.time_ns == sum(call[4] for call in mine)
        assert cell.max_ns == max(call[4] for call in mine)
        assert cell.errors == sum(call[5] is not None for call in mine)
        on_targets = [target for (name, _), target in bill.targets.items() if name == component]
        with_target = [call for call in mine if LINES[call[0]].target is not None]
        assert sum(target.time_ns for target in on_targets) == sum(call[4] for call in with_target)


@given(st.lists(calls(), max_size=40), st.integers(0, 40))
def test_adding_in_two_parts_gives_the_same_bill(made: list[Call], at: int) -> None:
    whole, parts = Bill(), Bill()
    whole.add(made)
    parts.add(made[:at])
    parts.add(made[at:])
    assert as_values(whole) == as_values(parts)


def as_values(bill: Bill) -> dict[str, Any]:
    return {
        name: {key: [getattr(cell, slot) for slot in cell.__slots__] for key, cell in getattr(bill, name).items()}
        for name in ("components", "targets", "statements")
    }


@given(st.lists(calls(component="memcache.get"), max_size=30))
def test_a_failed_get_has_neither_hits_nor_misses(made: list[Call]) -> None:
    bill = Bill()
    bill.add(made)
    answered = [call for call in made if call[5] is None and call[7] >= 0]
    for cell in bill.components.values():
        assert cell.keys == sum(call[6] for call in made)
        assert cell.hits == sum(call[7] for call in answered)
        assert cell.misses == sum(call[6] - call[7] for call in answered)


def test_what_does_not_fit_shares_a_line_and_is_counted() -> None:
    bill = Bill()
    bill.add([(lines("mysql.query")["db", port], f"SELECT {name}", 0, 1, 1, None, 0, 0)
              for port in range(100) for name in ("a", "b")])  # fmt: skip
    bill.add([(line(f"own {n}"), None, 0, 1, 1, None, 0, 0) for n in range(100)])
    bill.add([(lines("mysql.query")["db", 1], f"SELECT x{n} FROM t", 0, 1, 1, None, 0, 0) for n in range(100)])
    statements = without_literals(bill.statements)
    assert (len(bill.components), len(bill.targets), len(statements)) == (MAX_COMPONENTS, MAX_TARGETS, MAX_STATEMENTS)
    assert bill.components[OTHER].calls == 100 - (MAX_COMPONENTS - 2)
    assert bill.targets["mysql.query", OTHER].calls == 2 * (100 - (MAX_TARGETS - 1))
    assert sum(cell.calls for cell in statements.values()) == 300


def test_a_job_with_a_million_calls_keeps_the_first_thousand_and_the_exact_totals() -> None:
    transaction = Transaction("job", "internal", Ids(1, 2), 0, 0)
    for n in range(100_000):
        transaction.record(lines("memcache.get")["cache", 11211], "k", n, n + 3, 0, None, 1, n % 2)
        transaction.nested_ns = 0
    assert len(transaction.calls) < 2 * MAX_CALLS
    bill = transaction.bill
    assert bill is not None
    bill.add(transaction.calls)
    get = bill.components["memcache.get"]
    assert (get.calls, get.hits, get.misses, get.time_ns) == (100_000, 50_000, 50_000, 300_000)
    assert bill.undetailed + len(transaction.calls) == 100_000


def test_addresses_read_as_people_write_them() -> None:
    assert [address(t) for t in (("db1", 3306), ("::1", 3306), "/run/mysqld.sock")] == [
        "db1:3306", "[::1]:3306", "/run/mysqld.sock",
    ]  # fmt: skip

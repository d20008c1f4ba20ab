"""What application code says: transactions, components, names, facts."""

from __future__ import annotations

import pytest
import walltime

from tests.sdk.sink import Sink


def test_components_share_the_time_without_counting_any_of_it_twice(recorded: Sink) -> None:
    with walltime.transaction("job"):
        with walltime.component("outer"):
            with walltime.component("inner"):
                pass
            with walltime.component("inner"):
                pass
        with walltime.component("outer"):
            pass
    bill = recorded.transaction()  # asserts that the parts add up
    assert bill.cell("outer") == {"calls": 2}
    assert bill.cell("inner") == {"calls": 2}
    outer = recorded.calls("outer")[0]
    inner = recorded.calls("inner")
    assert outer.attributes["walltime.own_ns"] == outer.duration_ns - sum(call.duration_ns for call in inner)


def test_a_transaction_inside_another_is_a_component_of_it(recorded: Sink) -> None:
    @walltime.transaction("send newsletter")
    def send(depth: int) -> int:
        return send(depth - 1) if depth else 7

    assert send(0) == 7
    with walltime.transaction("nightly"):
        assert send(1) == 7
    first, second = recorded.transactions()
    assert (first.span.name, second.span.name) == ("send newsletter", "nightly")
    assert second.cell("send newsletter") == {"calls": 2}


def test_an_exception_passes_and_is_on_the_bill(recorded: Sink) -> None:
    @walltime.component("risky")
    def risky() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), walltime.transaction("job"):
        risky()
    found = recorded.transaction()
    assert found.cell("risky") == {"calls": 1, "errors": 1}
    assert found.attributes["error.type"] == "KeyError"
    assert found.span.kind == found.span.SPAN_KIND_INTERNAL


def test_facts_of_the_application_go_along(recorded: Sink) -> None:
    with walltime.transaction("job"):
        current = walltime.current()
        current.set_name("import products")
        current.set_user("u-17")
        current.annotate("cart.items", 3)
        current.annotate("cart.items", 4)
        current.annotate("cart.total", 9.5)
        current.annotate("cart.gift", True)
        request_id = current.request_id
    found = recorded.transaction()
    assert found.span.name == "import products"
    assert found.span.trace_id.hex() == request_id
    expected = {"user.id": "u-17", "cart.items": 4, "cart.total": 9.5, "cart.gift": True}
    assert {key: found.attributes[key] for key in expected} == expected


def test_annotations_are_bounded(recorded: Sink) -> None:
    with walltime.transaction("job"):
        for n in range(200):
            walltime.current().annotate(f"key.{n}", n)
    assert sum(key.startswith("key.") for key in recorded.transaction().attributes) == 64


def test_outside_of_a_transaction_all_of_it_is_harmless() -> None:
    current = walltime.current()
    current.set_name("x")
    current.set_user("x")
    current.annotate("x", 1)
    current.fail("x")
    assert current.request_id == ""
    with walltime.component("alone"):
        pass


def test_what_is_recorded_after_the_end_changes_nothing(recorded: Sink) -> None:
    late = walltime.component("late")
    with walltime.transaction("job"):
        late.__enter__()
    late.__exit__(None, None, None)
    assert recorded.transaction().cell("late") == {}


def test_what_a_transaction_is_given_after_its_end_is_ignored(recorded: Sink) -> None:
    with walltime.transaction("job") as ended:
        ended.annotate("in time", 1)
    ended.set_name("late")
    ended.set_user("late")
    ended.set_session("late")
    ended.annotate("late", 1)
    ended.fail("late")
    ended.keep()
    bill = recorded.transaction()
    assert bill.span.name == "job"
    assert bill.attributes["in time"] == 1
    assert bill.attributes.keys().isdisjoint({"late", "user.id", "session.id", "error.type"})
    assert bill.attributes.get("walltime.kept", "") != "forced"


def test_seeding_random_does_not_repeat_request_ids(recorded: Sink) -> None:
    import random

    for _ in range(3):
        random.seed(42)
        with walltime.transaction("job"):
            pass
    assert len({span.span.trace_id for span in recorded.transactions()}) == 3

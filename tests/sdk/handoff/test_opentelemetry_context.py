"""A transaction is OpenTelemetry's current span for whoever asks, and in nobody's way."""

from __future__ import annotations

import gc
from weakref import ref

import walltime
from opentelemetry import baggage, trace
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from walltime import runtime
from walltime.core import transaction as transaction_module
from walltime.core.execution import current
from walltime.core.transaction import Transaction
from walltime.propagation import propagation

from tests.sdk.sink import Sink


def current_span_id() -> int:
    return trace.get_current_span().get_span_context().span_id


def running_span_id() -> int:
    execution = current()
    assert execution is not None
    return execution.transaction.ids.span_id


def test_what_the_application_attaches_is_what_it_gets(recorded: Sink) -> None:
    with walltime.transaction("job"):
        mine = baggage.set_baggage("customer", "17")
        token = otel_context.attach(mine)
        assert otel_context.get_current() is mine
        assert current_span_id() == running_span_id(), "made from what it asked for"
        cleared = otel_context.attach(Context())
        assert not trace.get_current_span().get_span_context().is_valid
        otel_context.detach(cleared)
        otel_context.detach(token)
        assert current_span_id() == running_span_id()


def test_what_was_attached_before_stays(recorded: Sink) -> None:
    token = otel_context.attach(baggage.set_baggage("customer", "17"))
    with walltime.transaction("job"):
        assert baggage.get_baggage("customer") == "17"
        assert current_span_id() == running_span_id()
    assert not trace.get_current_span().get_span_context().is_valid
    otel_context.detach(token)


def test_a_transaction_within_another_is_the_current_span_until_it_ends(recorded: Sink) -> None:
    with walltime.transaction("outer"):
        outer = running_span_id()
        inside = runtime.Open("inner", "server", None, transaction_module.clock())
        inside.enter()
        assert current_span_id() == running_span_id() != outer
        inside.finish()
        assert current_span_id() == outer
    inner, around = recorded.transactions()
    assert inner.span.parent_span_id == around.span.span_id


def test_a_transaction_that_was_asked_for_is_freed_without_the_collector(recorded: Sink) -> None:
    for _ in range(3):
        with walltime.transaction("freed"):
            execution = current()
            assert execution is not None
            assert current_span_id() == execution.transaction.ids.span_id
            propagation.outgoing_headers(execution.transaction)
            del execution
    recorded.transactions()
    assert not [each for each in gc.get_objects() if type(each) is Transaction and each.name == "freed"]


def test_contexts_that_a_thread_is_left_with_are_freed(recorded: Sink) -> None:
    before = otel_context.get_current()
    token = otel_context.attach(before)
    contexts = []
    for _ in range(10):
        opened = runtime.Open("left in another context", "server", None, transaction_module.clock())
        opened.enter()
        contexts.append(ref(otel_context.get_current()))
        opened.end()  # as a response that another thread closes
        del opened
    recorded.transactions()
    assert sum(context() is not None for context in contexts) == 1
    otel_context.detach(token)
    assert otel_context.get_current() == before

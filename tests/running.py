"""The running transaction with all it holds: tests look behind the object that applications get."""

from __future__ import annotations

from walltime.core.execution import current
from walltime.core.transaction import Transaction


def running_transaction() -> Transaction:
    execution = current()
    assert execution is not None, "no transaction is running here"
    return execution.transaction

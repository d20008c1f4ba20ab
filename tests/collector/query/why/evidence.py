"""Runs the statements that an answer gives for its sentences, as people would, and compares what they yield."""

from __future__ import annotations

import json
import uuid

import pytest
from walltime_collector.query.why.answer import Why
from walltime_collector.query.why.finding import Evidence
from walltime_collector.sql.runner import QueryRunner

REL = 1e-6
_SIDES = ("usual", "slow")


def numbers(runner: QueryRunner, evidence: Evidence) -> dict[str, float]:
    """What the statement yields now, under the names of `Evidence.numbers`; the guard must accept it."""
    name = str(uuid.uuid4())
    result = runner.run(evidence.sql, name=name, parameters={}, format_name="JSON")
    rows = json.loads(result.content)["data"]
    assert {row.get("side") for row in rows} <= set(_SIDES), "a row is of a side"
    assert len({row["side"] for row in rows}) == len(rows), "each side has one row"
    return {
        f"{row['side']}_{column}": float(value)
        for row in rows
        for column, value in row.items()
        if column != "side" and value is not None and not isinstance(value, list)
    }


def check(runner: QueryRunner, why: Why) -> int:
    """All findings of an answer; returns how many have evidence."""
    checked = [each for each in why.findings if each.evidence]
    for each in checked:
        assert each.evidence
        found = numbers(runner, each.evidence)
        said = dict(each.evidence.numbers)
        assert {name: found.get(name) for name in said} == pytest.approx(said, rel=REL), each.sentence
        assert each.sentence in why.sentences
    return len(checked)

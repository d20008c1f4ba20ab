"""The parts of the documentation that come from code are current, and so are the figures that they compute with."""

from __future__ import annotations

from dataclasses import fields

import pytest
from walltime.settings.settings import Settings
from walltime_collector.config.settings import Settings as CollectorSettings

from tests.docs import generated
from tests.docs.site import ROOT

MEASURED = (ROOT / "docs" / "measurements.md").read_text()


@pytest.mark.parametrize("name", generated.GENERATED)
def test_a_part_is_as_the_code_makes_it(name: str) -> None:
    page, make = generated.GENERATED[name]
    text = (ROOT / "docs" / page).read_text()
    assert generated.replaced(text, name, make()) == text, "python -m tests.docs.generated"


def test_every_setting_has_one_row() -> None:
    rows = (ROOT / "docs" / "settings.md").read_text().splitlines()
    for name in [each.name for each in fields(Settings)] + [*CollectorSettings.model_fields.keys() - {"crashpoint"}]:
        assert sum(row.startswith(f"| `{name}` |") for row in rows) == 1, name


def test_sizes_are_computed_with_what_was_measured() -> None:
    assert f"a bill {generated.TRANSACTION_US} µs" in MEASURED
    assert f"An INSERT of one span takes {generated.INSERT_MS} ms" in MEASURED
    assert f"requests of 512 spans | {generated.CALL_US}.0 µs" in MEASURED
    assert f"| {generated.SEGMENT_MB} MB (default) |" in MEASURED
    assert (
        f"(used) | {generated.TRANSACTION_BYTES - 7}, and 7 for index and marks | {generated.CALL_BYTES} |" in MEASURED
    )
    assert f"| {generated.SENT_BYTES:,} bytes |" in MEASURED
    assert "It takes 52 MB beside 813 MB of `transactions`" in MEASURED.replace("\n", " ")
    assert generated.SAMPLED_BYTES == 52 / 10

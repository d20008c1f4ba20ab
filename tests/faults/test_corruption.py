"""Damaged, removed or added files in the spool cost only the damaged records; the collector always starts."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.health.counters import Health
from walltime_collector.load.loader import Loader
from walltime_collector.spool.segment import FRAME_BYTES, HEADER_BYTES, Record
from walltime_collector.spool.spool import Spool

from tests.faults.remembering_database import POISON, Database, load_all

SEED = 20261121
SEGMENTS, RECORDS, SPANS = 4, 5, 3


def payload(segment: int, record: int) -> bytes:
    return b"%d %d " % (segment, record) + random.Random(f"{segment} {record}").randbytes(
        random.Random(record).randint(1, 2000)
    )


ALL = {payload(segment, record) for segment in range(SEGMENTS) for record in range(RECORDS)}


def open_spool(directory: Path) -> Spool:
    return Spool(directory, max_bytes=2**30, segment_bytes=2**20, segment_age_s=0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A spool's files: waiting segments and a dead letter."""
    directory = tmp_path_factory.mktemp("whole") / "spool"
    spool = open_spool(directory)
    spool.append([Record(1, 1, POISON)])
    spool.seal()
    load_all(Loader(spool, cast(Engine, Database()), Health()), spool)
    for segment in range(SEGMENTS):
        spool.append([Record(1, SPANS, payload(segment, record)) for record in range(RECORDS)])
        spool.seal()
    spool.close()
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def lay_out(directory: Path, files: dict[str, bytes]) -> list[Path]:
    """Write the spool's files and return the waiting segments."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return sorted(directory.glob("*.segment"))


def start_and_load(directory: Path) -> tuple[set[bytes], dict[str, Any]]:
    """The stored records, each once, and the counters."""
    database, health = Database(), Health()
    spool = open_spool(directory)
    loader = Loader(spool, cast(Engine, database), health)
    load_all(loader, spool)
    spool.append([Record(1, SPANS, b"fresh")])
    load_all(loader, spool)
    spool.close()
    counts = database.counts
    assert set(counts.values()) == {1}, "doubled"
    assert set(counts) <= ALL | {b"fresh"}, "forged or altered"
    assert b"fresh" in counts
    return set(counts) - {b"fresh"}, health.report()


def flip_bytes(folder: Path, whole: dict[str, bytes], times: int) -> None:
    chance = random.Random(SEED)
    lost = quarantined = 0
    for number in range(times):
        directory = folder / str(number)
        waiting = {name: content for name, content in whole.items() if "/" not in name and name.endswith(".segment")}
        name = chance.choice(sorted(waiting))
        damaged = bytearray(waiting[name])
        at = chance.randrange(len(damaged))
        damaged[at] ^= chance.randint(1, 255)
        lay_out(directory, {**whole, name: bytes(damaged)})
        stored, report = start_and_load(directory)
        assert len(ALL - stored) <= (0 if at < HEADER_BYTES else 1), f"{name} at {at}"
        kept = sum(path.stat().st_size for path in (directory / "quarantine").iterdir())
        assert report["counts"]["quarantined_bytes"] == kept > 0
        assert report["counts"]["torn_bytes"] == 0
        assert report["spans"]["stored"] == SPANS * (len(stored) + 1)
        lost += len(ALL - stored)
        quarantined += kept
    print(f"\n{times} flipped bytes: {lost} records lost, never two at once; {quarantined} bytes kept (seed {SEED})")


def test_a_flipped_byte_costs_one_record_at_most(tmp_path: Path, whole: dict[str, bytes]) -> None:
    flip_bytes(tmp_path, whole, 60)


@pytest.mark.nightly
def test_500_flipped_bytes_cost_one_record_at_most(tmp_path: Path, whole: dict[str, bytes]) -> None:
    flip_bytes(tmp_path, whole, 500)


def test_a_damaged_record_is_counted_as_lost(tmp_path: Path, whole: dict[str, bytes]) -> None:
    """Its frame has the number of its spans, also after a restart."""
    path = lay_out(tmp_path, whole)[0]
    content = bytearray(path.read_bytes())
    content[HEADER_BYTES + FRAME_BYTES] ^= 1
    path.write_bytes(content)
    stored, report = start_and_load(tmp_path)
    assert payload(0, 0) in ALL - stored
    spans = report["spans"]
    assert (spans["lost"], spans["dead"]) == (SPANS, 1)
    assert spans["received"] == SPANS * len(ALL) + 1
    assert spans["received"] + SPANS == spans["stored"] + spans["lost"] + spans["dead"]  # `fresh` was not received


def cut_the_tail(segments: list[Path]) -> int:
    segments[1].write_bytes(segments[1].read_bytes()[:-1])
    return 1


def zero_a_page(segments: list[Path]) -> int:
    content = segments[1].read_bytes()
    segments[1].write_bytes(content[:700] + bytes(4096) + content[700 + 4096 :])
    return RECORDS


def delete_a_middle_segment(segments: list[Path]) -> int:
    segments[1].unlink()
    return RECORDS


def empty_a_segment(segments: list[Path]) -> int:
    segments[1].write_bytes(b"")
    return RECORDS


def put_in_foreign_files(segments: list[Path]) -> int:
    directory = segments[0].parent
    (directory / "0.segment").write_bytes(b"what is this")
    (directory / "notes.txt").write_text("of somebody")
    (directory / (segments[0].name + ".new")).write_bytes(b"half of it")
    (directory / "directory.segment").mkdir()
    (directory / "dead" / "foreign.segment").write_bytes(b"\0" * 100)
    (directory / "dead" / "foreign.json").write_bytes(b"{")
    return 0


def damage_the_lock_and_the_reason(segments: list[Path]) -> int:
    directory = segments[0].parent
    (directory / "lock").write_bytes(b"\xff" * 100)
    for reason in (directory / "dead").glob("*.json"):
        reason.write_bytes(b"\xff" * 100)
    return 0


def swap_two_names(segments: list[Path]) -> int:
    first, second = segments[0].read_bytes(), segments[1].read_bytes()
    segments[0].write_bytes(second)
    segments[1].write_bytes(first)
    return 0


@pytest.mark.parametrize(
    "damage",
    [
        cut_the_tail,
        zero_a_page,
        delete_a_middle_segment,
        empty_a_segment,
        put_in_foreign_files,
        damage_the_lock_and_the_reason,
        swap_two_names,
    ],
)
def test_damage_costs_the_damaged_records_only_and_the_collector_starts(
    tmp_path: Path, whole: dict[str, bytes], damage: Callable[[list[Path]], int]
) -> None:
    most = damage(lay_out(tmp_path, whole))
    stored, _ = start_and_load(tmp_path)
    assert len(ALL - stored) <= most
    spool = open_spool(tmp_path)
    assert len([letter for letter in spool.dead_letters() if letter.spans == 1]) == 1
    spool.close()

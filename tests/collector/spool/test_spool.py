"""The spool: acknowledged records survive damage to any other bytes."""

from __future__ import annotations

import asyncio
import base64
import itertools
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from walltime_collector.errors import DirectoryInUse, SegmentCorrupt, SegmentUnknown, SpoolFull
from walltime_collector.spool.disk import Disk
from walltime_collector.spool.group_commit import GroupCommit
from walltime_collector.spool.segment import (
    FRAME_BYTES,
    HEADER_BYTES,
    Damage,
    Record,
    count_spans,
    frame,
    read_segment,
    segment_header,
    token,
)
from walltime_collector.spool.spool import Spool

ID = bytes(range(16))
NAME = f"{1:020d}-{ID.hex()}"
VERSION_AT = 7
VERSION_1 = (
    "V1RTUE9PTAEAAQIDBAUGBwgJCgsMDQ4PV1JFQw0AAAAAYMewdhfqGAIAAADVhdAkm9cej2ZpcnN0IHBheWxvYWRXUkVDAwAAAAFgx7B2"
    "F+oYAwAAAIQLD2lDt/NiMm5k"
)
MIB = 1024 * 1024
records_of_any_kind = st.lists(
    st.builds(Record, st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1), st.binary(max_size=300)), max_size=12
)


def open_spool(directory: Path, **others: Any) -> Spool:
    return Spool(directory, **{"max_bytes": 64 * MIB, "segment_bytes": MIB, "segment_age_s": 1.0, **others})


def record(payload: bytes) -> Record:
    return Record(1, 1, payload)


def segment_of(records: list[Record]) -> bytes:
    return segment_header(ID) + b"".join(frame(each, ID) + each.payload for each in records)


def split(content: bytes) -> tuple[list[Record], list[Damage]]:
    result = list(read_segment(content, NAME))
    return [each for each in result if isinstance(each, Record)], [each for each in result if isinstance(each, Damage)]


def is_subsequence(some: list[Record], whole: list[Record]) -> bool:
    rest = iter(whole)
    return all(each in rest for each in some)


@given(records_of_any_kind)
def test_records_are_read_as_they_were_written(records: list[Record]) -> None:
    assert split(segment_of(records)) == (records, [])


@given(records_of_any_kind, st.data())
def test_a_cut_costs_the_cut_record_and_those_behind_it(records: list[Record], data: st.DataObject) -> None:
    content = segment_of(records)
    cut = data.draw(st.integers(HEADER_BYTES, len(content)))
    whole = 0
    end = HEADER_BYTES
    while whole < len(records) and end + FRAME_BYTES + len(records[whole].payload) <= cut:
        end += FRAME_BYTES + len(records[whole].payload)
        whole += 1
    result, damage = split(content[:cut])
    assert result == records[:whole]
    assert sum(len(each.content) for each in damage) == cut - end
    assert all(each.is_tail for each in damage)


@given(records_of_any_kind.filter(bool), st.data())
def test_a_flipped_bit_costs_one_record_at_most(records: list[Record], data: st.DataObject) -> None:
    content = bytearray(segment_of(records))
    at = data.draw(st.integers(HEADER_BYTES, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    result, damage = split(bytes(content))
    assert is_subsequence(result, records)
    assert len(result) == len(records) - 1
    assert damage


@given(records_of_any_kind, st.binary(min_size=1, max_size=200), st.data())
def test_other_bytes_between_records_cost_no_record(records: list[Record], junk: bytes, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(records)))
    result, damage = split(segment_of(records[:at]) + junk + segment_of(records[at:])[HEADER_BYTES:])
    assert result == records
    assert b"".join(each.content for each in damage) == junk


@given(records_of_any_kind.filter(bool), st.data())
def test_missing_bytes_cost_the_records_they_are_missing_from(records: list[Record], data: st.DataObject) -> None:
    content = segment_of(records)
    first = data.draw(st.integers(HEADER_BYTES, len(content) - 1))
    last = data.draw(st.integers(first, min(first + 400, len(content))))
    result, _ = split(content[:first] + content[last:])
    assert is_subsequence(result, records)
    ends = [HEADER_BYTES]
    for each in records:
        ends.append(ends[-1] + FRAME_BYTES + len(each.payload))
    touched = sum(begin < last and end > first for begin, end in itertools.pairwise(ends))
    assert len(result) >= len(records) - touched


@given(st.binary(max_size=2000))
def test_any_bytes_behind_a_header_are_read_without_an_error(junk: bytes) -> None:
    result, damage = split(segment_header(ID) + junk)
    assert result == []
    assert b"".join(each.content for each in damage) == junk


def test_a_payload_that_looks_like_a_record_is_never_taken_for_one() -> None:
    inside = record(b"forged")
    spool = b"another spool 16"
    content = bytearray(segment_of([record(frame(inside, spool) + inside.payload), record(b"next")]))
    content[HEADER_BYTES + 5] ^= 0xFF  # the length: the reader must search for the next record
    assert split(bytes(content))[0] == [record(b"next")]


@given(records_of_any_kind.filter(bool), st.data())
def test_a_damaged_header_costs_no_record(records: list[Record], data: st.DataObject) -> None:
    content = bytearray(segment_of(records))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, HEADER_BYTES - 1).filter(lambda at: at != VERSION_AT))] ^= 1 << data.draw(
            st.integers(0, 7)
        )
    assert split(bytes(content))[0] == records


@given(records_of_any_kind, st.integers(0, 255))
def test_a_damaged_version_costs_no_record(records: list[Record], version: int) -> None:
    content = bytearray(segment_of(records))
    content[VERSION_AT] = version
    assert split(bytes(content))[0] == records


@given(records_of_any_kind, st.data())
def test_the_spans_of_a_segment_are_counted_from_its_frames_alone(records: list[Record], data: st.DataObject) -> None:
    content = segment_of(records)
    content = content[: data.draw(st.integers(HEADER_BYTES, len(content)))]
    read: list[int] = []

    def part(at: int, size: int) -> bytes:
        read.append(size)
        return content[at : at + size]

    assert count_spans(part, len(content), NAME) == sum(each.spans for each in split(content)[0])
    assert sum(read) <= HEADER_BYTES + (len(records) + 1) * FRAME_BYTES


@pytest.mark.parametrize("content", [b"", b"x", b"WTSPOOL", b"WTSPOOL\x01short", b"another file" * 9])
def test_another_file_is_no_segment(content: bytes) -> None:
    with pytest.raises(SegmentCorrupt, match="not a segment"):
        list(read_segment(content, "their-name"))


@pytest.mark.parametrize("size", range(HEADER_BYTES))
def test_a_header_that_a_crash_cut_short_is_a_torn_end(size: int) -> None:
    assert all(each.is_tail for each in split(segment_header(ID)[:size])[1])
    assert all(each.is_tail for each in split(segment_header(ID)[:size].ljust(HEADER_BYTES, b"\0"))[1])


def test_a_segment_of_version_1_is_read_and_keeps_its_token() -> None:
    """These bytes are from a collector that wrote version 1."""
    content = base64.b64decode(VERSION_1)
    result = list(read_segment(content, "01795273200000000000-0123456789abcdef"))
    assert result == [
        Record(1_795_273_200_000_000_000, 2, b"first payload"),
        Record(1_795_273_200_000_000_001, 3, b"2nd"),
    ]
    assert (
        count_spans(lambda at, size: content[at : at + size], len(content), "01795273200000000000-0123456789abcdef")
        == 5
    )
    assert token(content, "01795273200000000000-0123456789abcdef") == (
        "000102030405060708090a0b0c0d0e0f/01795273200000000000-0123456789abcdef"
    )


def test_a_segment_of_a_newer_version_is_refused_and_stays(tmp_path: Path) -> None:
    open_spool(tmp_path / "spool").close()
    path = tmp_path / "spool" / (NAME + ".segment")
    path.write_bytes(b"WTSPOOL\x09" + bytes(range(100)))
    spool = open_spool(tmp_path / "spool")
    with pytest.raises(SegmentUnknown, match="format 9"):
        spool.read(spool.sealed()[0])
    spool.leave(spool.sealed()[0])
    assert spool.sealed() == []
    spool.close()
    assert path.read_bytes() == b"WTSPOOL\x09" + bytes(range(100))


def test_appended_records_are_there_after_a_restart_in_order(tmp_path: Path) -> None:
    first = open_spool(tmp_path / "spool")
    first.append([record(b"one"), record(b"two")])
    first.append([record(b"three")])
    first.close()
    second = open_spool(tmp_path / "spool")
    second.append([record(b"four")])
    second.seal()
    payloads = [each.payload for segment in second.sealed() for each in second.read(segment).records]
    assert payloads == [b"one", b"two", b"three", b"four"]
    second.close()


def test_a_token_is_never_used_twice_even_after_the_spool_was_empty(tmp_path: Path) -> None:
    tokens = []
    for _ in range(5):
        spool = open_spool(tmp_path / "spool")
        for _ in range(3):
            spool.append([record(b"same")])
            spool.seal()
        for segment in spool.sealed():
            tokens.append(spool.read(segment).token)
            spool.acknowledge(segment)
        assert spool.size_bytes == 0
        spool.close()
    assert len(set(tokens)) == 15


@pytest.mark.parametrize("jump_s", [3600, -3600, 315_360_000, -315_360_000], ids=["+1h", "-1h", "+10y", "-10y"])
def test_a_clock_that_jumps_neither_repeats_a_name_nor_hides_a_segment(tmp_path: Path, jump_s: int) -> None:
    now = [1_800_000_000 * 10**9]
    spool = open_spool(tmp_path / "spool", now_ns=lambda: now[0], segment_age_s=0.0)
    for number in range(4):
        spool.append([record(b"%d" % number)])
        spool.seal_if_due()  # by the monotonic clock
        now[0] += jump_s * 10**9 if number == 1 else 0
    assert [spool.read(segment).records[0].payload for segment in spool.sealed()] == [b"0", b"1", b"2", b"3"]
    names = [segment.name for segment in spool.sealed()]
    assert names == sorted(names)
    spool.close()
    now[0] -= 2 * abs(jump_s) * 10**9
    again = open_spool(tmp_path / "spool", now_ns=lambda: now[0])
    again.append([record(b"4")])
    again.seal()
    assert {again.read(segment).records[0].payload for segment in again.sealed()} == {b"%d" % n for n in range(5)}
    again.close()


@pytest.mark.parametrize("up_s", [0.0, 5.0, 3_599.0])
def test_the_first_segment_is_due_at_once_after_a_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, up_s: float
) -> None:
    monkeypatch.setattr("walltime_collector.spool.spool.time.monotonic", lambda: up_s)
    spool = open_spool(tmp_path / "spool", segment_age_s=3600)
    for _ in range(2):
        spool.append([record(b"one")])
        spool.seal_if_due()
        assert len(spool.sealed()) == 1
    spool.close()


def test_a_segment_is_sealed_by_size(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool", segment_bytes=10_000)
    for _ in range(25):
        spool.append([record(bytes(1000))])
    assert [len(spool.read(segment).records) for segment in spool.sealed()] == [10, 10]
    spool.close()


def test_more_records_than_one_call_of_the_disk_takes_are_one_append(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    many = [record(b"%d" % at) for at in range(2_000)]
    spool.append(many)
    spool.seal()
    assert spool.read(spool.sealed()[0]).records == many
    spool.close()


def test_a_full_spool_refuses_until_a_segment_is_acknowledged(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool", max_bytes=5_000, segment_bytes=2_000)
    stored = (5_000 - 3 * HEADER_BYTES) // (FRAME_BYTES + 500)
    for _ in range(stored):
        spool.append([record(bytes(500))])
    with pytest.raises(SpoolFull, match="5000"):
        spool.append([record(bytes(500))])
    assert spool.size_bytes <= 5_000
    spool.acknowledge(spool.sealed()[0])
    spool.append([record(bytes(500))])
    spool.seal()
    left = sum(len(spool.read(segment).records) for segment in spool.sealed())
    assert left == stored + 1 - 4
    spool.close()


def test_damage_goes_to_quarantine_and_a_torn_end_is_cut(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    spool.append([record(b"first" * 10), record(b"second" * 10), record(b"third" * 10)])
    spool.close()
    path = next((tmp_path / "spool").glob("*.segment"))
    content = bytearray(path.read_bytes())
    content[HEADER_BYTES + FRAME_BYTES + 50 + FRAME_BYTES + 7] ^= 1
    path.write_bytes(content + frame(record(b"x" * 99), ID)[:11])
    again = open_spool(tmp_path / "spool")
    result = again.read(again.sealed()[0])
    assert [each.payload for each in result.records] == [b"first" * 10, b"third" * 10]
    assert (result.quarantined_bytes, result.torn_bytes) == (FRAME_BYTES + 60, 11)
    kept = list((tmp_path / "spool" / "quarantine").iterdir())
    assert [each.stat().st_size for each in kept] == [FRAME_BYTES + 60]
    again.close()


def test_an_unreadable_file_is_set_aside(tmp_path: Path) -> None:
    open_spool(tmp_path / "spool").close()
    (tmp_path / "spool" / "0.segment").write_bytes(b"what is this")
    spool = open_spool(tmp_path / "spool")
    with pytest.raises(SegmentCorrupt):
        spool.read(spool.sealed()[0])
    spool.set_aside(spool.sealed()[0])
    assert spool.sealed() == []
    assert (tmp_path / "spool" / "quarantine" / "0.segment").read_bytes() == b"what is this"
    spool.close()


def test_a_directory_has_one_owner(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    with pytest.raises(DirectoryInUse, match=str(os.getpid())):
        open_spool(tmp_path / "spool")
    spool.close()
    open_spool(tmp_path / "spool").close()


def test_only_the_owner_can_read_the_files(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool")
    spool.append([record(b"secret")])
    spool.seal()
    spool.dead_letter(spool.sealed()[0], [record(b"secret")], 0, "why")
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in [tmp_path / "spool", *(tmp_path / "spool").rglob("*")]}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes
    spool.close()


def test_requests_that_arrive_during_an_fsync_share_the_next_one(tmp_path: Path) -> None:
    is_first, go_on = threading.Event(), threading.Event()
    syncs: list[int] = []
    spooled: list[int] = []

    class Slow(Disk):
        def sync(self, handle: int) -> None:
            syncs.append(handle)
            if len(syncs) == 1:
                is_first.set()
                assert go_on.wait(10)
            os.fdatasync(handle)

    spool = open_spool(tmp_path / "spool", disk=Slow())

    async def run() -> None:
        commit = GroupCommit(spool, spooled.append)
        first = asyncio.create_task(commit.append(record(b"first")))
        await asyncio.to_thread(is_first.wait, 10)
        others = [asyncio.create_task(commit.append(record(b"%d" % at))) for at in range(20)]
        await asyncio.sleep(0)
        assert not first.done()
        go_on.set()
        await asyncio.gather(first, *others)
        commit.close()

    asyncio.run(run())
    assert len(syncs) == 2
    assert spooled == [1, 20]
    spool.seal()
    assert len(spool.read(spool.sealed()[0]).records) == 21
    spool.close()


@pytest.mark.parametrize("size_bytes", [1_000, 300_000, 3 * MIB])
def test_what_arrives_while_the_disk_stalls_fills_segments_of_the_usual_size(tmp_path: Path, size_bytes: int) -> None:
    is_stalling, go_on = threading.Event(), threading.Event()

    class Stalling(Disk):
        def sync(self, handle: int) -> None:
            is_stalling.set()
            assert go_on.wait(10)
            os.fdatasync(handle)

    spool = open_spool(tmp_path / "spool", disk=Stalling())
    count = 12 * MIB // size_bytes

    async def run() -> None:
        commit = GroupCommit(spool, lambda _: None)
        first = asyncio.create_task(commit.append(record(b"first")))
        await asyncio.to_thread(is_stalling.wait, 10)
        others = [asyncio.create_task(commit.append(record(bytes(size_bytes)))) for _ in range(count)]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(first, *others)
        commit.close()

    asyncio.run(run())
    spool.seal()
    assert max(each.size_bytes for each in spool.sealed()) <= MIB + FRAME_BYTES + size_bytes
    assert sum(len(spool.read(each).records) for each in spool.sealed()) == count + 1
    spool.close()


def test_a_record_whose_request_was_cancelled_during_the_write_is_counted(tmp_path: Path) -> None:
    is_writing, go_on = threading.Event(), threading.Event()
    spooled: list[int] = []

    class Slow(Disk):
        def sync(self, handle: int) -> None:
            is_writing.set()
            assert go_on.wait(10)
            os.fdatasync(handle)

    spool = open_spool(tmp_path / "spool", disk=Slow())

    async def run() -> None:
        commit = GroupCommit(spool, spooled.append)
        request = asyncio.create_task(commit.append(record(b"cancelled")))
        await asyncio.to_thread(is_writing.wait, 10)
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        go_on.set()
        await commit.append(record(b"next"))
        commit.close()

    asyncio.run(run())
    assert spooled == [1, 1]
    spool.seal()
    assert len(spool.read(spool.sealed()[0]).records) == 2
    spool.close()


def test_an_error_reaches_every_request_of_its_batch_and_none_after_it(tmp_path: Path) -> None:
    spool = open_spool(tmp_path / "spool", max_bytes=1_000)

    async def run() -> None:
        spooled: list[int] = []
        commit = GroupCommit(spool, spooled.append)
        large = [commit.append(record(bytes(700))) for _ in range(2)]
        assert [type(each) for each in await asyncio.gather(*large, return_exceptions=True)] == [SpoolFull, SpoolFull]
        await commit.append(record(bytes(700)))
        commit.close()
        assert spooled == [1]

    asyncio.run(run())
    spool.close()


def test_the_folders_of_a_new_spool_survive_a_power_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder is on disk when its parent was synced after it was made."""
    synced: list[tuple[Path, set[Path]]] = []

    def sync(folder: Path) -> None:
        synced.append((folder, set(folder.iterdir())))

    monkeypatch.setattr("walltime_collector.spool.directory.sync_directory", sync)
    open_spool(tmp_path / "new" / "data" / "spool").close()
    survived = set[Path]().union(*(names for _, names in synced))
    made = {each for each in (tmp_path / "new").rglob("*") if each.is_dir()} | {tmp_path / "new"}
    assert made - survived == set()

"""A log is followed through rotation, truncation and restarts: each complete entry once, none lost."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from walltime_collector.errors import SettingsRefused
from walltime_collector.observe.slowlog.follow import Follower
from walltime_collector.observe.slowlog.journal import Checkpoint, Journal

from tests.collector.observe.slowlog.numbered_log import Log, entry

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


class Reading:
    """A follower whose checkpoints survive it."""

    def __init__(self, path: Path) -> None:
        self.path, self.seen = path, list[int]()
        self.checkpoint: Checkpoint | None = None
        self.gaps = 0
        self.start()

    def start(self) -> None:
        self.follower = Follower(self.path, self.checkpoint)

    def restart(self) -> None:
        self.follower.close()
        self.start()

    def look(self) -> bool:
        look = self.follower.look()
        self.seen += [each.connection_id for each in look.entries]
        self.checkpoint = look.checkpoint
        self.gaps += self.follower.gaps
        self.follower.gaps = 0
        return look.is_progress

    def catch_up(self) -> None:
        for _ in range(3):  # the last entry is complete when nothing followed it for one look
            while self.look():
                pass


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path / "slow.log")
    yield made
    made.file.close()


@pytest.fixture
def reading(log: Log) -> Iterator[Reading]:
    made = Reading(log.path)
    yield made
    made.follower.close()


def test_what_is_there_and_what_comes_is_read_once(log: Log, reading: Reading) -> None:
    log.write(3)
    reading.catch_up()
    log.write(2)
    reading.catch_up()
    assert reading.seen == [0, 1, 2, 3, 4]


def test_an_entry_is_read_when_all_of_it_is_there(log: Log, reading: Reading) -> None:
    whole = entry(7)
    for at in range(len(whole) - 2):
        log.file.write(whole[at : at + 1])
        reading.look()
        reading.look()
    assert reading.seen == []
    log.file.write(whole[-2:])
    reading.catch_up()
    assert reading.seen == [7]


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("is_new_made_first", [False, True])
def test_a_rotation_by_rename_loses_nothing(
    log: Log, reading: Reading, restarts: bool, is_new_made_first: bool
) -> None:
    log.write(5)
    reading.catch_up()
    log.write(2)
    log.rename("slow.log.1")
    if is_new_made_first:  # logrotate's `create`
        log.path.touch()
    reading.restart() if restarts else None
    if is_new_made_first or not restarts:
        reading.catch_up()
    log.write(2)  # the server has not been told yet
    reading.catch_up() if is_new_made_first or not restarts else None
    log.write(1)
    log.reopen()
    log.write(3)
    reading.catch_up()
    assert reading.seen == list(range(13))
    assert reading.gaps == 0


@pytest.mark.parametrize("restarts", [False, True])
def test_copytruncate_loses_nothing(log: Log, reading: Reading, restarts: bool) -> None:
    log.write(20)
    reading.catch_up()
    log.write(4)
    log.copy_and_truncate("slow.log.1")
    reading.restart() if restarts else None
    log.write(2)
    reading.catch_up()
    assert reading.seen == list(range(26))
    assert reading.gaps == 0


COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd.compress,
}  # fmt: skip


def compress(path: Path, suffix: str) -> Path:
    """As logrotate does: the compressed file has the times of the plain one."""
    made, status = path.with_name(path.name + suffix), path.stat()
    made.write_bytes(COMPRESSORS[suffix](path.read_bytes()))
    os.utime(made, ns=(status.st_atime_ns, status.st_mtime_ns))
    path.unlink()
    return made


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("name", ["slow.log.1", "slow.log-20261121", "slow-20261121.log"])
def test_copytruncate_that_compresses_at_once_loses_nothing(
    log: Log, reading: Reading, restarts: bool, suffix: str, name: str
) -> None:
    log.write(3)
    reading.catch_up()
    log.write(2)
    log.copy_and_truncate(name)
    compress(log.path.with_name(name), suffix)
    reading.restart() if restarts else None
    log.write(1)
    reading.catch_up()
    assert reading.seen == list(range(6))
    assert reading.gaps == 0


@pytest.mark.parametrize("restarts", [False, True])
@pytest.mark.parametrize("copy", [None, "elsewhere", "slow-query.log"])
def test_a_truncation_without_a_copy_is_counted_as_a_gap(
    log: Log, reading: Reading, restarts: bool, copy: str | None
) -> None:
    log.write(3)
    reading.catch_up()
    log.write(2)
    log.copy_and_truncate(copy) if copy else os.truncate(log.path, 0)
    reading.restart() if restarts else None
    log.write(1)
    reading.catch_up()
    assert reading.seen == [0, 1, 2, 5]
    assert reading.gaps == 1


def test_a_copy_that_is_damaged_is_a_gap_and_the_log_goes_on(log: Log, reading: Reading) -> None:
    log.write(30)
    reading.catch_up()
    log.write(300)
    log.copy_and_truncate("slow.log.1")
    copy = compress(log.path.with_name("slow.log.1"), ".gz")
    copy.write_bytes(copy.read_bytes()[:-100])
    log.write(1)
    reading.catch_up()
    assert reading.seen == [*range(30), 330]
    assert reading.gaps == 1


@pytest.mark.parametrize("is_compressed", [False, True])
def test_rotated_logs_are_read_while_the_log_is_empty(log: Log, reading: Reading, is_compressed: bool) -> None:
    log.write(10)
    reading.catch_up()
    for _ in range(3):
        log.write(5)
        for older in (2, 1):
            for suffix in ("", ".gz"):
                path = log.path.with_name(f"slow.log.{older}{suffix}")
                path.rename(path.with_name(f"slow.log.{older + 1}{suffix}")) if path.exists() else None
        log.rename("slow.log.1")
        log.reopen()
        compress(log.path.with_name("slow.log.1"), ".gz") if is_compressed else None
    os.truncate(log.path, 0)
    reading.restart()
    reading.catch_up()
    assert reading.seen == list(range(25))
    assert reading.gaps == 0
    log.write(1)
    reading.catch_up()
    assert reading.seen == list(range(26))


def test_a_log_that_is_compressed_after_it_was_read_is_not_read_again(log: Log, reading: Reading) -> None:
    log.write(10)
    reading.catch_up()
    log.rename("slow.log.1")
    log.reopen()
    log.write(10)
    reading.catch_up()
    compress(log.path.with_name("slow.log.1"), ".gz")
    log.rename("slow.log.1")
    copy = compress(log.path.with_name("slow.log.1"), ".gz")
    copy.rename(log.path.with_name("slow.log.2.gz"))
    log.reopen()
    os.utime(log.path.with_name("slow.log.2.gz"))  # not every tool keeps the times
    log.write(1)
    reading.catch_up()
    assert reading.seen == list(range(21))
    assert reading.gaps == 0


def test_a_file_truncated_and_grown_beyond_where_we_were_is_seen_as_new(log: Log, reading: Reading) -> None:
    log.write(10)
    reading.catch_up()
    os.truncate(log.path, 0)
    log.write(30)
    reading.catch_up()
    assert reading.seen == list(range(40))
    assert reading.gaps == 1, "nobody knows what was behind the tenth"


def test_several_rotations_while_nobody_reads_lose_nothing(log: Log, reading: Reading) -> None:
    log.write(10)
    reading.catch_up()
    for newest in range(3):
        log.write(5)
        for older in range(newest, 0, -1):
            log.path.with_name(f"slow.log.{older}").rename(log.path.with_name(f"slow.log.{older + 1}"))
        log.rename("slow.log.1")
        log.reopen()
    log.write(2)
    reading.restart()
    reading.catch_up()
    assert reading.seen == list(range(27))


def test_an_inode_that_went_to_another_file_is_not_taken_for_the_old_one(log: Log, reading: Reading) -> None:
    log.write(10)
    reading.catch_up()
    log.path.unlink()
    log.reopen()
    log.write(50)
    checkpoint = reading.checkpoint
    assert checkpoint is not None
    status = log.path.stat()
    reading.checkpoint = Checkpoint(
        status.st_dev, status.st_ino, checkpoint.head_bytes, checkpoint.head, checkpoint.offset, checkpoint.carried
    )
    reading.restart()
    reading.catch_up()
    assert reading.seen == list(range(60))
    assert reading.gaps == 1


def test_a_rotated_log_that_is_gone_is_counted_as_a_gap(log: Log, reading: Reading) -> None:
    log.write(10)
    reading.catch_up()
    log.write(10)
    log.rename("slow.log.1")
    log.path.with_name("slow.log.1").rename(log.path.parent / "elsewhere")
    log.reopen()
    log.write(1)
    reading.restart()
    reading.catch_up()
    assert reading.seen == [*range(10), 20]
    assert reading.gaps == 1


def test_a_log_that_is_not_there_yet_is_an_error_until_it_is(tmp_path: Path) -> None:
    reading = Reading(tmp_path / "slow.log")
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            reading.look()
    log = Log(tmp_path / "slow.log")
    log.write(1)
    log.file.close()
    reading.catch_up()
    reading.follower.close()
    assert reading.seen == [0]


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_what_is_no_file_is_an_error_and_no_endless_wait(tmp_path: Path, make: object) -> None:
    make(tmp_path / "slow.log")  # type: ignore[operator]
    follower = Follower(tmp_path / "slow.log", None)
    with pytest.raises(OSError, match=r"directory|seek"):
        follower.look()
    follower.close()


@pytest.mark.parametrize("seed", range(20))
def test_whatever_happens_in_whatever_order_each_entry_is_read_once(log: Log, reading: Reading, seed: int) -> None:
    chance = random.Random(seed)
    log.write(10)
    reading.catch_up()  # beyond the first bytes that all logs share
    rotations = 0

    def rotate() -> None:
        nonlocal rotations
        rotations += 1
        log.rename(f"slow.log-{rotations:03}")
        for _ in range(chance.randrange(3)):
            log.write(chance.randrange(3))
            reading.look()
        log.reopen()
        log.write(8)
        reading.catch_up()

    def copy_and_truncate() -> None:
        nonlocal rotations
        rotations += 1
        log.copy_and_truncate(f"slow.log-{rotations:03}")
        log.write(8)
        reading.catch_up()

    actions = [
        lambda: log.write(chance.randrange(30)),
        reading.look,
        reading.restart,
        rotate,
        copy_and_truncate,
    ]
    for action in chance.choices(actions, weights=(8, 8, 3, 1, 1), k=120):
        action()
    reading.catch_up()
    assert reading.seen == list(range(log.number))
    assert reading.gaps == 0


def test_a_journal_gives_back_what_is_not_stored_under_the_token_it_had(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "a.journal")
    assert (journal.checkpoint, journal.unstored) == (None, None)
    journal.write(Checkpoint(offset=5), b'{"a":1}\n{"a":2}\n', 2)
    again = Journal(tmp_path / "a.journal")
    assert again.unstored == journal.unstored
    assert again.unstored is not None
    first_token = again.unstored.token
    assert again.unstored.rows == b'{"a":1}\n{"a":2}\n'
    again.stored()
    after = Journal(tmp_path / "a.journal")
    assert (after.checkpoint, after.unstored) == (Checkpoint(offset=5), None)
    after.write(Checkpoint(offset=9), b"{}\n", 1)
    assert after.unstored is not None
    assert after.unstored.token not in (first_token, "")
    assert (tmp_path / "a.journal").stat().st_mode & 0o777 == 0o600


def test_a_damaged_journal_is_said_and_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.journal").write_bytes(b"{")
    with pytest.raises(SettingsRefused, match="move it away"):
        Journal(tmp_path / "a.journal")
    assert (tmp_path / "a.journal").read_bytes() == b"{"

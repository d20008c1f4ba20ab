"""The spool and the loader on a disk that loses power or fails at any of its calls."""

from __future__ import annotations

import errno
import itertools
import logging
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.errors import SpoolError
from walltime_collector.health.counters import Health
from walltime_collector.load.loader import Loader
from walltime_collector.spool import spool as spool_module
from walltime_collector.spool.segment import Record
from walltime_collector.spool.spool import Segment, Spool

from tests.faults.remembering_database import POISON, Database, load_all
from tests.faults.simulated_disk import Fault, PowerCut, SimulatedDisk

SEED = 20261121


@dataclass
class Machine:
    """Collectors on one disk: the requests sent, those acknowledged, and what the database has."""

    directory: Path
    disk: SimulatedDisk
    database: Database = field(default_factory=Database)
    sent: set[bytes] = field(default_factory=set)
    acknowledged: set[bytes] = field(default_factory=set)
    failures: int = 0

    def start(self) -> None:
        self.clock_ns = getattr(self, "clock_ns", 10**18)
        self.spool = Spool(
            self.directory, max_bytes=2**30, segment_bytes=700, segment_age_s=0, disk=self.disk, now_ns=self.now_ns
        )
        self.loader = Loader(self.spool, cast(Engine, self.database), Health())

    def now_ns(self) -> int:
        self.clock_ns += 1
        return self.clock_ns

    def live(self, chance: random.Random, steps: int) -> None:
        """Some actions of a collector, in random order."""
        self.start()
        for step in range(steps):
            does = chance.choices(
                (self.receive, self.seal, self.load, self.retry, self.restart), weights=(10, 2, 4, 1, 1)
            )[0]
            try:
                does(chance, step)
            except (OSError, SpoolError):
                self.failures += 1  # refused, or tried again later

    def receive(self, chance: random.Random, step: int) -> None:
        kind = POISON if chance.random() < 0.1 else b"good"
        payloads = [
            b"%s %d %d " % (kind, step, at) + chance.randbytes(chance.randint(0, 200))
            for at in range(chance.randint(1, 3))
        ]
        self.sent |= set(payloads)
        self.spool.append([Record(self.clock_ns, 1, payload) for payload in payloads])
        self.acknowledged |= set(payloads)

    def seal(self, *_: object) -> None:
        self.spool.seal()

    def load(self, *_: object) -> None:
        self.loader.step()

    def retry(self, *_: object) -> None:
        for letter in self.spool.dead_letters()[:1]:
            self.spool.retry(letter.name)

    def restart(self, *_: object) -> None:
        self.spool.close()
        self.start()

    def check(self, disk: SimulatedDisk) -> None:
        """A collector that starts on this disk has everything that was acknowledged, once, and works."""
        after = Machine(self.directory, disk, Database(), set(self.sent), set(self.acknowledged))
        after.database.stored = {token: list(payloads) for token, payloads in self.database.stored.items()}
        after.clock_ns = self.clock_ns - 10**9  # the clock may have been set back
        after.start()
        after.receive(random.Random(0), -1)
        after.spool.seal()
        load_all(after.loader, after.spool)
        assert after.spool.sealed() == []
        dead = [
            bytes(record.payload)
            for path, size in disk.files(self.directory / "dead")
            if path.suffix == ".segment"
            for record in _records(after.spool, path, size)
        ]
        after.spool.close()
        counts = after.database.counts
        assert after.acknowledged - set(counts) - set(dead) == set(), "lost"
        assert set(counts) | set(dead) <= after.sent, "forged or altered"
        assert [payload for payload, n in counts.items() if n > 1] == [], "doubled"


class Unlocked:
    """The lock ends with its process; here it would stay, because all collectors are in this process."""

    def __init__(self, directory: Path) -> None:
        """Owned."""

    def release(self) -> None:
        """Let go."""


@pytest.fixture(autouse=True)
def one_process_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool_module, "Ownership", Unlocked)
    logging.getLogger("walltime_collector.load.loader").setLevel(logging.CRITICAL)


def _records(spool: Spool, path: Path, size: int) -> list[Record]:
    return spool.read(Segment(path, size, None)).records


def cut_at_every_call(directory: Path, states: int) -> int:
    """Runs that end with a power cut, each at another call, until that many disks are checked."""
    seen = lives = 0
    while seen < states:
        lives += 1
        chance = random.Random(SEED + lives)
        whole = Machine(directory, SimulatedDisk())
        whole.live(random.Random(SEED + lives), 40)
        for at in sorted(chance.sample(range(1, whole.disk.calls + 1), min(20, whole.disk.calls))):
            machine = Machine(directory, SimulatedDisk(Fault(at, "cut")))
            with pytest.raises(PowerCut):
                machine.live(random.Random(SEED + lives), 40)
            for _ in range(2):
                machine.check(machine.disk.after_power_cut(chance))
                seen += 1
    print(f"{seen} states of the disk after {lives} lives: lost 0, doubled 0, altered 0 (seed {SEED})")
    return seen


def test_after_a_power_cut_everything_acknowledged_is_there_once(tmp_path: Path) -> None:
    assert cut_at_every_call(tmp_path / "spool", 400) >= 400


@pytest.mark.nightly
def test_after_10000_power_cuts_everything_acknowledged_is_there_once(tmp_path: Path) -> None:
    assert cut_at_every_call(tmp_path / "spool", 10_000) >= 10_000


def fail_at_every_call(directory: Path, what: int | str, lives: int, steps: int) -> int:
    """Runs in which one call fails, each time another one; then the power fails too."""
    calls = failures = 0
    for life in range(lives):
        for at in itertools.count(1):
            machine = Machine(directory, SimulatedDisk(Fault(at, what)))
            try:
                machine.live(random.Random(SEED + life), steps)
            except (OSError, SpoolError):  # a collector does not start on such a disk
                assert at <= 3
                continue
            if machine.disk.calls < at:
                break
            machine.disk.fault = None
            failures += machine.failures
            machine.check(machine.disk.after_power_cut(random.Random(at)))
            calls += 1
    print(f"{what}: {calls} calls failed, one a life; {failures} times something was refused or tried again; lost 0")
    return calls


WHATS = pytest.mark.parametrize(
    "what", [errno.EIO, errno.ENOSPC, errno.EINTR, "short"], ids=["EIO", "ENOSPC", "EINTR", "short"]
)


@WHATS
def test_whichever_call_fails_only_records_on_disk_are_acknowledged(tmp_path: Path, what: int | str) -> None:
    """A failing fsync is among the calls; what the kernel drops then stays dropped."""
    assert fail_at_every_call(tmp_path / "spool", what, lives=2, steps=15) > 100


@pytest.mark.nightly
@WHATS
def test_whichever_call_fails_in_ten_lives_nothing_is_lost(tmp_path: Path, what: int | str) -> None:
    assert fail_at_every_call(tmp_path / "spool", what, lives=10, steps=40) > 1_000

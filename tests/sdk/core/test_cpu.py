"""What the kernel counts for a transaction's thread: CPU time, waiting for a CPU, throttling; and the open file."""

from __future__ import annotations

import os
import resource
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
import walltime
from walltime.core import cgroup, cpu
from walltime.core.cgroup import Throttled

from tests.sdk.on_one_cpu import run_on_one_cpu
from tests.sdk.sink import Received, Sink

pytestmark = pytest.mark.alone  # what it asserts are times

COMPUTES_AND_SLEEPS = """
with walltime.transaction("computes"):
    until = time.thread_time() + 0.15
    while time.thread_time() < until:
        pass
with walltime.transaction("sleeps"):
    time.sleep(0.05)
"""


def _times(span: Received) -> tuple[int, int, int]:
    """Duration, CPU time, time waiting for a CPU."""
    of = span.attributes
    return span.duration_ns, of["walltime.cpu_user_ns"] + of["walltime.cpu_system_ns"], of["walltime.cpu_wait_ns"]


def _computed(sink: Sink, others: int) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """The times of a transaction that computes and of one that sleeps, beside so many processes on the same CPU."""
    run_on_one_cpu(COMPUTES_AND_SLEEPS, others, sink)
    found = {span.span.name: span for span in sink.transactions()}
    sink.requests.clear()
    return _times(found["computes"]), _times(found["sleeps"])


def test_a_thread_that_computes_beside_others_on_its_cpu_waits_for_the_rest_of_the_time(sink: Sink) -> None:
    (duration_ns, cpu_ns, wait_ns), _ = _computed(sink, others=2)
    assert wait_ns > 0.3 * duration_ns
    assert cpu_ns + wait_ns == pytest.approx(duration_ns, rel=0.1)


def test_what_waits_for_something_else_does_not_wait_for_a_cpu(sink: Sink) -> None:
    (duration_ns, cpu_ns, wait_ns), sleeping = min(
        (_computed(sink, others=0) for _ in range(3)), key=lambda times: times[1][2]
    )
    assert cpu_ns + wait_ns == pytest.approx(duration_ns, rel=0.1)
    assert sleeping[2] < 0.1 * sleeping[0]


def test_a_thread_that_never_gave_its_cpu_up_has_not_waited_for_one() -> None:
    text, same, latest_s = b"", 0, time.monotonic() + 30
    while same < 200 and time.monotonic() < latest_s:
        before, text = resource.getrusage(resource.RUSAGE_THREAD), cpu.of_thread()[1]
        sum(range(500))
        later, after = cpu.of_thread()[1], resource.getrusage(resource.RUSAGE_THREAD)
        if (before.ru_nvcsw, before.ru_nivcsw) == (after.ru_nvcsw, after.ru_nivcsw):
            same += 1
            assert cpu.waited_ns((text, later)) == 0
    assert same == 200
    usage = cpu.begin(cpu_wait=True)
    assert usage is not None
    time.sleep(0.001)
    waited = cpu.end(usage)[3]
    assert waited is not None
    assert waited[0] != waited[1]  # it is read again: the kernel has counted another time slice


def test_cpu_time_after_a_wait_is_complete(recorded: Sink) -> None:
    for _ in range(20):
        time.sleep(0.001)  # the kernel's usage is complete here, and not brought up to date before the next tick
        with walltime.transaction("short"):
            until_ns = time.thread_time_ns() + 1_000_000
            while time.thread_time_ns() < until_ns:
                pass
    assert all(0.9e6 < _times(span)[1] < 3e6 for span in recorded.transactions())


def _open_files() -> dict[int, str]:
    """The open schedstat files of this process, by descriptor."""
    found = {}
    for fd in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):  # the folder's own
            found[int(fd.name)] = str(fd.readlink())
    return {fd: link for fd, link in found.items() if link.endswith("schedstat")}


def _transaction() -> None:
    with walltime.transaction("short"):
        pass


def test_the_file_of_a_thread_is_closed_at_its_end(recorded: Sink) -> None:
    _transaction()
    before = len(_open_files())
    for _ in range(3):
        barrier = threading.Barrier(9)

        def work(barrier: threading.Barrier = barrier) -> None:
            _transaction()
            barrier.wait()
            barrier.wait()

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        barrier.wait()
        assert len(_open_files()) == before + 8
        barrier.wait()
        for thread in threads:
            thread.join()
        assert len(_open_files()) == before
    assert all("walltime.cpu_wait_ns" in span.attributes for span in recorded.transactions())


def test_so_many_descriptors_are_kept_and_further_threads_are_measured_too(recorded: Sink) -> None:
    threads = cpu.MAX_OPEN + 20
    for _ in range(2):  # what ended threads had is there again
        at_work, ended = threading.Barrier(threads + 1), threading.Event()

        def work(at_work: threading.Barrier = at_work, ended: threading.Event = ended) -> None:
            _transaction()
            at_work.wait()
            ended.wait()

        running = [threading.Thread(target=work) for _ in range(threads)]
        for thread in running:
            thread.start()
        at_work.wait()
        assert len(_open_files()) <= cpu.MAX_OPEN
        child = os.fork()
        if not child:
            _transaction()
            os._exit(len(_open_files()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1, "the child has its own descriptor only"
        ended.set()
        for thread in running:
            thread.join()
    _transaction()
    assert len(_open_files()) <= 1
    assert all("walltime.cpu_wait_ns" in span.attributes for span in recorded.transactions())


def test_a_forked_child_reads_the_file_of_its_own_thread(recorded: Sink) -> None:
    _transaction()
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        _transaction()
        os.write(writer, " ".join([str(os.getpid()), *_open_files().values()]).encode())
        os._exit(0)
    os.waitpid(child, 0)
    pid, *files = os.read(reader, 4096).decode().split()
    assert files == [f"/proc/{pid}/task/{pid}/schedstat"]


def test_a_descriptor_that_the_application_closed_and_opened_again_stays_open(recorded: Sink, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("words")

    def work() -> None:
        _transaction()
        (fd,) = [fd for fd, link in _open_files().items() if f"/task/{threading.get_native_id()}/" in link]
        mine = os.open(tmp_path / "mine", os.O_RDONLY)
        os.dup2(mine, fd)
        os.close(mine)
        opened.append(fd)
        _transaction()

    opened: list[int] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert os.read(opened[0], 10) == b"words"
    os.close(opened[0])
    assert ["walltime.cpu_wait_ns" in span.attributes for span in recorded.transactions()] == [True, False]


@pytest.mark.setting("cpu_wait")
def test_switched_off_nothing_is_opened(sink: Sink) -> None:
    walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, cpu_wait=False)
    thread = threading.Thread(target=_transaction)
    before = _open_files()
    thread.start()
    thread.join()
    (found,) = sink.transactions()
    assert _open_files() == before
    assert "walltime.cpu_user_ns" in found.attributes
    assert "walltime.cpu_wait_ns" not in found.attributes


@pytest.mark.parametrize("version", [1, 2])
def test_throttling_is_that_of_the_innermost_group_with_a_quota(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    membership = {1: "4:memory:/a\n3:cpu,cpuacct:/pod/container/inner\n", 2: "0::/pod/container/inner\n"}[version]
    mount, inner = tmp_path / "cgroup", tmp_path / "cgroup" / "pod" / "container" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "membership").write_text(membership)
    monkeypatch.setattr(cgroup, "MOUNTS", {version: (str(mount),)})
    quotas = {1: ("cpu.cfs_quota_us", "-1", "50000"), 2: ("cpu.max", "max 100000", "50000 100000")}
    name, unlimited, limited = quotas[version]
    for folder, quota in ((inner, unlimited), (inner.parent, limited), (inner.parent.parent, limited)):
        (folder / name).write_text(quota + "\n")
    stat = inner.parent / "cpu.stat"
    line = "throttled_usec 7\n" if version == 2 else "throttled_time 7000\n"
    stat.write_text(f"nr_periods 9\nnr_throttled 2\n{line}")
    throttled = Throttled(str(tmp_path / "membership"))
    assert throttled.has_quota
    assert throttled.recent_ns() == 7000
    stat.write_text(stat.read_text().replace("7", "8"))
    assert throttled.now_ns() == 8000
    (inner.parent / name).write_text(unlimited)
    (inner.parent.parent / name).write_text(unlimited)
    assert not Throttled(str(tmp_path / "membership")).has_quota
    assert not Throttled(str(tmp_path / "no such file")).has_quota

"""One tick of the sampler: what each open transaction does now."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from walltime.core import event_loop
from walltime.core.caller import place_of
from walltime.core.execution import Inside
from walltime.core.ids import generator
from walltime.core.transaction import clock
from walltime.sampling import frames, serving, suspended
from walltime.sampling.samples import Sample, Samples, is_measured
from walltime.sampling.stacks import frames_of
from walltime.sampling.states import Clocks, waits_for

if TYPE_CHECKING:
    from collections.abc import Hashable
    from types import FrameType
    from typing import TypeVar
    from weakref import ref

    from walltime.core.transaction import Transaction
    from walltime.sampling.serving import Thread
    from walltime.sampling.stacks import Frames

    K = TypeVar("K", bound=Hashable)

ALONE_SHARE: Final = 0.1
"""Share of a CPU that all threads but the busiest may use together when that one computes alone."""
MAX_LOOKED_AT: Final = 8
"""Threads, tasks and greenlets in one tick; of more, as many are drawn, and each stands for the others."""
MAX_TRIES: Final = 3
"""The GIL may be taken from the sampler while it looks, and the thread then runs on."""
LEAST_RUN_NS: Final = 50_000
"""CPU time of a thread that runs between two ticks; a waiting one may use some µs."""
LATE_NS: Final = 200_000
"""A tick that is later had to wait for the GIL: a thread computed."""
COMPUTED: Final = "computed"
COMPUTED_BEFORE_CALL: Final = "computed before a measured call"
MOST_PAID: Final = 2
"""Times its own time: what is owed goes to many samples. Equal weights make the smallest errors."""
MOST_OWED: Final = 0.04
"""Of the time sampled for a name, or one tick: so much computing before calls may wait for a sample that computes."""
MAX_NAMES: Final = 1000
RECENT_TICKS: Final = 3
"""A thread that was looked at so many ticks ago served transactions in between."""
DELAYS_EVERY: Final = 16
"""While threads do not compete, the kernel is asked for delays in one tick of so many: it costs as much as a tick."""
_BUSY_SHARE: Final = 0.9
"""A thread with a larger share of a CPU did not wait for one."""

counts = {"samples": 0, "samples_lost": 0}
"""Of this process. Lost are those of threads that went on while they were looked at."""


class Ticks:
    """What is kept from one tick to the next. No frame is."""

    def __init__(self) -> None:
        self.at_ns = clock()
        self.is_contended = False
        """Whether more than one thread computed since the last tick."""
        self._process_cpu_ns = self._own_cpu_ns = 0
        self._served: dict[tuple[int, int], tuple[ref[Any], Transaction, Thread]] = {}
        """By `id` of the reference and of the transaction, in the order in which they last began or went on."""
        self._owed_ns: dict[tuple[str, bool], int] = {}
        """
        Time whose line was not seen because the tick was late: for the next sample of a transaction of this name.

        By name, and whether the thread is known to have computed: then it is for the next sample that does not wait.
        """
        self._sampled_ns: dict[str, int] = {}
        """By name, since the start."""

    def tick(self, due_ns: int) -> bool:
        """
        Add a sample to each open transaction that is not in a measured call; False when none is open.

        Args:
            due_ns: when the tick was due. The GIL was held since then, or the CPU was busy.
        """
        now_ns = clock()
        elapsed_ns, self.at_ns = now_ns - self.at_ns, now_ns
        looks = self._open(due_ns, elapsed_ns)
        if not looks:
            return False
        if looks[-1][2] is not None:  # tasks and greenlets are the last ones
            event_loop.look(now_ns, _line_of)
        factor = max(1.0, len(looks) / MAX_LOOKED_AT)
        if factor > 1:
            looks = generator.sample(looks, MAX_LOOKED_AT)
        late_ns = now_ns - due_ns
        observed = [(of, thread, _observed(of, thread, server, late_ns)) for of, thread, server in looks]
        started = {thread: of.started_ns for of, thread, _ in looks}
        shares = {each: _share(each, now_ns, elapsed_ns, started_ns) for each, started_ns in started.items()}
        cpu_ns = self._cpu_of_others()
        others_share = cpu_ns / elapsed_ns
        seen: dict[Transaction, list[Sample] | None] = {}
        for of, thread, (stack, state) in observed:
            samples = seen.setdefault(of, [])
            if stack is None:
                seen[of] = None  # in a measured call, whatever its other threads do
            elif samples is None:
                continue
            elif state == COMPUTED or (state == COMPUTED_BEFORE_CALL and self._may_owe(of.name, elapsed_ns)):
                self._owe(of.name, elapsed_ns, is_computing=True)
            else:
                share = shares[thread]
                others = max(0.0, others_share - share)
                clocks = None if state else Clocks(share, others, thread.delay_share, thread.has_run)
                shown = "computing" if state == COMPUTED_BEFORE_CALL else state
                time_ns, is_main = round(factor * elapsed_ns), thread.execution is of
                samples.append(Sample(due_ns, time_ns, stack, clocks, shown, is_main))
        self.is_contended = cpu_ns - max(each.used_ns for each in shares) > ALONE_SHARE * elapsed_ns
        for of, samples in seen.items():
            if samples:
                if self._owed_ns:
                    self._pay(of.name, samples)
                if of.samples is None:
                    of.samples = Samples()
                of.samples.add(samples)
                _add(self._sampled_ns, of.name, samples[0].time_ns)
                counts["samples"] += len(samples)
        drawn = looks[int(generator.random() * len(looks))][1]
        if (self.is_contended or generator.random() * DELAYS_EVERY < 1) and drawn.share < _BUSY_SHARE:
            _measure_delay(drawn, now_ns)
        return True

    def _cpu_of_others(self) -> int:
        """Return the CPU time of the process since the last tick, without that of this thread."""
        process_ns, own_ns = time.process_time_ns(), time.thread_time_ns()
        cpu_ns = process_ns - self._process_cpu_ns - (own_ns - self._own_cpu_ns)
        self._process_cpu_ns, self._own_cpu_ns = process_ns, own_ns
        return max(0, cpu_ns)

    def _open(self, due_ns: int, elapsed_ns: int) -> list[tuple[Transaction, Thread, Any]]:
        """Return the transactions that are open, each with its thread and, if it has one, its task or greenlet."""
        looks: list[tuple[Transaction, Thread, Any]] = []
        for thread in list(serving.threads.values()):
            execution = thread.execution
            if execution is None:
                continue
            of = execution.transaction
            if not of.duration_ns:
                looks.append((of, thread, None))
            else:
                self._ended(of, due_ns, elapsed_ns)
                if thread.execution is execution:  # nothing runs in between
                    thread.execution = None
        while serving.arrivals:
            each = serving.arrivals.popleft()
            key = id(each[0]), id(each[1])
            self._served.pop(key, None)
            self._served[key] = each
        if self._served:
            innermost: dict[Transaction, Any] = {}
            for key, (reference, of, thread) in list(self._served.items()):
                server = reference()
                if of.duration_ns:
                    del self._served[key]
                    self._ended(of, due_ns, elapsed_ns)
                elif server is None or suspended.is_over(server):
                    del self._served[key]
                else:
                    innermost[of] = of, thread, server  # the task that began last: those before it wait for it
            looks += innermost.values()
        return [each for each in looks if each[0].started_ns <= due_ns]

    def _ended(self, of: Transaction, due_ns: int, elapsed_ns: int) -> None:
        """Note the time of a transaction that ended after the tick was due, unless it was in a measured call."""
        if of.started_ns <= due_ns < of.started_ns + of.duration_ns:
            calls = [call for call in of.calls if call[2] <= due_ns <= call[3]]
            if not any(is_measured(call[0]) for call in calls):
                self._owe(of.name, elapsed_ns, is_computing=False)

    def _may_owe(self, name: str, time_ns: int) -> bool:
        owed_ns = self._owed_ns.get((name, True), 0)
        return not owed_ns or owed_ns + time_ns <= MOST_OWED * self._sampled_ns.get(name, 0)

    def _owe(self, name: str, time_ns: int, *, is_computing: bool) -> None:
        _add(self._owed_ns, (name, is_computing), time_ns)

    def _pay(self, name: str, samples: list[Sample]) -> None:
        """Add time that is owed to transactions of this name to one of these samples."""
        time_ns = samples[0].time_ns
        for is_computing in (False, True):
            owed_ns = self._owed_ns.pop((name, is_computing), 0)
            if is_computing and (samples[0].state or waits_for(samples[0].frames)[0]):
                paid_ns = 0  # no line that computes is known: it is suspended, waits, or was seen in the next call
            else:
                paid_ns = min(owed_ns, MOST_PAID * samples[0].time_ns)
            if owed_ns > paid_ns:
                self._owed_ns[name, is_computing] = owed_ns - paid_ns
            time_ns += paid_ns
        samples[0] = samples[0]._replace(time_ns=time_ns)


def _add(times_ns: dict[K, int], key: K, time_ns: int) -> None:
    """Add to an entry; without room for another one, do nothing."""
    if key in times_ns or len(times_ns) < MAX_NAMES:
        times_ns[key] = times_ns.get(key, 0) + time_ns


def _line_of(ident: int) -> str:
    """Return the application's line that a thread executes."""
    with suppress(frames.NotReadableError):
        place = place_of(frames.outward(frames.of_threads().get(ident)))
        if place is not None:
            return f"{place.short_path}:{place.line} {place.function}"
    return ""


def _observed(transaction: Transaction, thread: Thread, server: Any, late_ns: int) -> tuple[Frames | None, str]:
    try:
        return _observe(transaction, thread, server, late_ns)
    except frames.NotReadableError:
        counts["samples_lost"] += 1
        return None, ""


def _observe(transaction: Transaction, thread: Thread, server: Any, late_ns: int) -> tuple[Frames | None, str]:
    """
    Return the stack, innermost first, and the state of a suspended task or greenlet, '' for what runs.

    There is no stack of a thread that went on while it was looked at, nor inside a measured call, unless that may have
    begun after the tick was due. The state is COMPUTED for a thread that waits now, and computed when the tick was due;
    COMPUTED_BEFORE_CALL when it waits in a measured call: the stack is the caller's, which may not have computed.
    """
    for _ in range(MAX_TRIES):
        before_ns = thread.cpu_ns()
        frame = frames.of_threads().get(thread.ident)
        if frame is None or transaction.duration_ns:
            return None, ""
        thread.observed_ns = before_ns
        state, offset = "", frame.f_lasti
        if server is None:
            stack = _stack(thread, frame)
            if late_ns > LATE_NS and 2 * (before_ns - thread.clock_ns) > late_ns:
                if stack is None:
                    stack, state = frames_of(frame, in_calls=True, is_in_call=transaction.in_call), COMPUTED_BEFORE_CALL
                elif waits_for(stack)[0]:
                    state = COMPUTED
        elif suspended.runs(server, transaction, frame):
            stack = frames_of(frame)
        else:
            stack, state = suspended.of(server)
        if thread.cpu_ns() == before_ns:
            return stack, state
        if frames.of_threads().get(thread.ident) is frame and frame.f_lasti == offset:  # C that needs no GIL
            return stack, state
    counts["samples_lost"] += 1
    return None, ""


def _stack(thread: Thread, frame: FrameType) -> Frames | None:
    """Return the stack of a running thread; None inside a measured call."""
    execution = thread.execution
    if type(execution) is Inside or (execution is not None and execution.in_call):
        return None
    at = thread.observed_ns, frame.f_code, frame.f_lasti
    if thread.seen is None or thread.seen[0] != at or not thread.observed_ns:
        thread.seen = at, frames_of(frame)
    return thread.seen[1]  # type: ignore[no-any-return]  # it has not run since, as its CPU clock says


def _share(thread: Thread, now_ns: int, elapsed_ns: int, started_ns: int) -> float:
    """Return the thread's share of a CPU since the last ticks; if it was idle then, since its transaction started."""
    since_ns, thread.seen_ns = thread.seen_ns, now_ns
    thread.used_ns = used_ns = thread.observed_ns - thread.clock_ns
    thread.clock_ns = thread.observed_ns
    if now_ns - since_ns > RECENT_TICKS * elapsed_ns:
        since_ns = max(since_ns, started_ns)
    thread.has_run = used_ns > LEAST_RUN_NS or not thread.observed_ns
    thread.share = min(1.0, used_ns / max(1, now_ns - since_ns)) if thread.observed_ns else 1.0
    return thread.share


def _measure_delay(thread: Thread, now_ns: int) -> None:
    """Measure for how much of the time in which the thread did not run it could have run, had there been a CPU."""
    try:
        file = os.open(f"/proc/self/task/{thread.native_id}/schedstat", os.O_RDONLY)
        try:
            text = os.read(file, 100)
        finally:
            os.close(file)
    except OSError:  # not Linux, or it has just ended, before or after the file was opened
        return
    ran_ns, delay_ns = (int(number) for number in text.split()[:2])
    before_ns, before_ran_ns, before_delay_ns = thread.delays
    thread.delays = now_ns, ran_ns, delay_ns
    idle_ns = now_ns - before_ns - (ran_ns - before_ran_ns)
    if before_ns and idle_ns > 0:
        thread.delay_share = min(1.0, (delay_ns - before_delay_ns) / idle_ns)

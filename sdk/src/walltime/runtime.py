"""The current settings and their exporter, and the start and end of every transaction."""

from __future__ import annotations

import atexit
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from walltime.core import cpu, ids, transaction
from walltime.core.execution import ExecutionContext, close, enter, get_ident, inherited, leave, running, unpatched
from walltime.core.transaction import Transaction, clock, outside_calls
from walltime.errors import SettingsError, contain, contained, guarded
from walltime.export.exporter import Exporter
from walltime.propagation import propagation
from walltime.sampling import sampler, serving, switch_interval, tick
from walltime.settings import tls
from walltime.settings.environment import report
from walltime.settings.fields import read
from walltime.settings.settings import Settings
from walltime.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextvars import Token

    from opentelemetry.context import Context

_make_lock: Final = unpatched("_thread", "RLock")
_locks: Final[dict[int, Any]] = {}
"""By process: a fork inherits none, which another thread of its parent may hold."""
_pid = os.getpid()
_RESETTING: Final = -1
"""Instead of `_pid`."""
_settings: Settings | None = None
_exporter: Exporter | None = None
_retired: list[Exporter] = []
"""Those that `configure` has replaced and that may still count."""
_counted: Counter[str] = Counter()
"""What those counted that no longer do."""
_OFF: Final = Settings(enabled=False)


def _lock() -> Any:
    """Return the lock of what is in force: held for assignments alone, native under gevent, free on its own thread."""
    return _locks.setdefault(os.getpid(), _make_lock())


def _after_fork() -> None:
    """Reset the child's state, once. It only allocates: logging, joining or waiting can block the child."""
    global _pid  # noqa: PLW0603  # of this process
    with _lock():
        if _pid in (os.getpid(), _RESETTING):  # by another thread of a child that was forked outside of Python, or
            return  # this one: a signal handler or a destructor may come here, whose transaction is on no bill then
        _pid = _RESETTING
        try:
            _counted.clear()
            contained.clear()
            _retired.clear()
            transaction.after_fork()
            cpu.after_fork()
            ids.reseed()
            execution = inherited()
            if execution is not None:
                execution.transaction.duration_ns = 1  # its parent sends it
                close(execution.transaction)
                running.set(None)  # the child may serve other transactions, as in a process pool
                propagation.forget()
            sampler.install(0 if _settings is None else _settings.sample_hz, is_forked=True)
            if _exporter is not None:
                _exporter.begin()
        except Exception:  # only counted, see above
            contained["fork"] = contained.get("fork", 0) + 1
        _pid = os.getpid()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _off() -> Settings:
    """Keep the current settings; without any, switch measuring off."""
    global _settings  # noqa: PLW0603
    with _lock():
        _settings = _settings or _OFF
        return _settings


@guarded("configure", _off)
def configure(given: Mapping[str, Any], *, is_first: bool = False) -> Settings:
    """`walltime.configure` with a mapping. With `is_first`, settings that another thread has put in force stay."""
    global _settings, _exporter  # one set-up for a process
    try:
        values, unusable = read(Settings, os.environ, given)
        settings = Settings(**values)
        context_tls = tls.context(settings, given, unusable)
    except SettingsError:
        _off()  # else the next transaction would use the environment's settings, without those of the code
        raise
    made = Exporter(settings, VERSION, context_tls)
    with _lock():
        if is_first and _settings is not None:
            return _settings
        previous, _settings, _exporter = _exporter, settings, made
        if previous is not None:
            _retired.append(previous)
        sampler.install(settings.sample_hz if settings.enabled else 0)
    if previous is not None:
        previous.retire(made)
        _counts()
    report(settings, unusable)
    return settings


def _counts() -> Counter[str]:
    """Return the counts of all exporters of this process; of those that have ended, only the sums are kept."""
    with _lock():
        for each in [each for each in _retired if each.is_over]:
            _retired.remove(each)
            _counted.update(each.counts)
        counts = _counted.copy()
        for each in (*_retired, exporter()):
            counts.update(each.counters())
    return counts


def exporter() -> Exporter:
    """Return the current exporter; before `configure`, one with the settings of the environment."""
    global _exporter  # noqa: PLW0603
    in_force = settings()
    with _lock():
        if _exporter is None:  # `configure` failed, so nothing is measured
            _exporter = Exporter(in_force, VERSION, None)
        return _exporter


@guarded("settings", lambda: _OFF)
def settings() -> Settings:
    return configure({}, is_first=True) if _settings is None else _settings


def is_enabled() -> bool:
    """Say whether Walltime is switched on; 50 ns."""
    return (_settings or settings()).enabled


@guarded("flush", lambda: False)
def flush(timeout_s: float = 5.0) -> bool:
    """Send the queue now, for processes that end by `os._exit`; False after the timeout."""
    return True if _exporter is None else _exporter.flush(timeout_s)


@guarded("shutdown")
def shutdown() -> None:
    """Send the queue and stop; takes at most `exit_timeout_s`. Runs automatically at the interpreter's exit."""
    sampler.stop()
    if _exporter is not None:
        _exporter.shutdown()


atexit.register(shutdown)


@guarded("counters", dict)
def counters() -> dict[str, int]:
    """Return this process's counts: sent, lost, samples, calls outside of any transaction, failures of Walltime."""
    sent = {} if _exporter is None else _counts()
    outside = {f"outside_{library}": count for library, count in outside_calls.copy().items()}
    samples = {name: count for name, count in tick.counts.items() if count}
    return {**sent, **samples, **outside, **{f"failed_{where}": count for where, count in contained.items()}}


def notice_fork() -> None:
    """Begin anew in a process that was forked outside of Python, as in uWSGI."""
    if os.getpid() != _pid:
        _after_fork()


class Open:
    """A transaction in progress, with everything that is needed to close it and to restore the context."""

    __slots__ = ("_execution_token", "_holder", "_otel_token", "_parent", "_pid", "_usage", "shows_bill", "transaction")

    def __init__(self, name: str, kind: str, parent: Context | None, started_ns: int) -> None:
        """Make the transaction; it is not the current one before `enter`."""
        self._pid = os.getpid()
        if self._pid != _pid:  # a fork outside of Python, as in uWSGI
            _after_fork()
        caller = propagation.caller(parent)
        in_force = _settings or settings()
        ids = propagation.own_ids(caller, in_force.sample_probability)
        self.transaction = Transaction(name, kind, ids, 0 if caller is None else caller.span_id, started_ns, in_force)
        self.shows_bill = False
        """The response gets the bill so far (servers/request/server_timing.py)."""
        self._parent = parent
        self._holder: Exporter | None = None
        """The exporter that holds it after its response, until `finish`."""

    def enter(self, task: int = 0) -> None:
        """
        Make the transaction the current one, in Walltime and in OpenTelemetry.

        Args:
            task: the `id` of the asyncio or Trio task that serves it. Tasks share a thread, so CPU time is that of its
                steps (core/steps.py). Greenlets do too, and their CPU time is unknown and absent.
        """
        transaction = self.transaction
        transaction.owner = task
        settings = transaction.settings
        greenlet = cpu.greenlet_here()
        self._usage = None if task or greenlet is not None else cpu.begin(settings.cpu_wait)
        self._otel_token = propagation.enter(transaction, self._parent)
        home = get_ident() if greenlet is None else id(greenlet)
        self._execution_token: Token[ExecutionContext | None] = enter(transaction, home)
        if settings.sample_hz:
            serving.begin(transaction, is_first=switch_interval.begun(transaction))

    def resume(self, task: int = 0) -> None:
        """Make it the current one again, after `leave`. Others ran in between, so its CPU time is unknown."""
        self.enter(task)
        self._usage = None

    def finish(self) -> bool:
        """Close the transaction and leave it; return whether it was left. Never raises; a second call does nothing."""
        self.end()
        return self.leave()

    def end(self) -> None:
        """
        Close the transaction and hand it to the exporter. Never raises; a second call does nothing.

        Nobody is in it any more: what still has it is outside of any transaction (core/execution.py).
        """
        transaction = self.transaction
        try:
            if not transaction.duration_ns:
                close(transaction)  # first: no time after its response
                self._stop()
                if self._pid == _pid:  # otherwise it began before a fork, and the parent sends it
                    (_exporter or exporter()).submit(transaction)
            elif self._holder is not None:
                self._holder.release(transaction)
            elif self._pid == _pid and not transaction.is_over:  # holding it failed
                close(transaction)
                (_exporter or exporter()).submit(transaction)
        except Exception as ours:
            contain("finish", ours)

    def end_response(self) -> None:
        """
        End the transaction's duration: its response is over. Never raises; a second call does nothing.

        Its calls from now until `end` are counted apart, as after the response.
        """
        if self.transaction.duration_ns:
            return
        self._stop()
        try:
            if self._pid == _pid:
                holder = _exporter or exporter()
                holder.hold(self.transaction)
                self._holder = holder
        except Exception as ours:
            contain("finish", ours)

    def _stop(self) -> None:
        transaction = self.transaction
        transaction.duration_ns = clock() - transaction.started_ns or 1  # first: the bill needs it
        if transaction.settings.sample_hz:
            switch_interval.ended(transaction)
        try:
            if transaction.loop is not None:
                transaction.cpu_user_ns, transaction.cpu_system_ns = transaction.loop.stop()
            elif self._usage is not None and inherited() is transaction and get_ident() == transaction.home:
                (
                    transaction.cpu_user_ns, transaction.cpu_system_ns, transaction.peak_rss_growth_bytes,
                    transaction.schedstat, transaction.cpu_throttled_ns,
                ) = cpu.end(self._usage)  # fmt: skip
        except Exception as ours:  # contained: the request goes on
            contain("finish", ours)

    def leave(self) -> bool:
        """Restore what was current before, and return whether it did. Never raises; does nothing in another context."""
        try:
            if leave(self.transaction, self._execution_token):  # else OpenTelemetry's token is invalid here too
                propagation.leave(self.transaction, self._otel_token)
                return True
        except Exception as ours:
            contain("finish", ours)
        return False

"""
What can go wrong in the collector.

    CollectorError
    ├── SettingsRefused        a setting that would be unsafe or cannot work
    ├── DirectoryInUse         another process owns the directory
    ├── RequestRefused         what a sender sent is not taken; it carries the HTTP status
    ├── BadParameter           a question's parameter cannot be understood; the API answers 400
    ├── StatementRefused       SQL that the guard does not let through to the engine
    ├── TooManyQuestions       as much SQL runs and waits as may; ask again later
    ├── NotStored              a question is about what is not stored; the API answers 404
    ├── CommandFailed            a command asked and got no answer; it ends with status 1
    │   └── UsageError       because of what was asked; it ends with status 2
    ├── SpoolError
    │   ├── SpoolFull          nothing was written; the receiver answers 503
    │   ├── SegmentCorrupt     a file that is no segment; it goes to quarantine/
    │   └── SegmentUnknown     a segment of another version; it stays for the collector that wrote it
    └── EngineError
        ├── EngineUnavailable  it may heal: try again
        │   ├── EngineEnded    its process ended while it was asked
        │   └── EngineHung     it did not answer in time, and was killed to end what was asked
        ├── InsertRefused      the data itself was refused: trying again will not help
        ├── QueryFailed        the question was wrong, or over a limit
        └── MigrationFailed    the schema could not be brought up to date

Messages say where, what, and what now.
"""

from __future__ import annotations


class CollectorError(Exception):
    """Every error this package raises on purpose."""


class SettingsRefused(CollectorError):
    """A setting that would be unsafe or cannot work; the collector does not start."""


class DirectoryInUse(CollectorError):
    """Another process owns the directory; the lock goes with that process, so a crash never leaves one behind."""


class RequestRefused(CollectorError):
    """
    What a sender sent is not taken.

    Args:
        status: The HTTP status. Of those used, senders try again only after 503.
        reason: A word for the counters.
        message: What the sender's log should say.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class BadParameter(CollectorError):
    """A parameter of a question cannot be understood; nothing was asked. The API answers 400."""

    def __init__(self, where: str, what: str, what_now: str) -> None:
        super().__init__(f"{where}: {what}; {what_now}")
        self.where, self.what, self.what_now = where, what, what_now


class NotStored(CollectorError):
    """A question was understood, and there is nothing stored that could answer it. The API answers 404."""

    def __init__(self, where: str, what: str, what_now: str) -> None:
        super().__init__(f"{where}: {what}; {what_now}")
        self.where, self.what, self.what_now = where, what, what_now


class StatementRefused(CollectorError):
    """SQL from outside that the guard does not let through; nothing of it was run."""

    def __init__(self, what: str, what_now: str) -> None:
        super().__init__(f"{what}; {what_now}")
        self.what, self.what_now = what, what_now


class TooManyQuestions(CollectorError):
    """As many statements run and wait as may; nothing was run, and the same may be answered a little later."""


class CommandFailed(CollectorError):
    """A command understood the question and got no answer; the message is one sentence for people. Exit code 1."""


class UsageError(CommandFailed):
    """The collector refused what a command asked, as it would at every try. Exit code 2."""


class SpoolError(CollectorError):
    """The spool could not do what was asked."""


class SpoolFull(SpoolError):
    """The spool holds its limit. Nothing was written; the sender should try again later."""


class SegmentCorrupt(SpoolError):
    """A file that is no segment; it goes to quarantine/."""


class SegmentUnknown(SpoolError):
    """A segment that a collector of another version wrote; it stays where it is, and that one can load it."""


class EngineError(CollectorError):
    """ClickHouse, embedded or a server, did not do what was asked."""


class EngineUnavailable(EngineError):
    """The engine cannot now, and may again: the caller keeps its data and tries again."""


class EngineEnded(EngineUnavailable):
    """
    The embedded engine's process ended while it was asked; of what, only trying again can say.

    Args:
        was_killed: It was killed because something else that it was asked did not end.
    """

    def __init__(self, message: str, *, was_killed: bool = False) -> None:
        super().__init__(message)
        self.was_killed = was_killed


class EngineHung(EngineUnavailable):
    """The embedded engine did not answer this in time; it was killed, because nothing else would have ended it."""


class InsertRefused(EngineError):
    """The engine refused the data itself; the same data will be refused again."""


class QueryFailed(EngineError):
    """The query was wrong, or over one of the limits for queries."""


class MigrationFailed(EngineError):
    """A schema file could not be applied; files before it are applied and recorded."""

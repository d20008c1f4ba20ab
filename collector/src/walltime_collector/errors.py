"""
The errors of the collector. Their messages say where, what, and what now.

    CollectorError
    ├── SettingsRefused        a setting is unsafe or cannot work
    ├── DirectoryInUse         another process owns the directory
    ├── RequestRefused         an OTLP request is not accepted; it carries the HTTP status
    ├── BadParameter           a parameter of a query is invalid; the API answers 400
    ├── StatementRefused       the guard does not pass this SQL to the engine
    ├── TooManyQuestions       the query limiter is full; try again later
    ├── NotStored              what a query is about is not stored; the API answers 404
    ├── CommandFailed          a command has no result; exit code 1
    │   └── UsageError         because its parameters are wrong; exit code 2
    ├── SpoolError
    │   ├── SpoolFull          nothing was written; the receiver answers 503
    │   ├── SegmentCorrupt     a file that is no segment; it goes to quarantine/
    │   └── SegmentUnknown     a segment of another version; it stays for the collector that wrote it
    └── EngineError
        ├── EngineUnavailable  it may work later: try again
        │   ├── EngineEnded    its process ended during the request
        │   └── EngineHung     it did not respond in time, and was killed
        ├── InsertRefused      the data itself was refused: trying again will not help
        ├── QueryFailed        the query is wrong, or over a limit
        └── MigrationFailed    the schema could not be brought up to date
"""

from __future__ import annotations


class CollectorError(Exception):
    """Every error this package raises on purpose."""


class SettingsRefused(CollectorError):
    """A setting is unsafe or cannot work; the collector does not start."""


class DirectoryInUse(CollectorError):
    """Another process owns the directory. The lock ends with that process, also when it crashes."""


class RequestRefused(CollectorError):
    """
    An OTLP request is not accepted.

    Args:
        status: The HTTP status. Of those used, senders try again only after 503.
        reason: A word for the counters.
        message: For the sender's log.
    """

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


class _InParts(CollectorError):
    """An error whose three parts are also apart, for the API."""

    def __init__(self, where: str, what: str, what_now: str) -> None:
        super().__init__(f"{where}: {what}; {what_now}")
        self.where, self.what, self.what_now = where, what, what_now


class BadParameter(_InParts):
    """A parameter of a query is invalid; nothing was run. The API answers 400."""


class NotStored(_InParts):
    """What a valid query is about is not stored. The API answers 404."""


class StatementRefused(CollectorError):
    """The guard does not pass this SQL to the engine; nothing of it was run."""

    def __init__(self, what: str, what_now: str) -> None:
        super().__init__(f"{what}; {what_now}")
        self.what, self.what_now = what, what_now


class TooManyQuestions(CollectorError):
    """The maximum number of statements runs and waits; nothing was run, and the same may work a little later."""


class CommandFailed(CollectorError):
    """A command has no result; the message is one sentence. Exit code 1."""


class UsageError(CommandFailed):
    """The collector refused the parameters of a command, as it would at every try. Exit code 2."""


class SpoolError(CollectorError):
    """An operation of the spool failed."""


class SpoolFull(SpoolError):
    """The spool is at its limit. Nothing was written; the sender should try again later."""


class SegmentCorrupt(SpoolError):
    """A file that is no segment; it goes to quarantine/."""


class SegmentUnknown(SpoolError):
    """A segment of another version of the collector; it stays where it is, and that version can load it."""


class EngineError(CollectorError):
    """ClickHouse, embedded or a server, did not do what was requested."""


class EngineUnavailable(EngineError):
    """The engine does not work now and may later: the caller keeps its data and tries again."""


class EngineEnded(EngineUnavailable):
    """
    The embedded engine's process ended during the request; whether the request is the cause, only another try shows.

    Args:
        was_killed: It was killed because another request did not end.
    """

    def __init__(self, message: str, *, was_killed: bool = False) -> None:
        super().__init__(message)
        self.was_killed = was_killed


class EngineHung(EngineUnavailable):
    """The embedded engine did not respond in time; it was killed, because nothing else ends such a request."""


class InsertRefused(EngineError):
    """The engine refused the data itself; the same data will be refused again."""


class QueryFailed(EngineError):
    """The query is wrong, or over one of the limits for queries."""


class MigrationFailed(EngineError):
    """A schema file could not be applied; files before it are applied and recorded."""

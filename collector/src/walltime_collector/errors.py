"""
The errors of the collector. Their messages say where, what, and what now.

    CollectorError
    ├── SettingsRefused        a setting is unsafe or cannot work
    ├── DirectoryInUse         another process owns the directory; the lock ends with that process
    ├── RequestRefused         an OTLP request is not accepted; it carries the HTTP status
    ├── BadParameter           a parameter of a query is invalid; the API answers 400
    ├── StatementRefused       the guard does not pass this SQL to the engine
    ├── TooManyQuestions       the query limiter is full: nothing was run; try again later
    ├── NotStored              what a query is about is not stored; the API answers 404
    ├── CommandFailed          a command has no result; exit code 1
    │   └── UsageError         because its parameters are wrong; exit code 2
    ├── SpoolError
    │   ├── SpoolFull          it is at its limit; nothing was written; the receiver answers 503
    │   ├── SegmentCorrupt     a file that is no segment; it goes to quarantine/
    │   └── SegmentUnknown     a segment of another version; it stays for the collector that wrote it
    └── EngineError
        ├── EngineUnavailable  it may work later: the caller keeps its data and tries again
        │   ├── EngineEnded    its process ended during the request
        │   ├── EngineHung     it did not respond in time, and was killed
        │   └── EngineFull     the INSERT takes more memory or disk space than there is; a smaller one may succeed
        ├── InsertRefused      the data itself was refused: trying again will not help
        ├── QueryFailed        the query is wrong, or over a limit
        └── MigrationFailed    a schema file could not be applied, or a later version has applied more
"""

from __future__ import annotations


class CollectorError(Exception):
    """Every error this package raises on purpose."""


class SettingsRefused(CollectorError): ...


class DirectoryInUse(CollectorError): ...


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


class BadParameter(_InParts): ...


class NotStored(_InParts): ...


class StatementRefused(CollectorError):
    def __init__(self, what: str, what_now: str) -> None:
        super().__init__(f"{what}; {what_now}")
        self.what, self.what_now = what, what_now


class TooManyQuestions(CollectorError): ...


class CommandFailed(CollectorError): ...


class UsageError(CommandFailed): ...


class SpoolError(CollectorError): ...


class SpoolFull(SpoolError): ...


class SegmentCorrupt(SpoolError): ...


class SegmentUnknown(SpoolError): ...


class EngineError(CollectorError): ...


class EngineUnavailable(EngineError): ...


class EngineEnded(EngineUnavailable):
    """
    The embedded engine's process ended during the request; whether the request is the cause, only another try shows.

    Args:
        was_killed: It was killed because another request did not end.
    """

    def __init__(self, message: str, *, was_killed: bool = False) -> None:
        super().__init__(message)
        self.was_killed = was_killed


class EngineHung(EngineUnavailable): ...


class EngineFull(EngineUnavailable): ...


class InsertRefused(EngineError): ...


class QueryFailed(EngineError): ...


class MigrationFailed(EngineError): ...

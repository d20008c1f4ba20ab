"""
Transactions as lines of JSON, in a file or on stderr, beside or instead of OTLP: docs/logs.md has the schema.

A line says what is sent to a collector, attribute by attribute: it is made from the encoded spans themselves, so
nothing can be in it that redaction took out, and nothing is missing. Export thread only.
"""

from __future__ import annotations

import json
import math
import os
import struct
import sys
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Final

from walltime.errors import warn
from walltime.export.protobuf import fields

MAX_LINE_BYTES: Final = 1 << 20
"""A longer line is written without its calls, then with its texts cut at CUT_CHARS, and says so."""
CUT_CHARS: Final = 256
STDERR: Final = "-"

_KINDS: Final = {1: "internal", 2: "server", 3: "client", 4: "producer", 5: "consumer"}


class JsonLines:
    """
    Appends to one file, a whole line at a time, so that processes may share it.

    The file is made readable by its owner alone. A file that logrotate has moved away or deleted is opened anew;
    `copytruncate` works as well. A line that cannot be written is lost and counted (`file_lost`).
    """

    def __init__(self, path: str, resource: bytes, counts: dict[str, int]) -> None:
        """
        Args:
            path: of the file, or `-` for stderr.
            resource: the process, as an encoded opentelemetry.proto.resource.v1.Resource.
        """
        self._path = path
        self._resource = dict(_attribute(value) for number, value in fields(resource) if number == 1)
        self._counts = counts
        self._file: int | None = None
        self._identity = (0, 0)
        self._is_torn = False

    def write(self, spans: bytes) -> None:
        """Append a transaction's encoded spans, its own first, as a line."""
        try:
            self._append(as_line(spans, self._resource))
        except (OSError, ValueError, AttributeError) as error:  # also a stderr that is closed, or that is none
            self._counts["file_lost"] = self._counts.get("file_lost", 0) + 1
            place = "stderr" if self._path == STDERR else self._path
            warn("json lines", "walltime: cannot write to %s (%s); transactions are lost there", place, error)
        else:
            self._counts["file_written"] = self._counts.get("file_written", 0) + 1

    def close(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def _append(self, line: bytes) -> None:
        if self._path == STDERR:
            sys.stderr.write(line.decode())
            sys.stderr.flush()
            return
        file = self._opened()
        if self._is_torn:  # the end of a line that did not fit on the disk
            line = b"\n" + line
        written = os.write(file, line)  # one write: with O_APPEND the lines of several processes stay whole
        while written < len(line):
            self._is_torn = True
            written += os.write(file, line[written:])
        self._is_torn = False

    def _opened(self) -> int:
        if self._file is not None:
            try:
                now = Path(self._path).stat()
            except FileNotFoundError:
                self.close()
            else:
                if (now.st_dev, now.st_ino) != self._identity:
                    self.close()
        if self._file is None:
            # O_NONBLOCK: a pipe that nobody reads must not stop the export.
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
            self._file = os.open(self._path, flags, 0o600)
            opened = os.fstat(self._file)
            self._identity = (opened.st_dev, opened.st_ino)
            self._is_torn = False
        return self._file


def as_line(spans: bytes, resource: dict[str, Any]) -> bytes:
    """Return the line of one transaction: ASCII, with its newline at the end and nowhere else."""
    root, *calls = [_span(value) for _, value in fields(spans)]
    started_ns = root.pop("started_ns")
    for call in calls:
        call["offset_ns"] = call.pop("started_ns") - started_ns
        for known in ("trace_id", "kind", "parent_span_id"):
            call.pop(known, None)
    document = {"started_at": _iso(started_ns), **root, "resource": resource}
    if calls:
        document["calls"] = calls
    line = _dumped(document)
    if len(line) > MAX_LINE_BYTES and calls:
        document |= {"calls": [], "calls_left_out": len(calls)}
        line = _dumped(document)
    if len(line) > MAX_LINE_BYTES:
        document |= {"attributes": {key: _cut(value) for key, value in root["attributes"].items()}, "is_cut": True}
        line = _dumped(document)
    return line


def _dumped(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _cut(value: Any) -> Any:
    if isinstance(value, list):
        return [_cut(each) for each in value]
    return value[:CUT_CHARS] if isinstance(value, str) else value


def _span(message: bytes) -> dict[str, Any]:
    span: dict[str, Any] = {"is_error": False}
    attributes: dict[str, Any] = {}
    started_ns = ended_ns = 0
    for number, value in fields(message):
        if number == 9:
            key, attribute = _attribute(value)
            attributes[key] = attribute
        elif number in _IDS:
            span[_IDS[number]] = value.hex()
        elif number == 5:
            span["name"] = value.decode("utf-8", "replace")
        elif number == 6:
            span["kind"] = _KINDS.get(value, "internal")
        elif number == 7:
            started_ns = value
        elif number == 8:
            ended_ns = value
        elif number == 15:
            span["is_error"] = dict(fields(value)).get(3) == 2
    return {**span, "started_ns": started_ns, "duration_ns": ended_ns - started_ns, "attributes": attributes}


_IDS: Final = {1: "trace_id", 2: "span_id", 4: "parent_span_id"}


def _attribute(message: bytes) -> tuple[str, Any]:
    found = dict(fields(message))
    return found[1].decode("utf-8", "replace"), _value(found.get(2, b""))


def _value(message: bytes) -> Any:
    for number, value in fields(message):
        if number == 1:
            return value.decode("utf-8", "replace")
        if number == 2:
            return bool(value)
        if number == 3:
            return value - (1 << 64) if value >> 63 else value
        if number == 4:
            (double,) = struct.unpack("<d", value.to_bytes(8, "little"))
            return double if math.isfinite(double) else str(double)
        if number == 5:
            return [_value(item) for _, item in fields(value)]
    return None


def _iso(ns: int) -> str:
    seconds, rest = divmod(ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"

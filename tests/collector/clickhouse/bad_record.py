"""A record that no database takes."""

from __future__ import annotations

from walltime_collector.spool.segment import Record

GARBAGE = Record(1, 1, b"\x0a\x05\x12\x03\x12\x7f\x00")

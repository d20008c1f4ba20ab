"""A request body that no database takes."""

from __future__ import annotations

GARBAGE = b"\x0a\x05\x12\x03\x12\x7f\x00"

"""Whether a statement that is still being read ends inside a literal or a comment; looks at each byte once."""

from __future__ import annotations

import re

_OPENS = re.compile(rb"'|\"|`|/\*|\#|--(?=[ \t\n])")
_ENDS = {
    b"'": re.compile(rb"(?:[^'\\]|\\.)*'", re.DOTALL),
    b'"': re.compile(rb'(?:[^"\\]|\\.)*"', re.DOTALL),
    b"`": re.compile(rb"[^`]*`"),
    b"/*": re.compile(rb".*?\*/", re.DOTALL),
    b"#": re.compile(rb"[^\n]*\n"),
    b"--": re.compile(rb"[^\n]*\n"),
}
_OF_A_LINE = (b"#", b"--")


class Quotes:
    """What was opened last in a text, as MySQL reads it by default."""

    def __init__(self) -> None:
        self._opened = b""
        self._escape = b""

    def read(self, piece: bytes) -> None:
        """Go on with the next piece of the text."""
        piece, self._escape = self._escape + piece, b""
        at = 0
        while True:
            if not self._opened:
                opens = _OPENS.search(piece, at)
                if opens is None:
                    return
                self._opened, at = opens[0], opens.end()
            ends = _ENDS[self._opened].match(piece, at)
            if ends is None:
                if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
                    self._escape = b"\\"  # whatever follows is escaped
                return
            self._opened, at = b"", ends.end()

    @property
    def is_open(self) -> bool:
        """Whether the text ends inside a literal, a quoted name or a comment of several lines."""
        return bool(self._opened) and self._opened not in _OF_A_LINE

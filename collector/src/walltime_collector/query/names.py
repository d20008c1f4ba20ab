"""Names of transactions, services and sources: how they are printed, and what a typed or copied text means."""

from __future__ import annotations

import json
import re
import shlex
import sys
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

from ..format import printable

METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY", "WEBSOCKET"]
)
"""A request without a known route has its method as its name."""
NO_ROUTE = "(no route)"
NO_NAME = "(no name)"

_CUT = re.compile(r"…|\.\.\.")
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}
_NUMBERS = re.compile(r"(?<!\s)\s+(?:<0\.1|\d[\d,.]*) %(?:\s.*)?$", re.DOTALL)
"""The numbers of a row that was copied from `walltime top`, to the end of the row."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\\'\"/nrt]))")
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_MAX_FORMS = 64
_MAX_CUTS = 16
_MAX_CHARS = 16_384
_SOURCES = {"slow_log": "the slow log", "performance_schema": "performance_schema"}


def read_from(sources: Collection[str]) -> str:
    """Where the figures of a database's statements come from: `the slow log`, of `source` in slow_queries."""
    return " and ".join(name for source, name in _SOURCES.items() if source in sources)


@dataclass(frozen=True)
class Kind:
    """A stored name, and the service it belongs to."""

    service: str
    name: str


def shown(name: str) -> str:
    """A name as it is printed: on one line, a method alone as `GET (no route)`."""
    plain = printable(name)
    return f"{plain} {NO_ROUTE}" if plain in METHODS else plain or NO_NAME


def find(written: str, known: Sequence[Kind]) -> list[Kind]:
    """
    All kinds that `written` can mean: one when it is unique, none when no name is like it.

    The first of these rules that matches a name decides: the name itself; the name as it is printed, in any quotes,
    escaped, with its service; its beginning, with or without `…` behind it; the same without regard to upper and lower
    case, and with `?` for what a terminal could not show.
    """
    forms = list(_forms(written[:_MAX_CHARS]))
    for form in forms:
        if exact := [kind for kind in known if kind.name == form]:
            return exact
    bare = [form for form in dict.fromkeys(map(_bare, forms)) if form]
    pairs = [(key, kind) for kind in known for key in _keys(kind)] if bare else []
    for alike in (str, str.casefold, _ascii):
        index = _Index(pairs, alike)
        for look in (index.equal, index.beginning, index.cut):
            for form in bare:
                if kinds := look(alike(form)):
                    return kinds
    return []


def quoted_name(kind: Kind, known: Sequence[Kind], *, with_service: bool = False) -> str:
    """The name quoted for a shell, so that `find` returns this kind and no other of the known ones."""
    name = f"{shown(kind.name)}  {printable(kind.service)}" if with_service else shown(kind.name)
    mine = [each for each in known if each.name == kind.name and (not with_service or each.service == kind.service)]
    if find(name, known) != mine:
        name = json.dumps(kind.name)
    return f"'{name}'" if "'" not in name else shlex.quote(name)


def listed(kinds: Sequence[Kind], known: Sequence[Kind], most: int = 10) -> str:
    """Kinds in a sentence, each quoted for `find`."""
    with_service = len({kind.service for kind in kinds}) > 1
    names = ", ".join(quoted_name(kind, known, with_service=with_service) for kind in kinds[:most])
    return f"{names} and {len(kinds) - most} more" if len(kinds) > most else names


class _Index:
    """All keys in order, so that those with a common beginning stand together."""

    def __init__(self, pairs: Iterable[tuple[str, Kind]], alike: Callable[[str], str]) -> None:
        self._pairs = sorted(((alike(key), kind) for key, kind in pairs), key=lambda pair: pair[0])
        self._keys = [key for key, _ in self._pairs]
        self._alike = alike

    def equal(self, form: str) -> list[Kind]:
        """Kinds with this key."""
        return self._kinds(bisect_left(self._keys, form), bisect_right(self._keys, form))

    def beginning(self, form: str) -> list[Kind]:
        """Kinds with a key that begins with this text."""
        return self._kinds(bisect_left(self._keys, form), bisect_left(self._keys, form + chr(sys.maxunicode)))

    def cut(self, form: str) -> list[Kind]:
        """Kinds whose key begins with the text before an ellipsis; the text behind it may be the service."""
        for cut in reversed(list(_CUT.finditer(form))[-_MAX_CUTS:]):
            behind = _CUT.split(form[cut.end() :], 1)[0]
            kinds = self.beginning(form[: cut.start()]) if cut.start() else []
            if mine := [kind for kind in kinds if self._alike(_bare(kind.service)).startswith(behind)]:
                return mine
        return []

    def _kinds(self, start: int, end: int) -> list[Kind]:
        return list(dict.fromkeys(kind for _, kind in self._pairs[start:end]))


def _keys(kind: Kind) -> set[str]:
    name, service = _bare(shown(kind.name)), _bare(kind.service)
    return {name, _bare(kind.name), name + service, service + name, f"{service}:{name}"} - {""}


def _bare(text: str) -> str:
    """Without spaces: a terminal breaks lines anywhere, and control characters are printed as spaces."""
    return "".join(unicodedata.normalize("NFD", printable(text)).split())


def _forms(written: str) -> Iterator[str]:
    """The text itself first, then what it becomes when its quotes and escapes are read."""
    forms = [written]
    for text in forms:  # it grows meanwhile
        if len(forms) >= _MAX_FORMS:
            break
        for read in (_without_quotes, _unescaped, _shell, unquote_plus, _without_numbers, str.strip):
            if (form := read(text)) not in forms:
                forms.append(form)
    yield from forms


def _without_quotes(text: str) -> str:
    plain = text.strip()
    return plain[1:-1] if len(plain) > 1 and _QUOTES.get(plain[0]) == plain[-1] else text


def _unescaped(text: str) -> str:
    """A name read back from Python's repr or from JSON, with its quotes or without."""

    def letter(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2] or escape[3]
        if code:
            return chr(int(code, 16)) if int(code, 16) < 0x110000 else escape[0]
        return _CONTROLS.get(escape[4], escape[4])

    plain = _ESCAPE.sub(letter, text)
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON writes 😀 as two


def _shell(text: str) -> str:
    try:
        words = shlex.split(text) if "'" in text or '"' in text else []
    except ValueError:
        return text
    return words[0] if len(words) == 1 else text


def _without_numbers(text: str) -> str:
    return _NUMBERS.sub("", text)


def _ascii(text: str) -> str:
    return unicodedata.normalize("NFC", text).encode("ascii", "replace").decode().casefold()

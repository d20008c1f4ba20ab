"""How names of transactions and services are shown, and how the name that somebody typed or copied is found again."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote_plus

from ..format import printable

METHODS = frozenset(
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY", "WEBSOCKET"]
)
"""A request whose route nobody knew has its method for a name."""
NO_ROUTE = "(no route)"
NO_NAME = "(no name)"

_CUT = re.compile(r"…|\.\.\.")
_QUOTES = {"'": "'", '"': '"', "`": "`", "“": "”", "‘": "’", "«": "»", "„": "“"}
_NUMBERS = re.compile(r"\s+(?:<0\.1|\d[\d,.]*) %(?:\s.*)?$", re.DOTALL)
"""Where the numbers begin in a row that was copied whole from `walltime top`."""
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\\'\"/nrt]))")
_MEANS = {"n": "\n", "r": "\r", "t": "\t"}
_MOST_FORMS = 64


@dataclass(frozen=True)
class Kind:
    """A name that is stored, and the service it belongs to."""

    service: str
    name: str


def shown(name: str) -> str:
    """A name as it is printed: on one line, and `GET (no route)` instead of the method alone."""
    plain = printable(name)
    return f"{plain} {NO_ROUTE}" if plain in METHODS else plain or NO_NAME


def find(written: str, known: Sequence[Kind]) -> list[Kind]:
    """
    All kinds that `written` can mean: one when it is unique, none when it is like no name.

    The first of these that fits any name decides: the name itself; the name as it is printed, in any quotes, escaped,
    with its service; its beginning, with or without `…` behind it; the same in other letters (upper and lower case,
    or with `?` for what a terminal could not show).
    """
    forms = list(_forms(written))
    for form in forms:
        if exact := [kind for kind in known if kind.name == form]:
            return exact
    bare = [form for form in dict.fromkeys(map(_bare, forms)) if form]
    pairs = [(key, kind) for kind in known for key in _keys(kind)] if bare else []
    for alike in (str, str.casefold, _ascii):
        index = _Index(pairs, alike)
        for look in (index.equal, index.beginning, index.cut):
            for form in bare:
                if found := look(alike(form)):
                    return found
    return []


def quoted(kind: Kind, known: Sequence[Kind], *, with_service: bool = False) -> str:
    """The name as a shell passes it on and `find` understands it: it means no other of the known kinds."""
    name = f"{shown(kind.name)}  {printable(kind.service)}" if with_service else shown(kind.name)
    mine = [each for each in known if each.name == kind.name and (not with_service or each.service == kind.service)]
    if find(name, known) != mine:
        name = json.dumps(kind.name)
    return f"'{name}'" if "'" not in name else shlex.quote(name)


def listed(kinds: Sequence[Kind], known: Sequence[Kind], most: int = 10) -> str:
    """Kinds in a sentence, each as `find` takes it back."""
    with_service = len({kind.service for kind in kinds}) > 1
    said = ", ".join(quoted(kind, known, with_service=with_service) for kind in kinds[:most])
    return f"{said} and {len(kinds) - most} more" if len(kinds) > most else said


class _Index:
    """All keys in order, so that those with a common beginning stand together."""

    def __init__(self, pairs: Iterable[tuple[str, Kind]], alike: Callable[[str], str]) -> None:
        self._pairs = sorted(((alike(key), kind) for key, kind in pairs), key=lambda pair: pair[0])
        self._keys = [key for key, _ in self._pairs]
        self._alike = alike

    def equal(self, form: str) -> list[Kind]:
        """Kinds with this very key."""
        return self._from(form, lambda key: key == form)

    def beginning(self, form: str) -> list[Kind]:
        """Kinds with a key that begins like this."""
        return self._from(form, lambda key: key.startswith(form))

    def cut(self, form: str) -> list[Kind]:
        """Kinds whose key begins with what stands before an ellipsis; behind it may be the service, cut or whole."""
        for cut in reversed(list(_CUT.finditer(form))):
            behind = _CUT.split(form[cut.end() :])[0]
            found = self.beginning(form[: cut.start()]) if cut.start() else []
            if mine := [kind for kind in found if self._alike(_bare(kind.service)).startswith(behind)]:
                return mine
        return []

    def _from(self, first: str, fits: Callable[[str], bool]) -> list[Kind]:
        found: dict[Kind, None] = {}
        for at in range(bisect_left(self._keys, first), len(self._keys)):
            if not fits(self._keys[at]):
                break
            found[self._pairs[at][1]] = None
        return list(found)


def _keys(kind: Kind) -> set[str]:
    name, service = _bare(shown(kind.name)), _bare(kind.service)
    return {name, _bare(kind.name), name + service, service + name, f"{service}:{name}"} - {""}


def _bare(text: str) -> str:
    """Without blanks: terminals break lines where they like, and control characters are shown as blanks."""
    return "".join(unicodedata.normalize("NFD", printable(text)).split())


def _forms(written: str) -> Iterator[str]:
    """What may have been copied: the text itself first, then what it says when its quotes and escapes are read."""
    found = {written: None}
    waiting = [written]
    while waiting and len(found) < _MOST_FORMS:
        text = waiting.pop(0)
        for read in (_without_quotes, _unescaped, _shell, unquote_plus, _without_numbers, str.strip):
            form = read(text)
            if form not in found:
                found[form] = None
                waiting.append(form)
    yield from found


def _without_quotes(text: str) -> str:
    plain = text.strip()
    return plain[1:-1] if len(plain) > 1 and _QUOTES.get(plain[0]) == plain[-1] else text


def _unescaped(text: str) -> str:
    """What Python's repr, and JSON, make of a name, read back; with its quotes or without."""

    def letter(escape: re.Match[str]) -> str:
        code = escape[1] or escape[2] or escape[3]
        if code:
            return chr(int(code, 16)) if int(code, 16) < 0x110000 else escape[0]
        return _MEANS.get(escape[4], escape[4])

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

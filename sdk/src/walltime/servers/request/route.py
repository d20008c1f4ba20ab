"""
A framework's route as a template, `/product/{id}`: OpenTelemetry's `http.route`.

    /product/<int:id>                                 Django, Flask         /product/{id}
    /static/{path:path}                               Starlette             /static/{path}
    ^old/(?P<year>\\d{4})/(?P<slug>[\\w-]+(/[\\w-]+)*)/?$  Django's re_path      /old/{year}/{slug}

An unnamed part of a regular expression is `{}`. Optional parts stay, except single characters. `named` takes all of
these notations and those of others (`:id`, `<id:int>`, `*`), for the names that an application gives.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MAX_ROUTE_CHARS: Final = 2000
_ANY: Final = "{}"

_CONVERTER: Final = re.compile(r"<(?:[A-Za-z_][\w.]*(?:\([^<>]*\))?:)?([A-Za-z_]\w*)>")
"""`<name>`, `<int:name>`, `<any(a, b):name>`: Django and Werkzeug."""
_BRACED: Final = re.compile(r"\{([A-Za-z_]\w*):[^{}]*(?:\{[^{}]*\}[^{}]*)*\}")
"""`{path:path}`, `{year:\\d{4}}`: Starlette and aiohttp."""
_NAMED: Final = re.compile(r"\(\?P<(\w+)>")
_QUANTIFIER: Final = re.compile(r"(?:[*+?]|\{\d*(?:,\d*)?\})[?+]?")
_ASSERTION: Final = re.compile(r"\?(?:[=!#]|<[=!])")
_FLAGS: Final = re.compile(r"\?[a-zA-Z-]*(:|\)|$)")
_TEMPLATED: Final = re.compile(r"\{\w*\}")
_ROUTE: Final = re.compile(r"((?:[A-Z_]+ )?)([/^].*)", re.DOTALL)
_SPECIAL: Final = re.compile(r"[<:(*\\\[^$]")
_REGEX: Final = re.compile(r"[\\^$\[]|\(\?|[.)][*+]|[*+]\)")
_NAME_FIRST: Final = re.compile(
    r"<([A-Za-z_]\w*):\w+:[^<>]*>"
    r"|<(?!(?:any|float|int|path|slug|str|string|uuid):)([A-Za-z_]\w*)"
    r":(?:alpha|ext|float|int|path|re|regex|slug|str|string|uuid|ymd)>"
)
"""`<id:int>`, `<id:re:[a-z]+>`: Bottle and Sanic."""
_COLON: Final = re.compile(r"(?<=[/.-]):([A-Za-z_]\w*)(?:\([^()]*\))?\??")
"""`:id`, `:id(\\d+)`, `:id?`: Express, Rails and others."""
_STAR: Final = re.compile(r"\*+((?<=/\*)[A-Za-z_]\w*)?")
"""`*`, `**`, `*path`."""
_LITERAL: Final = re.compile(r"[^\\^$()\[\]|*+?.{}<>]+")


@lru_cache(maxsize=4096)
def simplified(route: str) -> str:
    """Return a Flask, Starlette or aiohttp route with `{name}` for each parameter. Cached by route."""
    return _BRACED.sub(r"{\1}", _CONVERTER.sub(r"{\1}", route[:MAX_ROUTE_CHARS]))


@lru_cache(maxsize=4096)
def from_django(route: str) -> str:
    """Return a Django route, whose parts are paths or regular expressions, as a template. Cached by route."""
    route = _CONVERTER.sub(_protected, route[:MAX_ROUTE_CHARS])
    if not any(letter in route for letter in "^$([\\|"):  # paths only: no character is special
        return route
    try:
        converted, _ = _convert(route, 0)
    except RecursionError:  # hundreds of nested groups
        return _ANY
    return re.sub(r"(?:\{\}){2,}", _ANY, converted)


@lru_cache(maxsize=4096)
def named(name: str) -> str:
    """
    Return a name that an application gives, as a template if it is a route, `GET /product/<int:id>`. Cached by name.

    A route begins with `/`, perhaps after a method, and has no space. Other names stay as they are.
    """
    matched = _ROUTE.fullmatch(name)
    if matched is None or _SPECIAL.search(name) is None:
        return name
    method, route = matched[1], matched[2][:MAX_ROUTE_CHARS]
    route = _NAME_FIRST.sub(r"{\1\2}", re.sub(r"\(\?<(?=[A-Za-z_])", "(?P<", route))
    route = _COLON.sub(r"{\1}", _BRACED.sub(r"{\1}", _CONVERTER.sub(_protected, route)))
    if re.search(r"\s", route):
        return name
    if _REGEX.search(route):
        route = "/" + from_django(route).lstrip("/")
    return method + _STAR.sub(lambda star: f"{{{star[1] or ''}}}", route)


def _protected(match: re.Match[str]) -> str:
    """Return a converter's name in braces, but leave `(?P<name>`: it is a group."""
    start = match.start()
    return match[0] if match.string[max(0, start - 3) : start] == "(?P" else f"{{{match[1]}}}"


def _convert(pattern: str, at: int) -> tuple[str, int]:
    """Return the template of a regular expression from `at` to the end of its group, and the end's position."""
    parts: list[str] = []
    while at < len(pattern) and pattern[at] != ")":
        letter = pattern[at]
        literal = _LITERAL.match(pattern, at)
        if literal is not None:  # its last character may have a quantifier
            end = literal.end()
            parts += [literal[0][:-1], literal[0][-1]]
        elif letter == "\\":
            part, end = _escaped(pattern, at)
            parts.append(part)
        elif letter == "[":
            parts.append(_ANY)
            end = _class_end(pattern, at)
        elif letter == "(":
            part, end = _group(pattern, at)
            parts.append(part)
        elif letter == "{" and (braced := _TEMPLATED.match(pattern, at)) is not None:
            parts.append(braced[0])  # a converter of a path
            end = braced.end()
        else:
            parts.append("" if letter in "^$" else letter)
            end = at + 1
        at = end
        quantifier = _QUANTIFIER.match(pattern, at)
        if quantifier is not None and parts:
            if parts[-1] == "." and pattern[end - 1] == "." and pattern[end - 2 : end] != "\\.":
                parts[-1] = _ANY
            elif len(parts[-1]) == 1 and quantifier[0][0] in "?*":
                parts[-1] = ""
            at = quantifier.end()
    return "".join(parts), at


def _escaped(pattern: str, at: int) -> tuple[str, int]:
    letter = pattern[at + 1 : at + 2]
    if letter in set("AZzbBG"):
        return "", at + 2
    return (_ANY if letter.isalnum() else letter), at + 2


def _class_end(pattern: str, at: int) -> int:
    at += 1
    if pattern[at : at + 1] == "^":
        at += 1
    if pattern[at : at + 1] == "]":
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        at += 2 if pattern[at] == "\\" else 1
    return min(at + 1, len(pattern))


def _group(pattern: str, at: int) -> tuple[str, int]:
    end = _group_end(pattern, at)
    named = _NAMED.match(pattern, at)
    if named is not None:
        return f"{{{named[1]}}}", end
    inside = pattern[at + 1 : end]
    if inside.startswith("?P="):
        return f"{{{inside[3:-1]}}}", end
    if _ASSERTION.match(inside):
        return "", end
    is_capturing = not inside.startswith("?")
    start = at + 1
    if not is_capturing:
        flags = _FLAGS.match(inside)
        if flags is None:  # an atomic group, a condition
            return _ANY, end
        if flags[1] != ":":
            return "", end
        start += flags.end()
    content, _ = _convert(pattern, start)
    if "|" in content or (is_capturing and not _NAMED.search(inside)):
        return _ANY, end
    repeats = pattern[end : end + 1] in {"*", "+", "{"}
    return (_ANY if repeats and not _NAMED.search(inside) else content), end


def _group_end(pattern: str, at: int) -> int:
    depth = 0
    while at < len(pattern):
        letter = pattern[at]
        if letter == "\\":
            at += 1
        elif letter == "[":
            at = _class_end(pattern, at) - 1
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return len(pattern)

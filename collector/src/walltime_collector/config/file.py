"""Reads the settings: the command line wins over the environment, that over the file, and that over the defaults."""

from __future__ import annotations

import difflib
import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli
from pydantic import SecretStr, ValidationError

from ..errors import SettingsRefused
from .neighbours import NEIGHBOURS, is_of_others
from .settings import Settings

FILE = "walltime.toml"
_PREFIX = "WALLTIME_"
_MASK = "********"


@dataclass(frozen=True)
class Configuration:
    """The settings, and the source of those that are not defaults: `--http`, `WALLTIME_HTTP`, or the file."""

    settings: Settings
    sources: Mapping[str, str]


def configure(options: Mapping[str, Any], config: Path | None) -> Configuration:
    """
    Combine all sources. pydantic-settings does so too, but it does not report the source of a value.

    Args:
        options: From the command line, by the names of the settings.
        config: The file; without it, that of WALLTIME_CONFIG, or the first that exists of ./walltime.toml,
            ~/.config/walltime/walltime.toml and /etc/walltime/walltime.toml.

    Raises:
        SettingsRefused: The file cannot be read or trusted, or a setting is unknown or has an invalid value.
    """
    path = config or _find()
    in_file = {} if path is None else _read(path)
    # pydantic ignores the case of a variable
    upper = {variable.upper(): variable for variable in sorted(os.environ, reverse=True)}
    in_environment = {name: upper.get(_PREFIX + name.upper()) for name in Settings.model_fields}
    sources = dict.fromkeys(in_file, str(path))
    sources |= {name: variable for name, variable in in_environment.items() if variable is not None}
    sources |= {name: f"--{name.replace('_', '-')}" for name in options}
    where = {name: f"{source}: {name}" if source == str(path) else source for name, source in sources.items()}
    values = {name: value for name, value in in_file.items() if in_environment[name] is None} | dict(options)
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        # the value may be a secret: only the reason is repeated
        raise SettingsRefused(f"{where.get(name, name)}: {first['msg'].removeprefix('Value error, ')}") from None
    settings.sources.update(where)
    return Configuration(settings, sources)


def misspelled() -> Iterator[tuple[str, str]]:
    """Variables that look like a setting and are none, each with the one that is probably meant, or empty."""
    own = {_PREFIX + name.upper() for name in Settings.model_fields}
    for variable in sorted(os.environ):
        name = variable.upper()
        if name.startswith(_PREFIX) and name not in own | NEIGHBOURS and not is_of_others(name, os.environ):
            candidates = [known.removeprefix(_PREFIX) for known in sorted(own | NEIGHBOURS - {"WALLTIME_CRASHPOINT"})]
            closest = _closest(name.removeprefix(_PREFIX), candidates)
            yield variable, _PREFIX + closest if closest else ""


def shown(configuration: Configuration) -> str:
    """The settings as TOML, each with its source; a secret is masked, an unset one is a comment."""
    lines = []
    for name, field in Settings.model_fields.items():
        if name == "crashpoint":
            continue
        value = getattr(configuration.settings, name)
        if isinstance(value, SecretStr):
            value = _MASK if value.get_secret_value() else ""
        source = configuration.sources.get(name, "default")
        if value is None or (value == "" and field.default != ""):
            lines.append(f"# {name} is not set")
        else:
            lines.append(f"{name} = {_toml(value)}  # {source}")
    return "\n".join(lines) + "\n"


def _find() -> Path | None:
    if named := os.environ.get("WALLTIME_CONFIG"):
        return Path(named)
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
    places = (Path(FILE), home / "walltime" / FILE, Path("/etc/walltime") / FILE)
    return next((place for place in places if place.exists()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        status = path.stat()
        document = tomli.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsRefused(f"{path}: cannot be read: {error.strerror}; name another file with --config") from error
    except (ValueError, RecursionError) as error:  # also invalid UTF-8, and numbers without end
        raise SettingsRefused(f"{path}: not TOML: {error}; write name = value, texts in quotes") from error
    if status.st_mode & stat.S_IWOTH or status.st_uid not in (0, os.geteuid()):
        raise SettingsRefused(
            f"{path}: others can write it, and it controls where data goes; it must belong to you or root: chmod o-w it"
        )
    for name, value in document.items():
        if name not in Settings.model_fields:
            closest = _closest(name.lower().replace("-", "_"), Settings.model_fields)
            hint = f"is {closest!r} meant?" if closest else "docs/settings.md lists them, and so does --print-config"
            raise SettingsRefused(f"{path}: there is no setting {name!r}; {hint}")
        if isinstance(value, dict):
            raise SettingsRefused(f"{path}: {name} is a table; settings are plain values")
        is_secret = isinstance(Settings.model_fields[name].default, SecretStr)
        if is_secret and status.st_mode & (stat.S_IRGRP | stat.S_IROTH):
            raise SettingsRefused(
                f"{path}: {name} is a secret, and others can read this file; chmod 600 it, or use {name}_file"
            )
    return document


def _closest(name: str, candidates: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, list(candidates), 1, 0.7)), "")


def _toml(value: object) -> str:
    """JSON is valid TOML for all types of settings; what a terminal might interpret is escaped."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return "".join(letter if letter.isprintable() else f"\\U{ord(letter):08x}" for letter in text)

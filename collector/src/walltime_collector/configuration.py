"""Where the settings come from: the command line, before the environment, before a file, before the defaults."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli
from pydantic import SecretStr, ValidationError

from .errors import SettingsRefused
from .settings import Settings

FILE = "walltime.toml"
_MASK = "********"
_ALIKE = 0.7


@dataclass(frozen=True)
class Configuration:
    """The settings in force, and who said those that are not defaults: `--http`, `WALLTIME_HTTP`, or the file."""

    settings: Settings
    sources: Mapping[str, str]


def configure(said: Mapping[str, Any], config: Path | None) -> Configuration:
    """
    Put together what was said.

    Args:
        said: Of the command line, by the names of the settings.
        config: The file to read; without one, that of WALLTIME_CONFIG, or the first that exists of ./walltime.toml,
            ~/.config/walltime/walltime.toml and /etc/walltime/walltime.toml.

    Raises:
        SettingsRefused: The file cannot be read or trusted, or a setting is unknown or cannot be what it is said to be.
    """
    path = _find(config)
    in_file = {} if path is None else _read(path)
    in_environment = {name: f"WALLTIME_{name.upper()}" for name in Settings.model_fields}
    in_environment = {name: variable for name, variable in in_environment.items() if variable in os.environ}
    sources = {name: str(path) for name in in_file}
    sources |= in_environment
    sources |= {name: f"--{name.replace('_', '-')}" for name in said}
    values = {name: value for name, value in in_file.items() if name not in in_environment} | dict(said)
    try:
        return Configuration(Settings(**values), sources)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        where = sources.get(name, name)
        # what was said may be a secret: only what is wrong with it is repeated
        raise SettingsRefused(f"{where}{f': {name}' if where == str(path) else ''}: {first['msg']}") from None


def misspelled() -> Iterator[tuple[str, str]]:
    """Variables of the environment that look like a setting and are none, each with what may have been meant."""
    known = [f"WALLTIME_{name.upper()}" for name in Settings.model_fields]
    for variable in sorted(os.environ):
        if variable.startswith("WALLTIME_") and variable not in known:
            for meant in difflib.get_close_matches(variable, known, 1, 0.93):
                yield variable, meant


def shown(configuration: Configuration) -> str:
    """The settings as TOML, each with its source; a secret is masked, what is not set is a comment."""
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


def _find(config: Path | None) -> Path | None:
    named = config or (Path(os.environ["WALLTIME_CONFIG"]) if os.environ.get("WALLTIME_CONFIG") else None)
    if named is not None:
        return named
    home = Path(os.environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser())
    places = (Path(FILE), home / "walltime" / FILE, Path("/etc/walltime") / FILE)
    return next((place for place in places if place.exists()), None)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = path.stat()
        document = tomli.loads(path.read_text("utf-8"))
    except OSError as error:
        raise SettingsRefused(f"{path}: cannot be read: {error.strerror}; name another file with --config") from error
    except (tomli.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsRefused(f"{path}: not TOML: {error}; write name = value, texts in quotes") from error
    if found.st_mode & stat.S_IWOTH or found.st_uid not in (0, os.geteuid()):
        raise SettingsRefused(
            f"{path}: others can write it, and it says where data goes; make it your own or root's, and chmod o-w it"
        )
    for name, value in document.items():
        if name not in Settings.model_fields:
            raise SettingsRefused(f"{path}: there is no setting {name!r}; {_meant(name)}")
        if isinstance(value, dict):
            raise SettingsRefused(f"{path}: {name} is a table; settings are plain values")
        if isinstance(Settings.model_fields[name].default, SecretStr) and found.st_mode & (stat.S_IRGRP | stat.S_IROTH):
            raise SettingsRefused(
                f"{path}: {name} is a secret, and others can read this file; chmod 600 it, or use {name}_file"
            )
    return document


def _meant(name: str) -> str:
    close = difflib.get_close_matches(name.lower().replace("-", "_"), Settings.model_fields, 1, _ALIKE)
    return f"is {close[0]!r} meant?" if close else "docs/settings.md lists them, and so does --print-config"


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(_toml, value))}]"
    return '"' + "".join(_escaped(letter) for letter in str(value)) + '"'


def _escaped(letter: str) -> str:
    if letter in '"\\':
        return "\\" + letter
    return letter if letter.isprintable() else f"\\U{ord(letter):08x}"

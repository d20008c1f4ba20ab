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

from ..errors import SettingsRefused
from .neighbours import NEIGHBOURS, is_of_others
from .settings import Settings

FILE = "walltime.toml"
_PREFIX = "WALLTIME_"
_MASK = "********"
_ALIKE = 0.7


@dataclass(frozen=True)
class Configuration:
    """The settings in force, and where those are set that are not defaults: `--http`, `WALLTIME_HTTP`, or the file."""

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
    # as pydantic reads them: a variable's letters may be small
    upper = {variable.upper(): variable for variable in sorted(os.environ, reverse=True)}
    in_environment = {name: upper.get(f"WALLTIME_{name.upper()}") for name in Settings.model_fields}
    sources = dict.fromkeys(in_file, str(path))
    sources |= {name: variable for name, variable in in_environment.items() if variable is not None}
    sources |= {name: f"--{name.replace('_', '-')}" for name in said}
    values = {name: value for name, value in in_file.items() if in_environment[name] is None} | dict(said)
    try:
        settings = Settings(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = str(first["loc"][0])
        # what was said may be a secret: only what is wrong with it is repeated
        reason = first["msg"].removeprefix("Value error, ")
        raise SettingsRefused(f"{_where(name, sources, path)}: {reason}") from None
    settings.sources.update({name: _where(name, sources, path) for name in sources})
    return Configuration(settings, sources)


def _where(name: str, sources: Mapping[str, str], path: Path | None) -> str:
    """A setting's source for a message; of a file, the key too."""
    source = sources.get(name, name)
    return f"{source}: {name}" if source == str(path) else source


def misspelled() -> Iterator[tuple[str, str]]:
    """Variables of the environment that look like a setting and are none, each with what may be meant, or empty."""
    mine = [f"WALLTIME_{name.upper()}" for name in Settings.model_fields if name != "crashpoint"]
    known = {*mine, "WALLTIME_CRASHPOINT", *NEIGHBOURS}
    candidates = [name.removeprefix(_PREFIX) for name in (*mine, *sorted(NEIGHBOURS))]
    for variable in sorted(os.environ):
        name = variable.upper()
        if name.startswith(_PREFIX) and name not in known and not is_of_others(name, os.environ):
            meant = difflib.get_close_matches(name.removeprefix(_PREFIX), candidates, 1, _ALIKE)
            yield variable, _PREFIX + meant[0] if meant else ""


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
    except (ValueError, RecursionError) as error:  # also of bytes that are no text, and of numbers without end
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

"""What the log says about the environment: variables that cannot be used, and variables that nobody reads."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import TYPE_CHECKING

from walltime.errors import guarded, warn
from walltime.settings.neighbours import NEIGHBOURS, is_known
from walltime.settings.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from walltime.settings.fields import Unusable

_PREFIX = "WALLTIME_"
_LEAST_ALIKE = 0.7


@guarded("settings")
def report(settings: Settings, unusable: Iterable[Unusable]) -> None:
    """Log each of them, at most once a minute. Never raises, also when the application's logging does."""
    for each in unusable:
        instead = each.instead or f"{each.setting} is {_shown(settings, each.setting)}"
        warn(each.variable, "walltime: %s. Instead, %s", each, instead)
    for variable, meant in unknown(os.environ):
        hint = f"is {meant} meant?" if meant else "docs/settings.md lists all settings"
        warn(variable, "walltime: %s is no variable of Walltime and does nothing; %s", variable, hint)


def unknown(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the WALLTIME_… variables that neither SDK nor collector reads, each with what may be meant, or ""."""
    mine = {variable for each in fields(Settings) for variable in each.metadata["variables"]}
    found = [
        name
        for name in sorted(environ)
        if name.upper().startswith(_PREFIX) and name not in mine and not is_known(name, environ)
    ]
    if not found:
        return []
    from difflib import get_close_matches  # 2 ms that those without such variables need not wait

    # one of the SDK first: of two that are as close, the first is taken
    known = [*sorted(name for name in mine if name.startswith(_PREFIX)), *sorted(NEIGHBOURS - mine)]
    candidates = [name.removeprefix(_PREFIX) for name in known]
    close = [get_close_matches(name[len(_PREFIX) :].upper(), candidates, 1, _LEAST_ALIKE) for name in found]
    by_setting = {each.name.upper(): next(iter(each.metadata["variables"])) for each in fields(Settings)}
    return [
        (name, by_setting.get(name[len(_PREFIX) :].upper()) or (_PREFIX + meant[0] if meant else ""))
        for name, meant in zip(found, close, strict=True)
    ]


def _shown(settings: Settings, name: str) -> str:
    declared = Settings.__dataclass_fields__[name]
    value = getattr(settings, name)
    if name == "endpoint" and not value:
        return "none: nothing is sent until it is corrected"
    if declared.metadata["is_secret"]:
        return "a value that is not shown here" if value else "empty"
    if name == "endpoint":
        return repr(value.rpartition("@")[2].partition("?")[0])
    if isinstance(value, tuple):
        return ",".join(value) or "none"
    return repr(value)

"""The places of views that come later: they say what will be there, and which command answers today."""

from __future__ import annotations

from dataclasses import dataclass

from ..request import PageRequest


@dataclass(frozen=True)
class Command:
    """A command that answers a part of the question today."""

    line: str
    about: str


@dataclass(frozen=True)
class Later:
    """The view model."""

    section: str
    title: str
    about: str
    commands: tuple[Command, ...]


def incidents(request: PageRequest) -> Later:
    """The place of the incidents."""
    return Later(
        "incidents",
        "Incidents",
        "This page will list the times in which transactions were unusually slow or failed, open ones first, each"
        " with its explanation. It is not built yet, and nothing watches for incidents.",
        (
            Command("walltime top --since 1h", "which kinds take the time now"),
            Command("walltime why KIND --during 'last 10m'", "why a kind is slower than in the hour before"),
            Command("walltime status", "whether the collector works; alert on /healthz"),
        ),
    )

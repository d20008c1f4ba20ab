"""Reads docker-compose.yml, .env and the Dockerfiles as Docker would, as far as the tests need it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]


def dotenv() -> dict[str, str]:
    lines = (ROOT / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def text() -> str:
    return (ROOT / "docker-compose.yml").read_text()


def interpolated(text: str, variables: Mapping[str, str]) -> str:
    """`${NAME}` becomes its value, `$$` a dollar; a name that is not there is a KeyError, where Docker would go on."""
    return re.sub(r"\$\$|\$\{(\w+)\}", lambda found: variables[found[1]] if found[1] else "$", text)


def services() -> dict[str, dict[str, Any]]:
    """The services with variables, anchors and merges resolved."""
    parsed: dict[str, Any] = yaml.safe_load(interpolated(text(), dotenv()))
    found: dict[str, dict[str, Any]] = parsed["services"]
    return found


@dataclass
class Stage:
    """One `FROM … AS name` of a Dockerfile."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def last(self, instruction: str) -> str:
        """What the last such instruction says; empty without one."""
        return next((said for name, said in reversed(self.instructions) if name == instruction), "")

    def environment(self) -> dict[str, str]:
        said = [shlex.split(text) for name, text in self.instructions if name == "ENV"]
        return dict(pair.split("=", 1) for pairs in said for pair in pairs)


@dataclass
class Image:
    """A Dockerfile; the last stage is what runs."""

    path: Path
    arguments: dict[str, str]
    stages: list[Stage]

    @property
    def runs(self) -> Stage:
        return self.stages[-1]

    def command(self) -> list[str]:
        parsed: list[str] = json.loads(self.runs.last("CMD"))
        return parsed

    def health_command(self) -> list[str]:
        parsed: list[str] = json.loads(self.runs.last("HEALTHCHECK").partition("CMD ")[2])
        return parsed


def image(service: Mapping[str, Any]) -> Image | None:
    """What the service is built from; None when its image is somebody else's."""
    if "build" not in service:
        return None
    build = service["build"]
    path = ROOT / build["context"] / build.get("dockerfile", "Dockerfile")
    code = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("#"))
    lines = [line.split(None, 1) for line in code.replace("\\\n", " ").splitlines() if line.strip()]
    arguments = dict(said.split("=", 1) for name, said in lines if name == "ARG")
    stages: list[Stage] = []
    for name, said in lines:
        if name == "FROM":
            base, _, alias = interpolated(said, {**arguments, **build.get("args", {})}).partition(" AS ")
            stages.append(Stage(base, alias))
        elif stages:
            stages[-1].instructions.append((name, said.strip()))
    return Image(path, arguments, stages)


def images() -> dict[Path, Image]:
    """Our own images, by the paths of their Dockerfiles."""
    built = filter(None, map(image, services().values()))
    return {each.path: each for each in built}


def command(service: Mapping[str, Any]) -> list[str]:
    """What runs in one of our own images."""
    if "command" in service:
        return list(service["command"])
    built = image(service)
    assert built is not None
    return built.command()


def health_command(service: Mapping[str, Any]) -> list[str]:
    """The health check's command; empty without one."""
    if (said := service.get("healthcheck")) is not None:
        return [] if said.get("disable") else list(said["test"])
    built = image(service)
    return ["CMD", *built.health_command()] if built and built.runs.last("HEALTHCHECK") else []


def environment(service: Mapping[str, Any]) -> dict[str, str]:
    """What the process finds in its environment, but for what the base image sets."""
    built = image(service)
    said: dict[str, str] = service.get("environment", {})
    return {**(built.runs.environment() if built else {}), **said}

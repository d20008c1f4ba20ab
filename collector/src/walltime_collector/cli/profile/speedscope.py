"""The profile as a file of speedscope: https://github.com/jlfwong/speedscope/wiki/Importing-from-custom-sources."""

from __future__ import annotations

import json
from importlib.metadata import version

from ...query.profile.answer import Profile
from ...query.profile.tree import paths
from .frames import frame


def speedscope_file(profile: Profile) -> bytes:
    """Every stack is weighted with its time, so the whole is the time of the kind, and what overlapped once more."""
    frames: dict[str, int] = {}
    samples = []
    weights = []
    for path in paths(profile):
        samples.append([frames.setdefault(text, len(frames)) for text in path.frames])
        weights.append(path.time_ns)
    name = f"{profile.name} ({profile.service})"
    document = {
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "exporter": f"walltime {version('walltime-collector')}",
        "name": name,
        "shared": {"frames": [_shared(text) for text in frames]},
        "profiles": [
            {
                "type": "sampled",
                "name": name,
                "unit": "nanoseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        ],
    }
    return json.dumps(document).encode()


def _shared(text: str) -> dict[str, str | int]:
    of = frame(text)
    return {"name": of.name, "file": of.file, "line": of.line} if of.file else {"name": of.name}

"""The profile as a file of pprof: gzipped protobuf, from the descriptor that `make descriptors` compiles."""

from __future__ import annotations

import gzip
from importlib.resources import files
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.message_factory import GetMessages

from ...format import unix_ns
from ...query.profile.answer import Profile
from ...query.profile.tree import paths
from .frames import Frame, frame

_DESCRIPTORS = FileDescriptorSet.FromString((files(__package__) / "pprof.binpb").read_bytes())
PprofProfile: Any = GetMessages(_DESCRIPTORS.file)["walltime.pprof.Profile"]


def pprof_file(profile: Profile) -> bytes:
    """Every stack with its samples and its time, which is the default; `state` is a label."""
    texts = {"": 0}
    since_ns, until_ns = unix_ns(profile.since), unix_ns(profile.until)
    made = PprofProfile(time_nanos=since_ns, duration_nanos=until_ns - since_ns)

    def text(of: str) -> int:
        return texts.setdefault(of, len(texts))

    for kind, unit in (("samples", "count"), ("time", "nanoseconds")):
        made.sample_type.add(type=text(kind), unit=text(unit))
    made.default_sample_type = text("time")
    functions: dict[tuple[str, str], int] = {}
    locations: dict[Frame, int] = {}
    for path in paths(profile):
        ids = [locations.setdefault(frame(each), len(locations) + 1) for each in reversed(path.frames)]
        sample = made.sample.add(location_id=ids, value=[path.samples, path.time_ns])
        if path.state:
            sample.label.add(key=text("state"), str=text(path.state))
    for each, number in locations.items():
        function = functions.setdefault((each.name, each.file), len(functions) + 1)
        made.location.add(id=number).line.add(function_id=function, line=each.line)
    for (name, file), number in functions.items():
        made.function.add(id=number, name=text(name), filename=text(file))
    made.string_table.extend(texts)
    return gzip.compress(made.SerializeToString(), mtime=0)

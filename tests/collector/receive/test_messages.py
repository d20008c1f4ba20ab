"""The committed descriptors are what protoc makes of the committed .proto files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from walltime_collector.cli.profile import pprof as pprof_module
from walltime_collector.clickhouse.inserts import PROTO
from walltime_collector.receive.messages import DESCRIPTORS


def test_make_descriptors_was_run_after_the_last_change_of_a_proto_file(tmp_path: Path) -> None:
    traces, others, compiled = Path(str(PROTO)), Path(str(DESCRIPTORS)).with_suffix(".proto"), tmp_path / "compiled"
    protoc = [sys.executable, "-m", "grpc_tools.protoc", f"-I{traces.parent}", f"-I{others.parent}"]
    subprocess.run([*protoc, f"--descriptor_set_out={compiled}", traces.name, others.name], check=True)
    assert FileDescriptorSet.FromString(compiled.read_bytes()) == FileDescriptorSet.FromString(DESCRIPTORS.read_bytes())
    pprof = Path(pprof_module.__file__).with_suffix(".proto")
    subprocess.run([*protoc[:3], f"-I{pprof.parent}", f"--descriptor_set_out={compiled}", pprof.name], check=True)
    committed = pprof.with_suffix(".binpb").read_bytes()
    assert FileDescriptorSet.FromString(compiled.read_bytes()) == FileDescriptorSet.FromString(committed)

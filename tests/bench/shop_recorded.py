"""
What the example shop's SDK sends while visitors use it, byte for byte: the real data of the other measurements.

    python -m tests.bench.shop_recorded [--seconds 60] [--sampled 0.1] FILE
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Final

import click
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from shop.load import Load, visits
from shop.services import ServiceError, fast_folder
from shop.stack import Stack

from tests.bench.ingest_sender import Body, read_bodies, write_bodies
from tests.sdk.sink import Sink

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / ".bench"
MAKE_IT: Final = (ROOT / "sdk" / "src", ROOT / "examples" / "shop")
SAMPLED: Final = 0.1
"""Share of the transactions whose calls are kept, in the recordings."""
FRESH_S: Final = 20 * 86_400
"""Spans of more than 29 days ago are not stored as such."""


def record(seconds: float, sampled: float = SAMPLED) -> list[Body]:
    """
    Run the shop on its real servers with visitors as fast as it answers; return the export requests.

    Raises:
        ServiceError: A server is missing or does not start, or the shop failed.
    """
    folder = fast_folder()
    try:
        with Sink() as sink:
            base = sink.endpoint.removesuffix("/v1/traces")
            environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": base, "OTEL_TRACES_SAMPLER_ARG": str(sampled)}
            with Stack(folder, environment, workers=3) as stack:
                load = Load(stack.url, visits(1), threads=4).start()
                time.sleep(seconds)
                if load.stop().errors:
                    raise ServiceError(f"the shop answered with errors.{stack.shop.log_tail()}")
            return [Body(_spans(each), each) for each in sink.bodies]
    finally:
        shutil.rmtree(folder)


def recorded(seconds: float, sampled: float = SAMPLED) -> list[Body]:
    """The same, of an earlier run if there is one in .bench/ and neither SDK nor shop has changed since."""
    path = FOLDER / f"shop-{seconds:.0f}s-{sampled:.0%}.bodies"
    if not path.exists() or path.stat().st_mtime < max(_changed_s(), time.time() - FRESH_S):
        FOLDER.mkdir(exist_ok=True)
        write_bodies(path, record(seconds, sampled))
    return read_bodies(path)


def _changed_s() -> float:
    """When what makes the data was last changed."""
    return max(path.stat().st_mtime for folder in MAKE_IT for path in folder.rglob("*.py"))


def _spans(body: bytes) -> int:
    request = ExportTraceServiceRequest.FromString(body)
    return sum(len(scope.spans) for resource in request.resource_spans for scope in resource.scope_spans)


@click.command
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--seconds", default=60.0)
@click.option("--sampled", default=SAMPLED)
def main(file: Path, seconds: float, sampled: float) -> None:
    """Record the shop and write the bodies to FILE."""
    bodies = record(seconds, sampled)
    write_bodies(file, bodies)
    print(f"{len(bodies)} requests, {sum(body.spans for body in bodies)} spans")


if __name__ == "__main__":
    main()

"""Programs started with `walltime-run`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROGRAMS = Path(__file__).with_name("programs")


BIN = Path(sys.executable).parent


RUN = str(BIN / "walltime-run")


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "WALLTIME_"))}
    quiet = {"OTEL_BSP_SCHEDULE_DELAY": "10", "DD_INSTRUMENTATION_TELEMETRY_ENABLED": "false"}
    return {**kept, **quiet, **more}

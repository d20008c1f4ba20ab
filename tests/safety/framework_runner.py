"""
fault_runner.py for the life of frameworks.py.

    python -m tests.safety.framework_runner '{"endpoint": …, "only": ["walltime.servers."], "every": 1}'
"""

from __future__ import annotations

import json
import logging
import sys

from tests.safety import fault_points

fault_points.install()

from tests.safety import fault_runner, frameworks  # noqa: E402  # Walltime is loaded with the fault points

sys.modules["tests.safety.application"] = frameworks


def main() -> None:
    asked = json.loads(sys.argv[1])
    for name in ("django.request", "aiohttp.server", "celery", "rq"):
        logging.getLogger(name).disabled = True
    frameworks.life(None, None)  # imports all there is
    bare = fault_runner._in_a_child(None, None, None)
    whole = fault_runner._in_a_child(None, asked["endpoint"], None)
    points = [point for point in whole["reached"] if point.startswith(tuple(asked["only"]))][:: asked["every"]]
    outcomes = {point: fault_runner._in_a_child(None, asked["endpoint"], point) for point in points}
    json.dump({"bare": bare, "whole": whole, "outcomes": outcomes}, sys.stdout)


if __name__ == "__main__":
    main()

"""
`make demo`: the shop, its servers, a collector and visitors on free loopback ports, then what Walltime says of them.

Everything is in `.demo/` and is stopped at the end, by Ctrl-C too; with --once it ends by itself.
"""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

from shop.load import Load, least_popular
from shop.services import Program, Service, ServiceError
from shop.stack import Stack

FOLDER = Path(__file__).parents[2] / ".demo"
WALLTIME = Path(sys.executable).with_name("walltime")
VISITORS, VISITS_PER_S = 4, 60.0
VISIBLE_WITHIN_S = 15.0

# The demo's own look at one product page. A caller that samples its trace (the flag 01 at the end) gets the detail of
# what it called, and the id is known beforehand.
TRACE_ID = "2010053100000000f000000000000001"  # too high for the fair sample, which stays what chance makes it
TRACEPARENT = f"00-{TRACE_ID}-00000000000000a1-01"
PRODUCT = least_popular()  # not in the caches yet, so that its bill has misses and queries

console = Console(highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after showing everything (make demo ONCE=1)")
    parser.add_argument("--seconds", type=float, default=30.0, help="of load before the questions are asked")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where logs and data go; emptied at the start")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, _leave)
    try:
        with _emptied(given.folder.absolute()) as folder:
            run(folder, given.seconds, once=given.once)
    except ServiceError as problem:
        sys.exit(f"demo: {problem}")
    except KeyboardInterrupt:
        console.print()
    console.print(f"Everything is stopped; logs and data are in {given.folder} until the next demo.", soft_wrap=True)


def run(folder: Path, seconds: float, *, once: bool) -> None:
    """Start everything, load it, ask; then, without `once`, go on until interrupted. Nothing is left running."""
    with collector(folder / "collector") as receiver:
        assert receiver.ready is not None
        environment = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://{receiver.ready['http']}"}
        _started(receiver, receiver.ready["web"])
        with console.status("starting the shop and its servers"):
            stack = Stack(folder, environment, workers=3)
            stack.start(lambda service: _started(service, service.address))
        try:
            load = Load(stack.url, threads=VISITORS, rate=VISITS_PER_S).start()
            try:
                _wait(load, seconds)
                _look_at_one_product(stack)
                if once:
                    load.stop()
                ask(f"http://{receiver.ready['web']}")
                if not once:
                    _until_interrupted(load)
            finally:
                load.stop()
        finally:
            stack.stop()


def collector(folder: Path) -> Program:
    """`walltime serve`, with its data in `folder`."""
    if not WALLTIME.exists():
        raise ServiceError(f"{WALLTIME} is not installed. Run: make setup")
    addresses = ("--http", "127.0.0.1:0", "--web", "127.0.0.1:0")
    return Program(
        "collector",
        folder,
        [WALLTIME, "serve", "--data", folder / "data", *addresses],
        ready=r"(?m)^ready .*\bhttp=(?P<http>\S+) web=(?P<web>\S+)",
        environment={"PYTHONUNBUFFERED": "1"},
    )


def ask(url: str) -> None:
    """Run the commands as anybody would, and let them print."""
    deadline = time.monotonic() + VISIBLE_WITHIN_S
    while _walltime(url, "show", TRACE_ID, "--json", quiet=True):
        if time.monotonic() > deadline:
            raise ServiceError(f"the collector has not shown trace {TRACE_ID} within {VISIBLE_WITHIN_S:.0f} s")
        time.sleep(0.2)
    for question in (("top",), ("show", TRACE_ID)):
        console.print()
        console.print(f"[bold]$ WALLTIME_URL={url} walltime {' '.join(question)}", soft_wrap=True)
        if status := _walltime(url, *question):
            raise ServiceError(f"`walltime {' '.join(question)}` ended with status {status}")
    console.print()


def _walltime(url: str, *arguments: str, quiet: bool = False) -> int:
    output = subprocess.DEVNULL if quiet else None
    sys.stdout.flush()
    environment = {**os.environ, "WALLTIME_URL": url}
    return subprocess.run(
        [WALLTIME, *arguments], env=environment, stdout=output, stderr=output, check=False, timeout=60
    ).returncode


def _wait(load: Load, seconds: float) -> None:
    ends_s = time.monotonic() + seconds
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=seconds)
        while (left_s := ends_s - time.monotonic()) > 0:
            time.sleep(min(left_s, 0.25))
            progress.update(task, completed=seconds - left_s, description=f"visitors: {load.status().markup}")
    console.print("visitors: ", load.status(), sep="")


def _until_interrupted(load: Load) -> None:
    console.print("The visitors keep coming: ask again in another terminal. Ctrl-C stops everything.", soft_wrap=True)
    with Live(console=console, get_renderable=load.status, auto_refresh=console.is_terminal):
        signal.pause()


def _look_at_one_product(stack: Stack) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", stack.shop.port, timeout=30)
    connection.request("GET", f"/product/{PRODUCT}", headers={"traceparent": TRACEPARENT, "Cookie": "user=1"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != http.client.OK:
        raise ServiceError(f"the shop answered {answer.status} for product {PRODUCT}.{stack.shop.log_tail()}")


def _started(service: Service, address: str) -> None:
    console.print(f"[green]✓[/] {service.name:<12} {address}")


@contextmanager
def _emptied(folder: Path) -> Iterator[Path]:
    """The demo's folder, emptied, and held as long as this demo runs; somebody else's is never emptied."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if any(folder.iterdir()) and not (folder / "lock").exists():
        raise ServiceError(f"{folder} holds something that is not a demo's. Give --folder a new name.")
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ServiceError(f"another demo runs in {folder}. Stop it with Ctrl-C first.") from None
        for entry in folder.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != "lock":
                entry.unlink()
        yield folder


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


if __name__ == "__main__":
    main()

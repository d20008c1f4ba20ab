"""
`make demo`: the shop, its servers, a collector and visitors on free loopback ports, then what Walltime says of them.

It prints the address of the pages first, and beside each step of the story the address of the page that shows it.
Everything is in `.demo/` and is stopped at the end, by Ctrl-C too; with --once it ends by itself.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from rich.console import Console
from rich.live import Live
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from walltime_collector.format import unix_ns

from shop.ask import WALLTIME, Asker
from shop.links import Pages, span
from shop.load import Load, visits
from shop.services import Program, Service, ServiceError
from shop.stack import Stack
from shop.story import BOUGHT, Truth, crowd_for, restart, wait_for_a_lock, warm
from shop.watch import Watch

FOLDER = Path(__file__).parents[2] / ".demo"
SECOND = 1_000_000_000
VISITORS, VISITS_PER_S = 4, 40.0
LOOK_S = 5  # of the collector for incidents, instead of 30: it knows what is usual after five looks
AWAY_S = 0.002  # the database is in another building and the caches are beside the shop: why one has caches
SAMPLED = 0.05  # 1 transaction of 20 keeps its calls one by one, so that there are some of every moment of the demo

console = Console(highlight=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--once", action="store_true", help="end after showing everything (make demo ONCE=1)")
    parser.add_argument("--seconds", type=int, default=20, help="after the cache restarts, and twice as many before")
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


def run(folder: Path, seconds: int, *, once: bool) -> None:
    """Start everything, tell the story, ask; then, without `once`, go on until interrupted. Nothing is left running."""
    with ExitStack() as running:
        stack = _stack(folder)
        receiver = running.enter_context(collector(folder / "collector", *_observed(stack), **_settings(stack)))
        assert receiver.ready is not None
        pages = Pages(f"http://{receiver.ready['web']}")
        console.print(f"[bold]{pages.overview()}[/]  open this page: it follows the demo", soft_wrap=True)
        _started(receiver, receiver.ready["web"])
        with console.status("starting the shop and its servers"):
            stack.environment["OTEL_EXPORTER_OTLP_ENDPOINT"] = f"http://{receiver.ready['http']}"
            stack.start(lambda service: _started(service, service.address))
        running.callback(stack.stop)
        crowd = crowd_for(seconds)
        with console.status(f"warming the caches: each of {crowd.products:,} products is looked at once"):
            warm(stack, crowd)
        stack.proxies["mariadb"].delay_s = AWAY_S  # not before, so that filling the caches does not take a minute
        load = Load(stack.url, visits(1, crowd), threads=VISITORS, rate=VISITS_PER_S).start()
        running.callback(load.stop)
        asker = Asker(f"http://{receiver.ready['web']}", console)
        truth = tell(stack, load, seconds, pages, asker)
        truth.write(folder / "truth.json")
        if once:
            load.stop()
        why = ask(asker, truth)
        (folder / "why.json").write_text(json.dumps(why, indent=2) + "\n")
        if not once:
            _until_interrupted(load, pages, truth, stack.seen(stack.mariadb).address)


def tell(stack: Stack, load: Load, seconds: int, pages: Pages, asker: Asker) -> Truth:
    """Let it happen, say what happens and where to see it, and count with the servers' own counters."""
    watch, cache = Watch(stack), stack.caches[0]
    truth = Truth({each.name: each.address for each in stack.caches})
    stack.mariadb.write_logs(on=True)
    _say("MariaDB writes every statement to its slow log (long_query_time=0) from now on, for a while")
    _wait(load, _to_full_second(), "")
    with watch.window(load) as truth.before:
        _wait(load, 2 * seconds, f"{2 * seconds} s of the usual")
    _see(pages.overview("last 5m"))
    _wait(load, _to_full_second(), "")
    with watch.window(load) as truth.after:
        truth.restart = restart(cache)
        back_ms = truth.restart.took_ns / 1e6
        _say(f"[yellow]{cache.name} ({cache.address}) was restarted:[/] back after {back_ms:.0f} ms, and empty")
        _see(pages.kind(truth.kind, "last 5m"))
        _wait(load, seconds, f"{seconds} s after the restart")
    _see(pages.restart(truth))
    _show_incidents(asker, truth, pages, seconds)
    _say(f"the inventory job counts product {BOUGHT} while somebody buys it")
    truth.lock_wait = wait_for_a_lock(stack, watch)
    _see(pages.lock_wait(truth))
    stack.mariadb.write_logs(on=False)
    return truth


def _show_incidents(asker: Asker, truth: Truth, pages: Pages, within_s: float) -> None:
    """Show what the collector noticed by itself since the restart, or say that it did not within so many seconds."""
    assert truth.restart is not None
    deadline_s, restarted_s = time.monotonic() + within_s, truth.restart.at_ns // SECOND
    while not (incidents := _opened_since(asker, restarted_s)) and time.monotonic() < deadline_s:
        time.sleep(1)
    if not incidents:
        _say("[yellow]The collector opened no incident[/]: this was too short, or too little, to be sure")
    for opened_s, incident in incidents:
        _say(f"[green]The collector noticed it by itself[/] {opened_s - restarted_s} s after the restart:")
        console.print(f"         {incident['headline']}", markup=False, soft_wrap=True)
        _see(pages.incident(incident["id"]))


def _opened_since(asker: Asker, since_s: int) -> list[tuple[int, Any]]:
    """When each incident was opened, and the incident; the first one first."""
    incidents = asker.read("incidents", "--since", "10m")["incidents"]
    opened = [(unix_ns(each["opened_at"]) // SECOND, each) for each in incidents]
    return sorted((each for each in opened if each[0] >= since_s), key=lambda each: each[0])


def collector(folder: Path, *options: str | Path, **settings: str | float) -> Program:
    """`walltime serve`, with its data in `folder`."""
    if not WALLTIME.exists():
        raise ServiceError(f"{WALLTIME} is not installed. Run: make setup")
    addresses = ("--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0", "--web", "127.0.0.1:0")
    return Program(
        "collector",
        folder,
        [WALLTIME, "serve", "--data", folder / "data", *addresses, *options],
        ready=r"(?m)^ready .*\bhttp=(?P<http>\S+) web=(?P<web>\S+)",
        environment={
            "PYTHONUNBUFFERED": "1",
            **{f"WALLTIME_{name.upper()}": str(value) for name, value in settings.items()},
        },
    )


def ask(asker: Asker, truth: Truth) -> Any:
    """Ask what is left to ask when all is over: which kinds, why, and two transactions; returns why's answer."""
    assert truth.before is not None
    assert truth.after is not None
    assert truth.lock_wait is not None
    during, against = span(truth.after), span(truth.before)
    asker.read_when(_is_glued, "show", truth.lock_wait.trace_id)
    asker.show("top", "--since", f"{(time.time_ns() - truth.before.since_ns) // SECOND}s")
    why = ("why", truth.kind, "--during", during, "--against", against)
    asker.show(*why)
    said = asker.read(*why)
    console.print()
    _say("One of those requests, the one with the most calls:")
    examples = [each["trace_id"] for each in said["slow_examples"]]
    asker.show("show", max(examples, key=lambda trace_id: _calls(asker.read("show", trace_id))))
    console.print()
    select_ms, waited_ms = truth.lock_wait.query_s * 1000, truth.lock_wait.waited_ms
    _say(
        f"The slow log has a SELECT … FOR UPDATE of {select_ms:.0f} ms, and InnoDB counted {waited_ms} ms of waits for"
        " row locks. The comment in the log says which request that was:"
    )
    asker.show("show", truth.lock_wait.trace_id)
    console.print()
    return said


def _calls(trace: Any) -> int:
    """That were kept one by one."""
    return sum(len(bill["calls"]) for bill in trace["transactions"])


def _is_glued(trace: Any) -> bool:
    return any(statement["server"] for bill in trace["transactions"] for statement in bill["statements"])


def _stack(folder: Path) -> Stack:
    environment = {"OTEL_TRACES_SAMPLER_ARG": str(SAMPLED)}
    return Stack(folder, environment, workers=3, slow_log_s=0.0, is_observed=True, far={"mariadb": 0.0})


def _observed(stack: Stack) -> Iterator[str]:
    """Options of the collector: what it asks, by the names that the shop has for it."""
    database = stack.mariadb
    name = stack.seen(database).address
    yield from ("--slow-log", f"{name}={database.slow_log}")
    yield from ("--mysql", f"{name}=mysql://{database.observer}@{database.address}", "--mysql-explain")
    for cache in stack.caches:
        yield from ("--memcached", cache.address)


def _settings(stack: Stack) -> dict[str, str | float]:
    return {"mysql_password": stack.mariadb.observer_password, "incident_look_s": LOOK_S}


def _to_full_second() -> float:
    return 1.0 - time.time() % 1.0


def _say(words: str) -> None:
    console.print(f"[dim]{time.strftime('%H:%M:%S')}[/] {words}", soft_wrap=True)


def _see(address: str) -> None:
    console.print(f"         {address}", style="cyan", markup=False, soft_wrap=True)


def _wait(load: Load, seconds: float, act: str) -> None:
    ends_s = time.monotonic() + seconds
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=seconds)
        while (left_s := ends_s - time.monotonic()) > 0:
            time.sleep(min(left_s, 0.25))
            progress.update(task, completed=seconds - left_s, description=f"{act}: {load.status().markup}")
    if act:
        _say(f"{act}: {load.status().markup}")


def _until_interrupted(load: Load, pages: Pages, truth: Truth, database: str) -> None:
    console.print("The same without a command:")
    for address, shows in (
        (pages.overview("last 15m"), "where the time goes; drag over the slow part, and choose a kind"),
        (pages.incidents(), "what the collector noticed by itself"),
        (pages.restart(truth), "why product pages became slower: the server that was restarted"),
        (pages.lock_wait(truth), "the checkout that waited for a row lock"),
        (pages.database(database), "what MariaDB says of itself, and which statements keep it busy"),
    ):
        _see(address)
        console.print(f"         {shows}", style="dim", soft_wrap=True)
    console.print("The visitors keep coming: ask again in another terminal. Ctrl-C stops everything.", soft_wrap=True)
    with Live(console=console, get_renderable=load.status, auto_refresh=console.is_terminal):
        signal.pause()


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

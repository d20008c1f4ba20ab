"""
Applications that nobody here wrote, as their documentation sets them up: django-oscar and CodeRed CMS (Wagtail) on
MariaDB and memcached, the server of Prefect (FastAPI, SQLAlchemy, asyncio) on SQLite.

Each is in a virtual environment of its own, with pinned packages.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import httpx
from shop.process import free_port, program
from shop.services import MariaDB, Memcached

from tests.realworld.visitor import Answer, Visitor
from tests.servers import eventually

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NOTHING: Mapping[str, str] = MappingProxyType({})
_FILL = "import django; django.setup(); import fill"


@dataclass
class Run:
    """One start of the application, the visitors' requests, and its end."""

    answers: list[Answer]
    bills: Path
    """Lines of JSON; not there without Walltime."""


@dataclass
class Site:
    """One application, ready to be started."""

    name: str
    folder: Path
    """With its settings; the programs run here."""
    command: list[str]
    """`{port}` is its port; the last item is its application."""
    turns: str
    """`turns.py`'s application that is served in place of it."""
    visit: Callable[[Visitor, random.Random], None]
    reset: Callable[[], None]
    """Makes its data what they were before the first visit."""
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: str = "/"

    @property
    def bin(self) -> Path:
        return virtual_environment(self.name)

    def run(
        self, times: int, *, walltime: bool, more: Mapping[str, str] = NOTHING,
        beside: Callable[[int], object] = lambda _: None,
    ) -> Run:  # fmt: skip
        """
        Visit it so many times, after one visit that is not counted.

        Args:
            more: Environment variables; they replace others.
            beside: Called with the id of the serving process before the visits.
        """
        bills = self.folder / "bills.jsonl"
        bills.unlink(missing_ok=True)
        writes = {"OTEL_TRACES_EXPORTER": "none", "WALLTIME_JSON_LINES": str(bills)}
        with self._serving(self.command, {**writes, **more}, walltime=walltime) as (process, url):
            self._visit(url, -1)
            time.sleep(1.5)  # the bills of that visit are written
            bills.unlink(missing_ok=True)
            beside(max(_processes(process.pid)))
            answers = [answer for number in range(times) for answer in self._visit(url, number)]
        return Run(answers, bills)

    def cpu_of_turns(self, rounds: int, ways: Sequence[str], endpoint: str) -> dict[str, list[float]]:
        """
        Return the CPU time of each visit in seconds, of all threads of one process and with its exports.

        Args:
            rounds: Visits in each way, in an order by chance.
            ways: `walltime`, or any other name for visits without it.
            endpoint: Where bills are sent.
        """
        shutil.copy(HERE / "turns.py", self.folder)
        command = [*self.command[:-1], self.turns]
        more = {"TURNS_OF": self.command[-1], "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint}
        order, used_s = random.Random(1), {way: list[float]() for way in ways}
        with self._serving(command, more, walltime=True) as (_, url), httpx.Client(timeout=60) as client:

            def turn(way: str) -> float:
                return int(client.get(f"{url}/walltime-turn?{way}").text) / 1e9

            for number in range(-2, rounds):
                for way in order.sample(ways, len(ways)):
                    began_s = turn(way)
                    self._visit(url, number)
                    if number >= 0:
                        used_s[way].append(turn("") - began_s)
        return used_s

    @contextmanager
    def _serving(
        self, command: list[str], more: Mapping[str, str], *, walltime: bool
    ) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
        self.reset()
        port = free_port()
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "WALLTIME_"))}
        environment |= {
            "PYTHONHASHSEED": "0",
            **self.environment,
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
        }
        command = [each.format(port=port) for each in command]
        if walltime:
            command.insert(0, "walltime-run")
            environment |= more
        command[0] = str(self.bin / command[0])
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        try:
            url = f"http://127.0.0.1:{port}"
            eventually(lambda: process.poll() is not None or _answers(url + self.ready), 120)
            assert process.poll() is None, (self.folder / "server.log").read_text()[-3000:]
            yield process, url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(30)

    def _visit(self, url: str, number: int) -> list[Answer]:
        with Visitor(url) as visitor:
            self.visit(visitor, random.Random(number))
        return visitor.answers


def virtual_environment(name: str) -> Path:
    """Its folder of programs; made at first use, beside the tests' own."""
    folder, requirements = ROOT / ".venv" / "realworld" / name, ROOT / "requirements" / "realworld" / f"{name}.txt"
    ready = folder / "ready"
    if not ready.exists() or ready.read_text() != requirements.read_text():
        shutil.rmtree(folder, ignore_errors=True)
        uv = str(Path(sys.executable).with_name("uv"))
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
        install = [uv, "pip", "install", "--quiet", "--python", str(folder / "bin" / "python")]
        subprocess.run([*install, "-r", requirements, "-e", ROOT / "sdk"], check=True)
        ready.write_text(requirements.read_text())
    return folder / "bin"


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=60).status_code < 500
    except httpx.TransportError:
        return False


def _processes(session: int) -> list[int]:
    """The processes of a session."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            found.append(int(stat.parent.name))
    return found


def _run(site: Path, environment: Mapping[str, str], *command: str | Path) -> None:
    done = subprocess.run(
        command, cwd=site, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@contextmanager
def _django(name: str, module: str, mariadb: MariaDB, memcached: Memcached) -> Iterator[dict[str, str]]:
    """The environment of a project, and a database of its own."""
    with mariadb.admin() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        cursor.execute(f"GRANT ALL ON {name}.* TO {mariadb.user}@'127.0.0.1'")
    yield {
        "DB_NAME": name, "DB_HOST": "127.0.0.1", "DB_PORT": str(mariadb.port), "DB_USER": mariadb.user,
        "DB_PASSWORD": mariadb.password, "MEMCACHED": f"127.0.0.1:{memcached.port}", "DJANGO_SETTINGS_MODULE": module,
    }  # fmt: skip


def _resets(name: str, mariadb: MariaDB, memcached: Memcached, folder: Path) -> Callable[[], None]:
    login = [f"--user={mariadb.user}", f"--port={mariadb.port}", "--host=127.0.0.1", "--protocol=tcp"]
    password = {**os.environ, "MYSQL_PWD": mariadb.password}
    dump = folder / "dump.sql"
    with dump.open("wb") as file:
        subprocess.run([program("mariadb-dump", "mariadb-client"), *login, name], env=password, stdout=file, check=True)

    def reset() -> None:
        with dump.open("rb") as file:
            subprocess.run([program("mariadb", "mariadb-client"), *login, name], env=password, stdin=file, check=True)
        memcached.kill()
        memcached.start()

    return reset


@contextmanager
def oscar(folder: Path, mariadb: MariaDB, memcached: Memcached) -> Iterator[Site]:
    shutil.copytree(HERE / "oscar", folder)
    shutil.copy(HERE / "django_servers.py", folder)
    with _django("oscar", "shop_settings", mariadb, memcached) as environment:
        _run(folder, environment, virtual_environment("oscar") / "python", "-c", _FILL)
        command = ["gunicorn", "--workers=1", "--bind=127.0.0.1:{port}", "shop_wsgi:application"]
        reset = _resets("oscar", mariadb, memcached, folder)
        yield Site("oscar", folder, command, "turns:wsgi", _visit_oscar, reset, environment)


def _visit_oscar(visitor: Visitor, chance: random.Random) -> None:
    visitor.get("/")
    page = visitor.get(f"/catalogue/?page={chance.randrange(1, 8)}")
    products = sorted(set(re.findall(r'href="(/catalogue/[\w-]+_\d+/)"', page)))
    for product in chance.sample(products, 3):
        visitor.get(product)
    visitor.get(chance.choice(sorted(set(re.findall(r'href="(/catalogue/category/[\w/-]+_\d+/)"', page)))))
    visitor.get(f"/search/?q={chance.choice(('book', 'number', 'time'))}")
    visitor.get("/accounts/login/")
    user = chance.randrange(5)
    login = {"login-username": f"u{user}@example.com", "login-password": f"secret-{user}!", "login_submit": "Log In"}
    visitor.post("/accounts/login/", **login)
    product = chance.choice(products)
    visitor.get(product)
    visitor.post(f"/basket/add/{product.rstrip('/').rpartition('_')[2]}/", quantity="1")
    visitor.get("/basket/")
    visitor.get("/accounts/profile/")
    visitor.get("/nothing-here/")


@contextmanager
def codered(folder: Path, mariadb: MariaDB, memcached: Memcached) -> Iterator[Site]:
    folder.mkdir(exist_ok=True)
    with _django("codered", "mysite.settings.real", mariadb, memcached) as environment:
        bin_folder = virtual_environment("codered")
        _run(folder, {}, bin_folder / "coderedcms", "start", "mysite", ".")
        shutil.copy(HERE / "codered" / "real_settings.py", folder / "mysite" / "settings" / "real.py")
        shutil.copy(HERE / "codered" / "fill.py", folder)
        shutil.copy(HERE / "django_servers.py", folder)
        _run(folder, environment, bin_folder / "python", "-c", _FILL)
        command = ["gunicorn", "--workers=1", "--bind=127.0.0.1:{port}", "mysite.wsgi:application"]
        reset = _resets("codered", mariadb, memcached, folder)
        yield Site("codered", folder, command, "turns:wsgi", _visit_codered, reset, environment)


def _visit_codered(visitor: Visitor, chance: random.Random) -> None:
    visitor.get("/")
    index = f"/articles-{chance.randrange(3)}/"
    visitor.get(index)
    for _ in range(4):
        visitor.get(f"{index}a{chance.randrange(25)}/")
    visitor.get(f"/p{chance.randrange(10)}/")
    visitor.get("/search/?s=article")
    visitor.get("/nothing/")
    visitor.get("/admin/login/")
    visitor.post("/admin/login/", username="admin", password="admin-secret!", next="/admin/")
    visitor.get("/admin/pages/")
    visitor.get(f"/admin/pages/{chance.randrange(6, 30)}/edit/")


@contextmanager
def prefect(folder: Path) -> Iterator[Site]:
    folder.mkdir(exist_ok=True)
    home = folder / "home"
    environment = {
        "PREFECT_HOME": str(home), "PREFECT_SERVER_ANALYTICS_ENABLED": "false", "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_LOGGING_LEVEL": "ERROR", "DO_NOT_TRACK": "1",
    }  # fmt: skip
    command = ["uvicorn", "--factory", "--port={port}", "--log-level=error", "prefect.server.api.server:create_app"]
    yield Site(
        "prefect", folder, command, "turns:asgi", _visit_prefect, lambda: shutil.rmtree(home, ignore_errors=True),
        environment, "/api/health",
    )  # fmt: skip


def _visit_prefect(visitor: Visitor, chance: random.Random) -> None:
    flow = visitor.json("POST", "/api/flows/", {"name": f"flow-{chance.randrange(20)}"})
    about = {"flow_id": flow["id"], "state": {"type": "PENDING"}, "tags": ["a", "b"]}
    runs = [visitor.json("POST", "/api/flow_runs/", {**about, "parameters": {"n": n}}) for n in range(5)]
    for run in runs:
        for state in ("RUNNING", "COMPLETED"):
            visitor.json("POST", f"/api/flow_runs/{run['id']}/set_state", {"state": {"type": state}})
        visitor.json("GET", f"/api/flow_runs/{run['id']}")
    visitor.json("POST", "/api/flow_runs/filter", {"limit": 200})
    visitor.json("POST", "/api/flow_runs/filter", {"limit": 200, "flow_runs": {"tags": {"all_": ["a"]}}})
    visitor.json("POST", "/api/flows/filter", {})
    visitor.json("GET", "/api/health")

"""
The commands of docker-compose.yml, run here without Docker: the same words, the same environment, other addresses.

MariaDB stands for MySQL, and tests/clickhouse_on_chdb.py for the ClickHouse server.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
import pytest
from shop.services import MariaDB, Memcached, Program, ProgramMissingError, fast_folder, free_port
from walltime_collector.clickhouse.server.engine import ServerEngine

from tests import compose
from tests.clickhouse_server import ClickHouseServer
from tests.servers import eventually

pytestmark = pytest.mark.nightly

SERVICES = compose.services()
PROGRAMS = Path(sys.executable).parent


class ServerOfCompose(ClickHouseServer):
    user = SERVICES["clickhouse"]["environment"]["CLICKHOUSE_USER"]
    password = SERVICES["clickhouse"]["environment"]["CLICKHOUSE_PASSWORD"]


@dataclass
class Here:
    """Where the services of the file are on this machine: what stands in it → what stands for it here."""

    folder: Path
    places: dict[str, str]

    def local(self, said: str) -> str:
        for there, here in self.places.items():
            said = said.replace(there, here)
        return said

    def environment(self, name: str) -> dict[str, str]:
        said = compose.environment(SERVICES[name])
        mine = {"PYTHONPATH": str(compose.ROOT / "examples"), "PATH": f"{PROGRAMS}:{os.environ['PATH']}"}
        return {**{variable: self.local(str(value)) for variable, value in said.items()}, **mine}

    def command(self, name: str) -> list[str]:
        program, *rest = map(self.local, compose.command(SERVICES[name]))
        return [str(PROGRAMS / program), *rest]

    def start(self, name: str, ready: str) -> Program:
        (self.folder / name).mkdir(exist_ok=True)
        return Program(name, self.folder / name, self.command(name), ready, self.environment(name))

    def run(self, name: str) -> str:
        environment = {**os.environ, **self.environment(name)}
        done = subprocess.run(
            self.command(name), env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout

    def is_healthy(self, name: str) -> bool:
        kind, program, *rest = map(self.local, compose.health_command(SERVICES[name]))
        assert (kind, program) == ("CMD", "python")
        return subprocess.run([sys.executable, *rest], capture_output=True, timeout=20, check=False).returncode == 0


@pytest.fixture(scope="module")
def here() -> Iterator[Here]:
    """Everything but the load, started in the order and by the commands of the file."""
    folder = fast_folder()
    ports = {port: free_port() for port in (4317, 4318, 8464, 8000, 8001)}
    try:
        with ExitStack() as running:
            clickhouse = running.enter_context(ServerOfCompose(folder / "clickhouse"))
            mariadb = running.enter_context(MariaDB(folder / "mariadb", slow_log_s=0.0))
            caches = [running.enter_context(Memcached(f"memcached-{n}", folder)) for n in (1, 2)]
            assert mariadb.slow_log is not None
            here = Here(
                folder,
                {
                    "/var/log/mysql/slow.log": str(mariadb.slow_log),
                    "http://clickhouse:8123": clickhouse.url,
                    "memcached-1:11211": caches[0].address,
                    "memcached-2:11211": caches[1].address,
                    **{f"0.0.0.0:{port}": f"127.0.0.1:{mine}" for port, mine in ports.items()},
                    **{f"127.0.0.1:{port}": f"127.0.0.1:{mine}" for port, mine in ports.items()},
                    "'127.0.0.1', 8001": f"'127.0.0.1', {ports[8001]}",
                    "collector:4318": f"127.0.0.1:{ports[4318]}",
                    "supplier:8001": f"127.0.0.1:{ports[8001]}",
                    "shop:8000": f"127.0.0.1:{ports[8000]}",
                    "/data": str(folder / "data"),
                },
            )
            account = mariadb.account()
            for variable in ("host", "port", "password"):
                for service in ("tables", "supplier", "shop", "load"):
                    SERVICES[service]["environment"][f"SHOP_MYSQL_{variable.upper()}"] = account[variable]
            running.enter_context(here.start("collector", r"(?m)^ready "))
            made = here.run("tables"), here.run("tables")
            assert "made and filled" in made[0]
            assert "are there" in made[1]
            running.enter_context(here.start("supplier", "Worker ready"))
            running.enter_context(here.start("shop", "(?s)(?:Worker ready.*){3}"))
            yield here
    except ProgramMissingError as missing:
        pytest.skip(str(missing))
    finally:
        shutil.rmtree(folder)


def ask(here: Here, path: str) -> Any:
    connection = http.client.HTTPConnection(here.local("127.0.0.1:8464"), timeout=30)
    connection.request("GET", path)
    answer = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_the_health_checks_of_our_own_images_say_healthy(here: Here) -> None:
    for name in ("collector", "shop", "supplier"):
        eventually(lambda name=name: here.is_healthy(name), 20)  # type: ignore[misc]


def test_a_health_check_says_no_where_nobody_listens(here: Here) -> None:
    elsewhere = Here(here.folder, {":8464": f":{free_port()}", ":8000": f":{free_port()}", "8001": str(free_port())})
    assert not any(elsewhere.is_healthy(name) for name in ("collector", "shop", "supplier"))


def test_what_the_visitors_do_is_in_the_clickhouse_server_with_the_slow_log_beside_it(here: Here) -> None:
    load = subprocess.Popen(
        here.command("load"), env={**os.environ, **here.environment("load")}, stdout=subprocess.PIPE, text=True
    )
    try:
        eventually(lambda: {"shop", "supplier"} <= {kind["service"] for kind in ask(here, "/api/top")["kinds"]}, 60)
    finally:
        load.send_signal(getattr(signal, SERVICES["load"]["stop_signal"]))
        said, _ = load.communicate(timeout=20)
    assert load.returncode == 0, said
    server = SERVICES["clickhouse"]["environment"]
    engine = ServerEngine(
        here.local("http://clickhouse:8123"),
        user=server["CLICKHOUSE_USER"],
        password=server["CLICKHOUSE_PASSWORD"],
        database=SERVICES["grafana"]["environment"]["WALLTIME_CLICKHOUSE_DATABASE"],
        timeout_s=30,
    )
    joined = (
        "SELECT count() AS n, any(environment) AS environment FROM transactions"
        " WHERE service = 'shop' AND trace_id IN (SELECT trace_id FROM slow_queries)"
    )
    eventually(lambda: engine.query(joined)[0]["n"] > 0, 30)
    assert engine.query(joined)[0]["environment"] == "compose"
    engine.close()


def test_the_collector_ends_in_time_when_docker_asks_it_to(here: Here, tmp_path: Path) -> None:
    other = Here(tmp_path, {**here.places, "/data": str(tmp_path / "data")})
    for port in (4317, 4318, 8464):
        other.places[f"0.0.0.0:{port}"] = "127.0.0.1:0"
    collector = other.start("collector", r"(?m)^ready ").start()
    assert collector.process is not None
    image = compose.image(SERVICES["collector"])
    assert image is not None
    grace_s = int(SERVICES["collector"]["stop_grace_period"].removesuffix("s"))
    collector.process.send_signal(getattr(signal, image.runs.last("STOPSIGNAL")))
    began_s = time.monotonic()
    assert collector.process.wait(grace_s) == 0
    assert time.monotonic() - began_s < grace_s
    collector.kill()


def test_tables_that_were_left_half_made_are_made_anew_and_others_are_left_alone(here: Here) -> None:
    environment = here.environment("tables")
    connect: dict[str, Any] = {
        "host": environment["SHOP_MYSQL_HOST"],
        "port": int(environment["SHOP_MYSQL_PORT"]),
        "user": environment["SHOP_MYSQL_USER"],
        "password": environment["SHOP_MYSQL_PASSWORD"],
        "database": environment["SHOP_MYSQL_DATABASE"],
        "autocommit": True,
    }
    with pymysql.connect(**connect) as connection, connection.cursor() as cursor:
        cursor.execute("CREATE TABLE shop_is_being_made (id INT PRIMARY KEY)")
        cursor.execute("DELETE FROM order_items")
        assert "made and filled" in here.run("tables")
        cursor.execute("SELECT COUNT(*) FROM order_items")
        assert cursor.fetchone()[0] > 3000
        cursor.execute("CREATE TABLE somebody_elses (id INT PRIMARY KEY)")
        with pytest.raises(subprocess.CalledProcessError) as refused:
            here.run("tables")
        assert "give an empty one" in refused.value.stderr
        cursor.execute("SELECT COUNT(*) FROM somebody_elses")
        cursor.execute("DROP TABLE somebody_elses")

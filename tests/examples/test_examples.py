"""The small examples: the commands of their READMEs against real servers and one collector, and what they answer."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from shop.services import MariaDB, Memcached

from tests.examples.readme import EXAMPLES, Example, commands, total
from tests.redis_server import RedisServer
from tests.server_folder import server_folder
from tests.servers import Collector

SMALL = sorted(path.parent.name for path in EXAMPLES.glob("*/README.md"))


@dataclass
class Servers:
    """The servers of examples/README.md and a copy of the examples."""

    mariadb: MariaDB
    memcached: Memcached
    redis: RedisServer
    collector: Collector
    examples: Path

    def example(self, name: str) -> Example:
        mysql = f"mysql://shop:shop@127.0.0.1:{self.mariadb.port}/shop"
        addresses = {
            "MYSQL_URL": mysql,
            "MEMCACHED": self.memcached.address,
            "REDIS_URL": f"redis://{self.redis.address}",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.collector.otlp_url.removesuffix("/v1/traces"),
            "WALLTIME_URL": self.collector.web_url,
        }
        return Example(self.examples / name, addresses)

    def statements(self, service: str, opening: tuple[str, ...] = ("SET NAMES", "SET AUTOCOMMIT = 0")) -> Counter[str]:
        """Verb → how many statements of the service MariaDB logged, but those that are part of connecting."""
        assert self.mariadb.general_log is not None
        entries = re.split(r"\n(?=(?:\d{6} [ \d]\d:\d\d:\d\d)?\t)", self.mariadb.general_log.read_text())
        sent = [each.split("Query\t")[1] for each in entries if f"service='{service}'" in each]
        return Counter(each.split()[0] for each in sent if not each.startswith(opening))


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with server_folder() as folder:
        copy = shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("shop", "node_modules"))
        with (
            MariaDB(folder / "mariadb", general_log=True) as mariadb,
            Memcached("memcached", folder) as memcached,
            RedisServer(folder / "redis") as redis,
            Collector(folder / "walltime", derived_window_s=1, derived_settle_s=1) as collector,
        ):
            (account,) = (each for each in commands(EXAMPLES / "README.md") if each.endswith("sudo mariadb"))
            with mariadb.admin() as connection, connection.cursor() as cursor:
                for statement in (
                    "DROP DATABASE shop",
                    "DROP USER shop@'127.0.0.1'",
                    *account.split('"')[1].split(";"),
                ):
                    cursor.execute(statement)
            yield Servers(mariadb, memcached, redis, collector, copy)


@pytest.mark.nightly
def test_django(servers: Servers) -> None:
    with servers.example("django") as example:
        found = example.found(20)
        assert {each.name for each in found} == {"GET /product/{number}"}
        stats = servers.memcached.stats()
        assert [total(found, "memcache.get", column) for column in ("calls", "hits", "misses")] == [20, 10, 10]
        assert [int(stats[name]) for name in ("cmd_get", "get_hits", "get_misses")] == [20, 10, 10]
        assert total(found, "memcache.set") == int(stats["cmd_set"]) == 10
        sent = servers.statements("products")
        assert total(found, "mysql.query") == sent.total()
        assert sent["SELECT"] == 10 * 2 + 1  # Django asks a server for its version once
        assert total(found, "mysql.connect") == 10
        missed, hit = found[1], found[11]
        assert (missed.of("mysql.connect"), hit.of("mysql.connect"), hit.of("mysql.query")) == (1, 0, 0)
        bill = example.ask("walltime show", trace_id=missed.trace_id)
        assert re.search(r"memcache.get +1 .* 0 of 1 key hit \(0 %\)", bill)
        assert "FROM `products_review` WHERE" in " ".join(bill.split())
        assert re.search(r"GET /product/\{number\} +100 %", example.ask("walltime top"))


@pytest.mark.nightly
def test_fastapi(servers: Servers) -> None:
    with servers.example("fastapi") as example:
        found = example.found(10)
        sent = servers.statements("orders", opening=("SET NAMES",))
        assert total(found, "mysql.query") + total(found, "mysql.commit") == sent.total()
        assert total(found, "http.request") == 10
        bill = example.ask("walltime show", trace_id=found[5].trace_id)
        assert re.search(r"GET /order/\{number\} +orders +◂ this bill", bill)
        assert re.search(r"GET /price/\{lamps\} +orders", bill)
        assert "FROM fastapi_orders WHERE" in " ".join(bill.split())
        top = example.ask("walltime top")
        assert re.search(r"http.request [\d.]+ ms ×1 ", top)


@pytest.mark.nightly
def test_celery(servers: Servers) -> None:
    with servers.example("celery") as example:
        (order,) = example.found(1, "walltime find --service shop")
        assert order.of("celery.publish") == 10
        mails = example.found(10, "walltime find --service mail")
        bill = example.ask("walltime show", trace_id=order.trace_id)
        assert bill.count("tasks.send_mail") == 10
    assert total(mails, "redis.incrby") == servers.redis.calls()["incrby"] == 10


def test_script(servers: Servers) -> None:
    with servers.example("script") as example:
        found = example.found(2)
        assert total(found, "mysql.query") == servers.statements("nightly").total() == 2 * 21
        assert [each.of("count") for each in found] == [20, 20]
        bill = example.ask("walltime show", trace_id=found[0].trace_id)
        assert re.search(r"mysql.query +21 ", bill)


@pytest.mark.nightly
def test_two_services(servers: Servers) -> None:
    with servers.example("two_services") as example:
        found = example.found(10)
        assert total(found, "http.request") == servers.statements("stock")["SELECT"] == 10
        bill = example.ask("walltime show", trace_id=found[9].trace_id)
        assert re.search(r"GET /product/\{number\} +front +◂ this bill +mostly http", bill)
        assert re.search(r"GET /stock/\{number\} +stock .*mostly mysql", bill)
        assert re.search(r"http.request: each call takes [\d.]+× as long", example.ask("walltime why"))


@pytest.mark.nightly
def test_opentelemetry(servers: Servers) -> None:
    with servers.example("opentelemetry") as example:
        derived = example.found(5)
        assert {each.kept for each in derived} == {"foreign"}
        assert total(derived, "mysql.query") == 5 * 3
        bill = example.ask("walltime show")
        assert re.search(r"mysql.connect +1 ", bill)
        assert re.search(r"mysql.query +3 ", bill)
        assert servers.statements("cart-billed")["SELECT"] == 3


@pytest.mark.nightly
def test_other_language(servers: Servers) -> None:
    example = servers.example("other_language")
    example.run("npm install --no-audit --no-fund")
    with example:
        derived = example.found(10, "walltime find --service stock-js")
        assert total(derived, "mysql.query") == 10
        assert {each.name for each in derived} == {"GET /stock/{number}"}
        found = example.found(10, "walltime find --service front-js")
        bill = example.ask("walltime show", trace_id=found[3].trace_id)
        assert re.search(r"GET /stock/\{number\} +stock-js ", bill)


def test_every_example_has_a_short_readme_and_is_listed() -> None:
    listed = set(re.findall(r"^\| \[(\w+)\]", (EXAMPLES / "README.md").read_text(), re.MULTILINE))
    assert listed == set(SMALL) == {each.name for each in EXAMPLES.iterdir() if each.is_dir()} - {"shop", "__pycache__"}
    for name in SMALL:
        sources = [each for each in (EXAMPLES / name).iterdir() if each.suffix in (".py", ".js")]
        assert 1 <= len(sources) <= 2
        assert len((EXAMPLES / name / "README.md").read_text().splitlines()) <= 25

"""The whole shop, running: MariaDB with its rows, two memcached, the supplier and the shop itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType

import pymysql

from shop.proxy import Proxy
from shop.seed import seed
from shop.services import OBSERVED, Gunicorn, MariaDB, Memcached, Service, free_port

EXAMPLES = str(Path(__file__).parents[1])


class Stack:
    """
    All servers of one shop, in one folder, on free loopback ports.

    `services()` is the order they are started in; they are stopped in reverse, all of them.

    Args:
        environment: Given to the shop and the supplier: where their transactions go, for example.
        threads: Threads of each gunicorn worker; 0 is gunicorn's sync worker.
        general_log: See MariaDB.
        slow_log_s: See MariaDB; nothing is written before `mariadb.write_logs(on=True)`, so seeding is not in it.
        is_observed: A collector that starts earlier asks MariaDB and the caches: they have their ports from the start.
        far: Servers that are not beside the shop, by name: how long their answers are on the way, in seconds.
    """

    def __init__(
        self,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        *,
        workers: int = 2,
        threads: int = 0,
        general_log: bool = False,
        slow_log_s: float | None = None,
        is_observed: bool = False,
        far: Mapping[str, float] | None = None,
    ) -> None:
        self.environment = {"PYTHONPATH": EXAMPLES, "PYTHONUNBUFFERED": "1", **(environment or {})}
        options = OBSERVED if is_observed else {}
        self.mariadb = MariaDB(folder / "mariadb", general_log=general_log, slow_log_s=slow_log_s, **options)
        self.caches = [Memcached("memcached-1", folder), Memcached("memcached-2", folder)]
        if is_observed:
            for server in (self.mariadb, *self.caches):
                server.port = free_port()
        self.supplier = Gunicorn("supplier", folder, "shop.supplier:application", workers=1, threads=8)
        self.shop = Gunicorn("shop", folder, "shop.app:application", workers=workers, threads=threads)
        self.proxies = {
            each.name: Proxy(each, delay_s)
            for each in self.services()
            if (delay_s := (far or {}).get(each.name)) is not None
        }
        self.running = ExitStack()

    def services(self) -> list[Service]:
        return [self.mariadb, *self.caches, self.supplier, self.shop]

    @property
    def url(self) -> str:
        return f"http://{self.shop.address}"

    def start(self, started: Callable[[Service], None] = lambda service: None) -> Stack:
        """
        Start everything in order and fill the database; `started` hears of each server that answers.

        Raises:
            ServiceError: One of them did not start; those before it are stopped.
        """
        with ExitStack() as running:
            for proxy in self.proxies.values():
                running.callback(proxy.close)
            for service in self.services():
                self._configure(service)
                running.enter_context(service)
                if service is self.mariadb:
                    if self.mariadb.slow_log:
                        self.mariadb.write_logs(on=False)
                    with pymysql.connect(**self.mariadb.account()) as connection:
                        seed(connection)
                started(service)
            self.running = running.pop_all()
        return self

    def stop(self) -> None:
        self.running.close()

    def seen(self, service: Service) -> Service | Proxy:
        """What the shop takes for this server: the proxy in front of a far one."""
        return self.proxies.get(service.name, service)

    def _configure(self, service: Service) -> None:
        """The shop is told where the others listen, which is known once those have started."""
        if service in (self.supplier, self.shop):
            service.environment.update(self.environment)
        if service is self.shop:
            service.environment.update(
                SHOP_MYSQL_PORT=str(self.seen(self.mariadb).port),
                SHOP_MYSQL_PASSWORD=self.mariadb.password,
                SHOP_MEMCACHED=",".join(self.seen(cache).address for cache in self.caches),
                SHOP_SUPPLIER=f"http://{self.supplier.address}",
            )

    def __enter__(self) -> Stack:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.stop()

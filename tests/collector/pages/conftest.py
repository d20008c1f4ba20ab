"""The web application in this process, over the folder's engine: pages are fetched as a browser would."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from walltime_collector.clickhouse.embedded.engine import EmbeddedEngine
from walltime_collector.clickhouse.engine import Engine
from walltime_collector.config.settings import Settings
from walltime_collector.health.counters import Health
from walltime_collector.health.status import status
from walltime_collector.http.authentication import Access
from walltime_collector.sql.runner import QueryRunner
from walltime_collector.web.application import make_app

from tests.collector.conftest import emptied_behind

READ = "read-2b7e151628aed2"


class Browser:
    """Follows redirects and keeps cookies."""

    def __init__(self, app: Any) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        self.cookies = httpx.Cookies()

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def send() -> httpx.Response:
            async with httpx.AsyncClient(
                transport=self._transport, base_url="http://127.0.0.1", cookies=self.cookies, follow_redirects=True
            ) as client:
                response = await client.request(method, path, **options)
                self.cookies = client.cookies
                return response

        return asyncio.run(send())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.request("GET", path, **options)


@pytest.fixture(scope="module")
def engine(shared_engine: EmbeddedEngine) -> Iterator[EmbeddedEngine]:
    with emptied_behind(shared_engine) as engine:
        yield engine


@pytest.fixture(scope="module")
def browser(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    yield from _client(engine, Settings(data=tmp_path_factory.mktemp("data")))


@pytest.fixture(scope="module")
def guarded(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The same with a read token."""
    yield from _client(engine, Settings(data=tmp_path_factory.mktemp("data"), read_token=SecretStr(READ)))


def _client(engine: Engine, settings: Settings) -> Iterator[Browser]:
    health, runner = Health(), QueryRunner(engine, "walltime")
    Path(settings.data).mkdir(exist_ok=True)
    app = make_app(engine, health, runner, Access(settings), lambda: status(engine, health, settings, {}))
    yield Browser(app)
    runner.close()

"""Wrong tokens are answered ever more slowly; the right one at once, also to an address that guesses."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterator, MutableMapping
from typing import Any

import httpx
import pytest
from walltime_collector.http.authentication import Credential
from walltime_collector.http.guesses import Guesses
from walltime_collector.http.sign_in import SignIn

from tests.servers import Collector, eventually, over_http

TOKEN = "read-2b7e151628aed2"


class Slept:
    """A clock that stands still, and a sleep that only counts."""

    def __init__(self) -> None:
        self.now_s, self.slept_s = 1_000.0, list[float]()
        self.ends = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        await self.ends.wait()


def test_the_first_wrong_tokens_of_an_address_are_free_and_each_further_one_waits_a_second_more() -> None:
    async def run() -> None:
        slept = Slept()
        slept.ends.set()
        guesses = Guesses(lambda: slept.now_s, slept.sleep)
        for number in range(9):
            assert await guesses.wrong("10.0.0.1", b"%d" % number)
        assert slept.slept_s == [1, 2, 3, 4]
        assert await guesses.wrong("10.0.0.1", b"8")  # a token again tells a guesser nothing
        assert await guesses.wrong("10.0.0.2", b"x")
        assert slept.slept_s == [1, 2, 3, 4]
        slept.now_s += 9
        assert await guesses.wrong("10.0.0.1", b"later")
        assert slept.slept_s == [1, 2, 3, 4]

    asyncio.run(run())


def test_few_wait_at_once_from_one_address_and_from_all_together() -> None:
    async def run() -> tuple[list[bool], list[bool]]:
        slept = Slept()
        guesses = Guesses(lambda: slept.now_s, slept.sleep)
        one = [asyncio.create_task(guesses.wrong("10.0.0.1", b"%d" % number)) for number in range(30)]
        all_ = [
            asyncio.create_task(guesses.wrong(f"10.0.1.{address}", b"%d" % number))
            for address in range(20)
            for number in range(15)
        ]
        for _ in range(10):
            await asyncio.sleep(0)
        assert len(slept.slept_s) == 100
        slept.ends.set()
        return await asyncio.gather(*one), await asyncio.gather(*all_)

    one, all_ = asyncio.run(run())
    assert one.count(True) == 5 + 10
    assert all_.count(False) > 0


async def nothing(*_: Any) -> None:
    """An application, and what it sends to."""


async def disconnected() -> MutableMapping[str, Any]:
    return {"type": "http.disconnect"}


def cookie_cpu_s(cookie: bytes) -> float:
    """To find out that a cookie is wrong: the least of three runs."""
    runs, app = [], SignIn(nothing, Credential(TOKEN))
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": [(b"cookie", cookie)]}
    for _ in range(3):
        before_s = time.process_time()
        asyncio.run(app(scope, disconnected, nothing))
        runs.append(time.process_time() - before_s)
    return min(runs)


@pytest.mark.parametrize("part", [b"\\\\", b"\\134", b'"', b";", b"=", b"a=b; ", b"walltime=1.", b" "])
def test_the_cpu_for_a_cookie_grows_with_its_size_and_no_faster(part: bytes) -> None:
    small_s, large_s = (cookie_cpu_s(b'walltime="' + part * (size // len(part)) + b'"') for size in (4_000, 32_000))
    assert large_s < 8 * 4 * max(small_s, 0.001)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Collector]:
    with Collector(tmp_path_factory.mktemp("guesses") / "data", read_token=TOKEN) as running:
        yield running


def sign_in(collector: Collector, token: str) -> httpx.Response:
    return over_http("POST", f"{collector.web_url}/login", data={"token": token, "next": "/"})


def test_guesses_wait_and_the_right_token_does_not(guarded: Collector) -> None:
    order: list[int] = []

    def guess(number: int) -> None:
        with contextlib.suppress(httpx.HTTPError):  # the collector ends before the last ones are answered
            order.append(sign_in(guarded, f"wrong {number}").status_code)

    for number in range(15):
        threading.Thread(target=guess, args=(number,), daemon=True).start()
    eventually(lambda: len(order) >= 5)
    right = sign_in(guarded, TOKEN)
    assert (right.status_code, "walltime=" in right.headers["set-cookie"]) == (303, True)
    headers = {"authorization": f"Bearer {TOKEN}"}
    assert over_http("GET", f"{guarded.web_url}/metrics", headers=headers).status_code == 200
    assert len(order) < 15, "some guesses still wait"
    assert set(order) == {401}


def test_a_form_of_another_site_is_refused_before_its_token_is_read(guarded: Collector) -> None:
    headers = {"Sec-Fetch-Site": "cross-site"}
    answer = over_http("POST", f"{guarded.web_url}/login", data={"token": TOKEN}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers

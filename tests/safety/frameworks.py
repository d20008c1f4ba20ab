"""Applications of every framework Walltime opens transactions for, called as their servers do; what they answer."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Callable, Coroutine
from typing import Any
from wsgiref.util import FileWrapper

import redis
import walltime
from celery import Celery
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.sessions.backends.signed_cookies import SessionStore
from django.db import models
from django.template import Context, Engine
from jinja2 import DictLoader, Environment
from pydantic import BaseModel
from rq.job import Job
from sqlalchemy import create_engine, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import StaticPool

from tests.sdk.servers import aiohttp_shop, django_project, fastapi_shop, flask_shop
from tests.sdk.servers.serving import aiohttp_serving

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
SECRET = "a secret of the shop's owners"
HEADERS = {"traceparent": PARENT, "x-request-start": "t=1795265407.25", "x-walltime-force": SECRET}

worker = Celery("shop", broker="memory://", backend="cache+memory://")


@worker.task(name="shop.double")  # type: ignore[untyped-decorator]
def double(number: int) -> int:
    return 2 * number


@worker.task(name="shop.fails")  # type: ignore[untyped-decorator]
def fails() -> None:
    raise LookupError("mine")


def job(number: int) -> int:
    with walltime.component("work"):
        return 10 // number


class Base(DeclarativeBase): ...


class Product(Base):
    __tablename__ = "product"
    id: Mapped[int] = mapped_column(primary_key=True)


class Answer(BaseModel):
    id: int


django_project.wsgi()  # prepares Django


class Group(models.Model):  # type: ignore[misc]
    class Meta:
        app_label = "shop"


def components() -> list[object]:
    """What frameworks do beside views, in a transaction."""
    environment = Environment(
        loader=DictLoader({"page": "{% for n in range(3) %}{{ n }}{% endfor %}"}), autoescape=True
    )
    later = environment.overlay(enable_async=True)
    template = environment.get_template("page")
    database = create_engine("sqlite://", poolclass=StaticPool)
    Base.metadata.create_all(database)

    async def rendered() -> list[str]:
        whole = await later.get_template("page").render_async()
        return [whole, *[block async for block in later.get_template("page").generate_async()]]

    with walltime.transaction("job"):
        answers: list[object] = [template.render(), *template.generate(), *asyncio.run(rendered())]
        with Session(database) as session:
            session.add(Product(id=7))
            session.commit()
            answers += [product.id for product in session.scalars(select(Product))]
            answers += [row.id for row in session.execute(select(Product.id).execution_options(yield_per=1))]
        answers += [Answer(id=1).model_dump(), Answer(id=1).model_dump_json()]
        answers += [MD5PasswordHasher().encode("secret", "salt")]
        cookie = SessionStore()
        cookie["visits"] = 1
        cookie.save()
        answers += [SessionStore(cookie.session_key)["visits"], list(Group.objects.none())]
        answers += [str(Group.objects.filter(id=1).query), Engine().from_string("{{ a }}").render(Context({"a": 1}))]
    return answers


async def chat(scope: Any, receive: Any, send: Any) -> None:
    while (message := await receive())["type"] == "websocket.receive":
        await send({"type": "websocket.send", "text": message["text"].upper()})


def files(environ: dict[str, Any], start_response: Any) -> Any:
    start_response("200 OK", [])
    return environ["wsgi.file_wrapper"](io.BytesIO(b"content"))


def by_wsgi(app: Any, path: str, method: str = "GET") -> list[object]:
    answered: list[object] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], None]:
        answered.append((status, [header for header in headers if header[0] != "Server-Timing"], exc_info is None))
        return lambda block: None

    environ = {"REQUEST_METHOD": method, "PATH_INFO": path, "SERVER_NAME": "shop.test", "SERVER_PORT": "80",
               "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(), "wsgi.errors": io.StringIO(),
               "wsgi.file_wrapper": FileWrapper, "SCRIPT_NAME": "", "QUERY_STRING": "", "SERVER_PROTOCOL": "HTTP/1.1",
               **{"HTTP_" + name.upper().replace("-", "_"): value for name, value in HEADERS.items()}}  # fmt: skip
    try:
        body = app(environ, start_response)
        try:
            answered.append(b"".join(body))
        finally:
            if hasattr(body, "close"):
                body.close()
    except Exception as error:  # noqa: BLE001  # of the application
        answered.append(repr(error))
    return answered


def by_asgi(app: Any, path: str, kind: str = "http") -> list[object]:
    answered: list[object] = []
    incoming = [{"type": "http.request", "body": b"", "more_body": False}]
    if kind == "websocket":
        incoming = [{"type": "websocket.receive", "text": "a"}, {"type": "websocket.disconnect"}]

    async def receive() -> dict[str, Any]:
        if not incoming:
            await asyncio.sleep(60)
        return incoming.pop(0)

    async def send(message: dict[str, Any]) -> None:
        if "headers" in message:
            message = {**message, "headers": [each for each in message["headers"] if each[0] != b"server-timing"]}
        answered.append(message)

    scope: dict[str, Any] = {
        "type": kind, "method": "GET", "path": path, "raw_path": path.encode(), "query_string": b"", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in HEADERS.items()], "server": ("shop.test", 80),
        "root_path": "", "asgi": {"version": "3.0"}, "state": {"since": "the start"}, "http_version": "1.1",
    }  # fmt: skip
    if kind == "websocket":
        del scope["method"]
    try:
        asyncio.run(_within(app(scope, receive, send)))
    except Exception as error:  # noqa: BLE001
        answered.append(repr(error))
    return answered


async def _within(answer: Coroutine[Any, Any, None]) -> None:
    await asyncio.wait_for(answer, 15)


def life(_servers: object, endpoint: str | None) -> list[object]:
    """All these applications do in a process's life; with an endpoint, under Walltime."""
    if endpoint is not None:
        walltime.configure(endpoint=endpoint, sample_probability=1.0, force_secret=SECRET, service_name="shop")
        walltime.instrument()
    said: list[object] = []
    flask, fastapi = flask_shop.shop(), fastapi_shop.shop()
    flask.logger.disabled = True
    for path in ("/nowhere", "/admin/user/x", "/stream", "/fails", "/handled", "/broken stream"):
        said.append(by_wsgi(flask, path))
    said += [by_wsgi(walltime.WSGIMiddleware(files), "/file"), by_wsgi(django_project.wsgi(), "/shop/product/7")]
    said += [by_wsgi(django_project.wsgi(), path) for path in ("/nowhere", "/fails", "/stream")]
    for path in ("/product/7", "/outer/acme/inner/item/3", "/v1/deep/2/thing/x", "/later", "/fails", "/stream"):
        said.append(by_asgi(fastapi, path))
    said += [by_asgi(django_project.asgi(), path) for path in ("/shop/later/7/", "/fails-later", "/stream-later")]
    said.append(by_asgi(walltime.ASGIMiddleware(chat), "/chat", "websocket"))
    with aiohttp_serving(aiohttp_shop.shop()) as client:
        headers = tuple(f"{name}: {value}" for name, value in HEADERS.items())
        for path in ("/product/7", "/part/item/7", "/refused", "/fails", "/nowhere"):
            lines = client.ask(path, headers=headers).split(b"\r\n")
            said.append([line for line in lines if not line.startswith(b"Server-Timing")])
    said += components()
    said += [double.apply(args=(4,)).get(), fails.apply().state]
    for number in (2, 0):
        try:
            said.append(Job.create(job, (number,), connection=redis.Redis()).perform())
        except ZeroDivisionError as error:
            said.append(repr(error))
    walltime.flush(5)
    walltime.uninstrument()
    walltime.shutdown()
    return said

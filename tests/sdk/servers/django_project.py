"""A Django project in one file: what test_django.py serves, under WSGI and ASGI."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import walltime
from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.urls import include, path, re_path
from django.utils.decorators import sync_and_async_middleware

BLOCKS = 3

if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF="tests.sdk.servers.django_project",
        SECRET_KEY="of the tests",
        MIDDLEWARE=["django.middleware.common.CommonMiddleware", "tests.sdk.servers.django_project.measuring"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        LOGGING_CONFIG=None,
        USE_TZ=True,
    )


@sync_and_async_middleware  # type: ignore[untyped-decorator]
def measuring(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponse:
            with walltime.component("around"):
                return await get_response(request)

        return later

    def now(request: HttpRequest) -> HttpResponse:
        with walltime.component("around"):
            return get_response(request)

    return now


def product(request: HttpRequest, id: int) -> HttpResponse:
    with walltime.component("own"):
        return HttpResponse(str(id))


async def product_later(request: HttpRequest, id: int) -> HttpResponse:
    with walltime.component("own"):
        await asyncio.sleep(0)
        return HttpResponse(str(id))


def stream(request: HttpRequest) -> HttpResponse:
    def blocks() -> Iterator[bytes]:
        for number in range(BLOCKS):
            with walltime.component("stream"):
                yield b"%d" % number

    return StreamingHttpResponse(blocks())


async def stream_later(request: HttpRequest) -> HttpResponse:
    async def blocks() -> AsyncIterator[bytes]:
        for number in range(BLOCKS):
            with walltime.component("stream"):
                await asyncio.sleep(0)
            yield b"%d" % number

    return StreamingHttpResponse(blocks())


def file(request: HttpRequest) -> HttpResponse:
    return FileResponse(Path(__file__).open("rb"), content_type="text/plain")


def not_modified(request: HttpRequest) -> HttpResponse:
    return HttpResponseNotModified()


def fails(request: HttpRequest) -> HttpResponse:
    raise LookupError("mine")


async def fails_later(request: HttpRequest) -> HttpResponse:
    raise LookupError("mine")


shop = [
    path("product/<int:id>", product),
    path("later/<int:id>/", product_later),
    re_path(r"^old/(?P<year>\d{4})$", lambda request, year: HttpResponse(year)),
]
urlpatterns = [
    path("shop/", include(shop)),
    path("stream", stream),
    path("stream-later", stream_later),
    path("file", file),
    path("304", not_modified),
    path("fails", fails),
    path("fails-later", fails_later),
]


def wsgi() -> Any:
    from django.core.wsgi import get_wsgi_application

    return get_wsgi_application()


def asgi() -> Any:
    from django.core.asgi import get_asgi_application

    return get_asgi_application()


if os.environ.get("DJANGO_PROJECT_SERVES") == "asgi":
    walltime.instrument()
    application = asgi()

"""
A Django site that counts what it does, served twice: without Walltime and with it.

    python -m tests.sdk.components.django_site wsgi|asgi

Standard output: JSON with the answers of both, and for each request the truth and what its bill says.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django
from django.conf import settings

MODULE = "tests.sdk.components.django_site"
truth: Counter[str] = Counter()
TEMPLATES = {
    "base.html": "<h1>{% block title %}{% endblock %}</h1>{{ 'render'|count }}",
    "page.html": "{% extends 'base.html' %}{% block title %}{% for each in groups %}{% include 'one.html' %}"
    "{% endfor %}{% endblock %}",
    "one.html": "{{ each.name }} {% for may in each.permissions.all %}{{ may.name }}{% endfor %}",
    "404.html": "{{ 'render'|count }}gone",
    "500.html": "{{ 'render'|count }}failed",
    "broken.html": "{{ 'render'|count }}{{ groups|fail }}",
}

if not settings.configured:
    database = TemporaryDirectory(prefix="walltime-site-")
    settings.configure(
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=MODULE,
        SECRET_KEY="of the tests",
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
        MIDDLEWARE=[
            "django.middleware.common.CommonMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(database.name) / "db")}},
        AUTHENTICATION_BACKENDS=[f"{MODULE}.Backend"],
        PASSWORD_HASHERS=[f"{MODULE}_sessions.Hasher"],
        SESSION_ENGINE="tests.sdk.components.django_site_sessions",
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "loaders": [("django.template.loaders.locmem.Loader", TEMPLATES)],
                    "builtins": [f"{MODULE}_tags"],
                },
            }
        ],
        LOGGING_CONFIG=None,
        USE_TZ=True,
    )
    if "--late" not in sys.argv:  # as under walltime-run: before the libraries are imported
        import walltime

        walltime.instrument()
    django.setup()

import walltime  # noqa: E402
from django.contrib import auth  # noqa: E402
from django.contrib.auth.backends import ModelBackend  # noqa: E402
from django.contrib.auth.hashers import check_password, make_password  # noqa: E402
from django.contrib.auth.models import Group, Permission, User  # noqa: E402
from django.contrib.contenttypes.models import ContentType  # noqa: E402
from django.contrib.sessions.models import Session  # noqa: E402
from django.db import connection  # noqa: E402
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse  # noqa: E402
from django.shortcuts import render  # noqa: E402
from django.template.response import TemplateResponse  # noqa: E402
from django.urls import path  # noqa: E402
from django.views.generic import TemplateView, View  # noqa: E402
from jinja2 import Environment  # noqa: E402


class Backend(ModelBackend):  # type: ignore[misc]
    def authenticate(self, request: Any, **credentials: Any) -> Any:
        truth["auth"] += 1
        return super().authenticate(request, **credentials)


@contextmanager
def queries() -> Iterator[None]:
    def counted(execute: Any, *args: Any) -> Any:
        truth["orm.compile"] += 1
        return execute(*args)

    with connection.execute_wrapper(counted):
        yield


def seen() -> None:
    truth["view"] += 1


def page(request: HttpRequest) -> HttpResponse:
    seen()
    with queries():
        groups = Group.objects.prefetch_related("permissions").order_by("id")
        truth["orm.load"] += 2
        first = Group.objects.get(pk=1)
        assert Group.objects.filter(permissions__codename="buy").count() == 3
        answer = render(request, "page.html", {"groups": groups})
        assert next(iter(groups)) == first
        assert len(list(Group.objects.order_by("id").iterator())) == 3
        return answer


def bench(request: HttpRequest) -> HttpResponse:
    groups = Group.objects.prefetch_related("permissions").order_by("id")
    return render(request, "page.html", {"groups": groups, "count": groups.count()})


async def later(request: HttpRequest) -> HttpResponse:
    seen()
    truth["orm.load"] += 1
    truth["orm.compile"] += 2
    names = [each.name async for each in Group.objects.order_by("id").all()[:2]]
    await asyncio.gather(asyncio.sleep(0.001), Group.objects.acount())
    return HttpResponse(",".join(names))


def deferred(request: HttpRequest) -> HttpResponse:
    seen()
    return TemplateResponse(request, "page.html", {"groups": []})


class Twice(View):  # type: ignore[misc]
    async def get(self, request: HttpRequest) -> HttpResponse:
        seen()
        return HttpResponse("twice")


class Page(TemplateView):  # type: ignore[misc]
    template_name = "page.html"

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        seen()
        return {"groups": []}


def broken(request: HttpRequest) -> HttpResponse:
    seen()
    return render(request, "broken.html")


def missing(request: HttpRequest) -> HttpResponse:
    seen()
    raise Http404


def stream(request: HttpRequest) -> HttpResponse:
    seen()
    truth["template.render"] += 1
    template = Environment(autoescape=True).from_string("{% for n in range(50) %}{{ n }},{% endfor %}")
    return StreamingHttpResponse(template.generate())


async def stream_later(request: HttpRequest) -> HttpResponse:
    seen()

    async def blocks() -> AsyncIterator[str]:
        async for block in template.generate_async():
            yield block

    truth["template.render"] += 1
    template = Environment(autoescape=True, enable_async=True).from_string(
        "{% for n in range(9) %}{{ n }},{% endfor %}"
    )
    return StreamingHttpResponse(blocks())


def data(request: HttpRequest) -> HttpResponse:
    seen()
    truth["serialize"] += 1
    return JsonResponse({"numbers": list(range(100))})


def login(request: HttpRequest) -> HttpResponse:
    seen()
    user = auth.authenticate(request, username="ann", password="secret")
    auth.login(request, user)
    return HttpResponse("in")


def me(request: HttpRequest) -> HttpResponse:
    seen()
    truth["auth"] += 3
    encoded = make_password("pass")
    assert check_password("pass", encoded)
    return HttpResponse(str(request.user))


def rest(request: HttpRequest) -> Any:
    from tests.sdk.components.django_site_rest import Groups

    return Groups.as_view()(request)


urlpatterns = [
    path("page", page),
    path("later", later),
    path("deferred", deferred),
    path("twice", Twice.as_view()),
    path("generic", Page.as_view()),
    path("broken", broken),
    path("missing", missing),
    path("stream", stream),
    path("stream-later", stream_later),
    path("data", data),
    path("login", login),
    path("me", me),
    path("rest", rest),
]
PATHS = ["/page", "/page", *(f"/{each.pattern}" for each in urlpatterns), "/nowhere"]
urlpatterns.append(path("bench", bench))


def fill() -> None:
    with connection.schema_editor() as editor:
        for model in (ContentType, Permission, Group, User, Session):
            editor.create_model(model)
    may_buy = Permission.objects.create(codename="buy", content_type=ContentType.objects.get_for_model(User))
    for name in ("ring", "cup", "pen"):
        Group.objects.create(name=name).permissions.add(may_buy)
    User.objects.create_user("ann", password="secret")


def main(way: str) -> None:
    from tests.sdk.servers.serving import Client, header, uvicorn_serving, wsgi_serving
    from tests.sdk.sink import Sink

    if way == "wsgi":
        from django.core.wsgi import get_wsgi_application as application
    else:
        from django.core.asgi import get_asgi_application as application
    fill()
    serving = wsgi_serving if way == "wsgi" else uvicorn_serving

    def ask(client: Client) -> tuple[list[str], list[Counter[str]]]:
        cookie: tuple[str, ...] = ()
        answers, truths = [], []
        for each in PATHS:
            truth.clear()
            answer = client.ask(each, headers=cookie)
            time.sleep(0.02)  # an ASGI application may still be closing
            truths.append(truth.copy())
            if each == "/login":
                session = (header(answer, "set-cookie") or "").partition(";")[0]
                cookie = (f"Cookie: {session}",)
                answer = answer.replace(session.encode(), b"session")
            answers.append(answer.decode("latin-1").partition("expires=")[0])
        return answers, truths

    with ExitStack() as stack:
        sink = stack.enter_context(Sink())
        walltime.uninstrument()
        with serving(application()) as client:
            without, _ = ask(client)
        walltime.configure(endpoint=sink.endpoint, sample_probability=1.0, service_name="site", python_gc=False)
        walltime.instrument()
        with serving(application()) as client:
            answers, truths = ask(client)
            found = sink.wait_for(len(PATHS))
        found.sort(key=lambda each: each.span.start_time_unix_nano)
        bills = [
            {
                "path": path,
                "truth": counted,
                "calls": {each: span.cell(each)["calls"] for each in span.times_ns()},
                "errors": {each: span.cell(each).get("errors", 0) for each in span.times_ns()},
                "times_ns": span.times_ns(),
                "covered_ns": span.attributes["walltime.covered_ns"],
                "duration_ns": span.duration_ns,
            }
            for path, counted, span in zip(PATHS, truths, found, strict=True)
        ]
        print(json.dumps({"without": without, "with": answers, "bills": bills, "counters": walltime.counters()}))


if __name__ == "__main__":
    sys.modules[MODULE] = sys.modules["__main__"]
    main(sys.argv[1])

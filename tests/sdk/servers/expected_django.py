"""
A Django site whose components end by exceptions; prints path → [status, errors of its component, error type].

    python -m tests.sdk.servers.expected_django
"""

from __future__ import annotations

import json
from typing import Any

import walltime
from django.conf import settings

MODULE = "tests.sdk.servers.expected_django"
if not settings.configured:
    settings.configure(
        ALLOWED_HOSTS=["*"],
        ROOT_URLCONF=MODULE,
        SECRET_KEY="of the tests",
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "rest_framework"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        LOGGING_CONFIG=None,
    )

import django  # noqa: E402  # after its settings

django.setup()

from django import http  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core import exceptions  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework import exceptions as rest  # noqa: E402
from rest_framework.decorators import api_view  # noqa: E402


@api_view(["GET"])  # type: ignore[untyped-decorator]  # rest_framework has no types
@walltime.component("mine")
def raises(_request: Any, name: str) -> Any:
    error = {
        "Http404": http.Http404, "PermissionDenied": exceptions.PermissionDenied,
        "ValidationError": rest.ValidationError, "NotFound": rest.NotFound, "APIException": rest.APIException,
        "KeyError": KeyError,
    }[name]  # fmt: skip
    raise error("for a reason")


@walltime.component("mine")
def plain(_request: Any, name: str) -> Any:
    raise {"Suspicious": exceptions.SuspiciousOperation, "Http404": http.Http404, "KeyError": KeyError}[name]("x")


def empty(_request: Any) -> Any:
    found = [*User.objects.filter(pk__in=[]), *User.objects.none()]
    assert "WHERE" not in str(User.objects.exclude(pk__in=[]).query)
    return http.HttpResponse(str(len(found) + User.objects.filter(pk__in=[]).count()))


urlpatterns = [path("rest/<name>", raises), path("plain/<name>", plain), path("empty", empty)]


def main() -> None:
    from tests.sdk.servers.wsgi_server import serve
    from tests.sdk.sink import Sink

    with Sink() as sink:
        walltime.configure(service_name="site", endpoint=sink.endpoint, sample_probability=1.0)
        walltime.instrument()
        site, answers = get_wsgi_application(), {}
        names = ("Http404", "PermissionDenied", "ValidationError", "NotFound", "APIException", "KeyError")
        paths = [f"/rest/{name}" for name in names]
        for asked in (*paths, "/plain/Suspicious", "/plain/Http404", "/plain/KeyError", "/empty"):
            answers[asked] = int(serve(site, {"PATH_INFO": asked})[0][:3])
        found = {}
        for bill, (asked, status) in zip(sink.transactions(), answers.items(), strict=True):
            errors = {name: bill.cell(name).get("errors", 0) for name in bill.times_ns() if name != "python.gc"}
            found[asked] = [status, {name: count for name, count in errors.items() if count}]
        print(json.dumps(found))


if __name__ == "__main__":
    main()

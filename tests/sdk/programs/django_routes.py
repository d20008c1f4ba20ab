"""A Django project with every kind of route; asks it for the paths in argv as a WSGI server does."""

from __future__ import annotations

import sys
from typing import Any
from wsgiref.util import setup_testing_defaults

import walltime
from django.conf import settings
from django.conf.urls.i18n import i18n_patterns
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of the tests",
    MIDDLEWARE=["django.middleware.locale.LocaleMiddleware", f"{__name__}.by_page"],
    LANGUAGE_CODE="en-gb",
    LANGUAGES=[("en-gb", "English"), ("de", "Deutsch"), ("pt-br", "Português")],
    USE_I18N=True,
    USE_TZ=True,
    LOGGING_CONFIG=None,
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [],
        "UNAUTHENTICATED_USER": None,
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    },
)

from rest_framework.response import Response  # noqa: E402  # it reads the settings
from rest_framework.routers import DefaultRouter  # noqa: E402
from rest_framework.viewsets import ViewSet  # noqa: E402


def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    return HttpResponse("fine")


class HomePage:
    pass


class BlogPage:
    pass


def page(request: HttpRequest, where: str) -> HttpResponse:
    request.page = BlogPage() if where.startswith("blog") else HomePage()
    return HttpResponse("fine")


def by_page(get_response: Any) -> Any:
    """The middleware of docs/servers.md."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response: HttpResponse = get_response(request)
        if hasattr(request, "page"):
            walltime.routed_to(request.page)
        return response

    return middleware


class Users(ViewSet):  # type: ignore[misc]  # Django has no types here
    def list(self, request: Any, version: str, format: str | None = None) -> Response:
        return Response([])

    def retrieve(self, request: Any, version: str, pk: str, format: str | None = None) -> Response:
        return Response({"pk": pk})


router = DefaultRouter()
router.register("users", Users, basename="user")

catalogue = [
    re_path(r"^category/(?P<category_slug>[\w-]+(/[\w-]+)*)_(?P<pk>\d+)/$", view, name="category"),
    re_path(r"^(?P<product_slug>[\w-]*)_(?P<pk>\d+)/$", view, name="detail"),
    re_path(r"^(?:ranges|offers)/(\d+)/$", view, name="range"),
]
urlpatterns = [
    path("plain/<int:id>/<slug:name>", view),
    re_path(r"^api/v(?P<version>[0-9.]+)/", include((router.urls, "api"), namespace="api")),
    re_path(r"^reports/(?P<year>\d{4})(?:-(?P<month>\d{2}))?/?$", view),
    re_path(r"^sitemap\.xml$", view),
    re_path(r"^pages/((?:[\w\-]+/)*)$", page),
    *i18n_patterns(
        path("catalogue/", include((catalogue, "catalogue"), namespace="catalogue")),
        path("about/", view),
    ),
]


def main() -> None:
    from django.core.wsgi import get_wsgi_application

    walltime.instrument()
    application = get_wsgi_application()
    for asked in sys.argv[1:]:
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        environ["PATH_INFO"] = asked
        body = application(environ, lambda *_: None)
        b"".join(body)
        body.close()
    assert walltime.flush(10)


if __name__ == "__main__":
    sys.modules["django_routes"] = sys.modules["__main__"]
    main()

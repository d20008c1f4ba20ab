"""Makes the site and asks it for the paths in argv, one after the other, as a WSGI server does."""

from __future__ import annotations

import sys
from typing import Any
from wsgiref.util import setup_testing_defaults

import django
import walltime
from django.conf import settings
from django.urls import include, path

APPS = ["wagtail.users", "wagtail.images", "wagtail.documents", "wagtail.admin", "wagtail", "modelcluster", "taggit"]
APPS += ["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions", "django.contrib.messages"]

settings.configure(
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="wagtail_site.serve",
    SECRET_KEY="of the tests",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    INSTALLED_APPS=["wagtail_site", *APPS],
    MIGRATION_MODULES={name.rpartition(".")[2]: None for name in [*APPS, "wagtail_site", "wagtailcore"]}
    | {f"wagtail{name}": None for name in ("users", "images", "docs", "admin", "search")},
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {"loaders": [("django.template.loaders.locmem.Loader", {"page.html": "{{ page.title }}"})]},
        }
    ],
    WAGTAIL_SITE_NAME="test",
    WAGTAILADMIN_BASE_URL="http://127.0.0.1",
    STATIC_URL="/static/",
    LOGGING_CONFIG=None,
    USE_TZ=True,
)


def urls() -> list[Any]:
    from wagtail import urls as wagtail_urls

    return [path("", include(wagtail_urls))]


def main() -> None:
    walltime.instrument()
    django.setup()
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application

    call_command("migrate", run_syncdb=True, verbosity=0)
    from wagtail.models import Locale, Page, Site

    from wagtail_site.models import BlogPage, HomePage

    Locale.objects.create(language_code="en")
    root = Page.add_root(instance=Page(title="root", slug="root"))
    home = root.add_child(instance=HomePage(title="home", slug="home"))
    home.add_child(instance=BlogPage(title="one", slug="one")).add_child(instance=BlogPage(title="two", slug="two"))
    Site.objects.create(hostname="localhost", root_page=home, is_default_site=True)
    application = get_wsgi_application()
    for asked in sys.argv[1:]:
        environ: dict[str, Any] = {}
        setup_testing_defaults(environ)
        environ["PATH_INFO"] = asked
        body = application(environ, lambda *_: None)
        b"".join(body)
        body.close()
    assert walltime.flush(10)


def __getattr__(name: str) -> Any:
    if name == "urlpatterns":  # Wagtail's need the settings
        return urls()
    raise AttributeError(name)


if __name__ == "__main__":
    sys.modules["wagtail_site.serve"] = sys.modules["__main__"]
    main()

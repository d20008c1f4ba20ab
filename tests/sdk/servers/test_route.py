"""Routes have `{name}` for every parameter, whatever the framework and its regular expressions write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import walltime
from hypothesis import given
from hypothesis import strategies as st
from walltime.servers.request.route import from_django, named, simplified

from tests.sdk.sink import Sink

WORDS = st.from_regex(r"[a-z]{1,5}", fullmatch=True)
PROGRAMS = Path(__file__).parents[1] / "programs"


@pytest.mark.parametrize(
    ("route", "template"),
    [
        ("", ""),
        ("shop/product/<int:id>", "shop/product/{id}"),
        ("a.b/c+d/", "a.b/c+d/"),
        (r"((?:[\w\-]+/)*)$", "{}"),
        (r"^([\w\-/]*)$", "{}"),
        (r"catalogue/category/(?P<slug>[\w-]+(/[\w-]+)*)_(?P<pk>\d+)/$", "catalogue/category/{slug}_{pk}/"),
        (r"{language}/shop/(?P<pk>\d+)$", "{language}/shop/{pk}"),
        (r"shop/<slug:s>/(?P<year>\d{4})/$", "shop/{s}/{year}/"),
        (r"users\.(?P<format>[a-z0-9]+)/?$", "users.{format}"),
        (r"^sitemap\.xml$", "sitemap.xml"),
        (r"^sitemap.xml$", "sitemap.xml"),
        (r"^comments/(page-(?P<page>[0-9]+)/)?$", "comments/page-{page}/"),
        (r"^a/(\d+)/(\w+)/\Z", "a/{}/{}/"),
        (r"^(?:blog|news)/(?P<pk>\d+)$", "{}/{pk}"),
        (r"^(?:api/)?v(?P<version>[0-9.]+)/$", "api/v{version}/"),
        (r"^(?P<a>(x|y)(z))/(?P=a)/$", "{a}/{a}/"),
        (r"^(?P<a>[)\]]+)/[^/]+/[]x]/$", "{a}/{}/{}/"),
        (r"^[a-z]+\d+/\w{2}\d*/.*$", "{}/{}/{}"),
        (r"^(?i)foo/(?=bar)(?!x)bar/(?#why)(?<=r/)$", "foo/bar/"),
        (r"^(?i:foo)/(?>x+)/$", "foo/{}/"),
        (r"^colou?r/a*b+/$", "color/b/"),
        (r"^\(a\)\+\-/$", "(a)+-/"),
        (r"^über/(?P<größe>\d+)$", "über/{größe}"),
        (r"^x/(?P<p>(?:a(?:b)*)+)/$", "x/{p}/"),
    ],
)
def test_a_regular_expression_becomes_a_template(route: str, template: str) -> None:
    assert from_django(route) == template


@pytest.mark.parametrize(
    ("route", "template"),
    [
        ("/product/{id}", "/product/{id}"),
        ("/static/{path:path}", "/static/{path}"),
        ("/user/<path:name>", "/user/{name}"),
        ("/user/<name>", "/user/{name}"),
        ("/<string(length=2):lang>/<any(a, b):kind>/", "/{lang}/{kind}/"),
        (r"/archive/{year:\d{4}}/{rest:.*}", "/archive/{year}/{rest}"),
    ],
)
def test_converters_become_their_names(route: str, template: str) -> None:
    assert simplified(route) == template


@pytest.mark.parametrize(
    ("given", "template"),
    [
        ("GET /product/<int:pid>", "GET /product/{pid}"),
        ("GET /product/<pid>", "GET /product/{pid}"),
        ("GET /product/<pid:int>/<slug:re:[a-z]+>", "GET /product/{pid}/{slug}"),
        ("GET /<any(a, b):kind>/<path:path>", "GET /{kind}/{path}"),
        ("POST /product/:pid", "POST /product/{pid}"),
        ("/flights/:from-:to.:format?", "/flights/{from}-{to}.{format}"),
        (r"/user/:id(\d+)/", "/user/{id}/"),
        (r"GET /product/(?P<pid>\d+)/$", "GET /product/{pid}/"),
        (r"GET /product/(?<pid>[^/]+)", "GET /product/{pid}"),
        (r"^/product/(?P<pid>\d{4})$", "/product/{pid}"),
        (r"GET ^product/(?P<pid>\d+)$", "GET /product/{pid}"),
        (r"GET /archive/([0-9]+)/(\w+)", "GET /archive/{}/{}"),
        ("GET /product/{pid:int}", "GET /product/{pid}"),
        ("GET /product/{pid:int(min=1, max=9)}", "GET /product/{pid}"),
        (r"/part/{number:\d{1,3}}", "/part/{number}"),
        ("GET /files/{path:path}", "GET /files/{path}"),
        ("GET /files/*", "GET /files/{}"),
        ("GET /files/*path", "GET /files/{path}"),
        ("GET /files/**/x", "GET /files/{}/x"),
        ("WEBSOCKET /chat/<room>", "WEBSOCKET /chat/{room}"),
        ("GET /product/{id}", "GET /product/{id}"),
        ("GET /v1/things/{id}:cancel", "GET /v1/things/{id}:cancel"),
        ("GET /wiki (cached: <b>)", "GET /wiki (cached: <b>)"),
        ("GET /wiki(old)", "GET /wiki(old)"),
        ("import <products> *", "import <products> *"),
        ("shop.mail:send", "shop.mail:send"),
        ("GET", "GET"),
        ("", ""),
    ],
)
def test_a_route_that_the_application_names_is_a_template_in_any_notation(given: str, template: str) -> None:
    assert named(given) == template
    assert named(template) == template
    with walltime.transaction(given) as opened:
        assert opened.name == template
        opened.set_name("other")
        opened.set_name(given)
        assert opened.name == template


@given(st.text("/<>:{}()[]*?P\\^$+.aZ_1 -|"))
def test_any_text_is_a_name(text: str) -> None:
    assert isinstance(named(text), str)
    assert isinstance(named(f"GET /{text}"), str)
    assert named(f"job {text}") == f"job {text}"


@given(st.text(alphabet="ab/-_.\\^$()[]{}<>?P=!:|*+dwZ1,", max_size=40))
def test_any_text_is_survived(route: str) -> None:
    assert isinstance(from_django(route), str)
    assert isinstance(simplified(route), str)


@given(
    st.lists(
        st.one_of(
            WORDS.map(lambda word: (word, word)),
            WORDS.map(lambda name: (rf"(?P<{name}>[\w-]+(?:/\w+)*)", f"{{{name}}}")),
            WORDS.map(lambda name: (f"<int:{name}>", f"{{{name}}}")),
            st.sampled_from([(r"(\d+)", "{}"), (r"[^/]+", "{}"), (r"\.html", ".html"), (r"(?:a|b)", "{}")]),
        ),
        max_size=6,
    )
)
def test_parts_are_converted_each_by_itself(parts: list[tuple[str, str]]) -> None:
    route = "^" + "/".join(part for part, _ in parts) + "$"
    assert from_django(route) == "/".join(template for _, template in parts)


def test_hundreds_of_groups_in_groups_are_one_placeholder() -> None:
    assert from_django("(" * 900 + "a" + ")" * 900) == "{}"
    assert len(from_django("(?P<a>x)" * 10_000)) <= 2000


ROUTES = {
    "/": "GET",
    "/plain/1/x": "GET /plain/{id}/{name}",
    "/api/v1.0/users/": "GET /api/v{version}/users/",
    "/api/v1.0/users/7/": "GET /api/v{version}/users/{pk}/",
    "/api/v1.0/users/7.json": "GET /api/v{version}/users/{pk}.{format}",
    "/api/v1.0/users.json": "GET /api/v{version}/users.{format}",
    "/api/v1.0/": "GET /api/v{version}/",
    "/reports/2020-01/": "GET /reports/{year}-{month}",
    "/sitemap.xml": "GET /sitemap.xml",
    "/pages/": "GET /pages/{HomePage}",
    "/pages/blog/one/": "GET /pages/{BlogPage}",
    "/en-gb/catalogue/category/books/fiction_7/": "GET /{language}/catalogue/category/{category_slug}_{pk}/",
    "/de/catalogue/category/books_7/": "GET /{language}/catalogue/category/{category_slug}_{pk}/",
    "/pt-br/catalogue/the-book_7/": "GET /{language}/catalogue/{product_slug}_{pk}/",
    "/de/catalogue/offers/7/": "GET /{language}/catalogue/{}/{}/",
    "/pt-br/about/": "GET /{language}/about/",
    "/fr/about/": "GET",
}


def ask(sink: Sink, program: list[str], paths: list[str]) -> list[str]:
    """The names of the transactions that a project's requests leave."""
    environment = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": sink.endpoint,
        "WALLTIME_TESTING_RAISE": "1",
        "PYTHONPATH": os.pathsep.join([str(PROGRAMS), *sys.path]),
    }
    command = [sys.executable, *program, *paths]
    done = subprocess.run(
        command, env=environment, cwd=PROGRAMS, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return [each.span.name for each in sink.wait_for(len(paths))]


def test_a_django_project_with_languages_namespaces_and_rest_framework(sink: Sink) -> None:
    names = ask(sink, ["django_routes.py"], list(ROUTES))
    assert dict(zip(ROUTES, names, strict=True)) == ROUTES
    routes = [each.attributes.get("http.route") for each in sink.transactions()]
    assert routes == [name.partition(" ")[2] or None for name in names]


@pytest.mark.nightly
def test_wagtails_pages_are_named_by_their_class(sink: Sink) -> None:
    paths = {
        "/": "GET /{HomePage}",
        "/one/": "GET /{BlogPage}",
        "/one/two/": "GET /{BlogPage}",
        "/none/": "GET /{}",
        "/one": "GET",
        "/_util/login/": "GET /_util/login/",
    }
    assert ask(sink, ["-m", "wagtail_site.serve"], list(paths)) == list(paths.values())


def test_what_a_route_leads_to_replaces_its_last_parameter(recorded: Sink) -> None:
    class HomePage: ...

    for name, page in (
        ("GET /{}", HomePage()),
        ("GET /{language}/{}", HomePage),
        ("GET /{language}/about/", "HomePage"),
        ("POST /pages/{path}/edit", HomePage),
        ("GET", HomePage),
    ):
        with walltime.transaction("job", kind="server") as transaction:
            transaction.set_name(name)
            walltime.routed_to(page)
    walltime.routed_to(HomePage)  # outside of any request it does nothing
    assert [each.span.name for each in recorded.wait_for(5)] == [
        "GET /{HomePage}",
        "GET /{language}/{HomePage}",
        "GET /{language}/about/{HomePage}",
        "POST /pages/{HomePage}/edit",
        "GET",
    ]

"""Components of Flask and Jinja2: counts equal the truth, times add up, answers are the same bytes as without us."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import flask
import pytest
import walltime
from jinja2 import DictLoader, Environment, TemplateNotFound
from werkzeug.wrappers import Response

from tests.sdk.servers.serving import header, wsgi_serving
from tests.sdk.sink import Sink

TEMPLATES = {
    "base": "<h1>{% block title %}{% endblock %}</h1>",
    "page": "{% extends 'base' %}{% block title %}"
    "{% for each in range(50) %}{% include 'one' %}{% endfor %}{% endblock %}",
    "one": "{{ each }},",
    "broken": "before {{ missing.attribute }}",
}


def shop(truth: Counter[str]) -> flask.Flask:
    app = flask.Flask("shop")
    app.secret_key = "of the tests"
    app.jinja_loader = DictLoader(TEMPLATES)
    app.logger.disabled = True

    def seen(*components: str) -> None:
        truth.update(["view", *components])

    @app.get("/page")
    def page() -> str:
        seen("template.render")
        return flask.render_template("page")

    @app.get("/stream")
    def stream() -> Response:
        seen("template.render")
        return app.response_class(flask.stream_template("page"))

    @app.get("/buffered")
    def buffered() -> Response:
        seen("template.render")
        blocks = app.jinja_env.get_template("page").stream()
        blocks.enable_buffering(10)
        return app.response_class(blocks)

    @app.get("/json")
    def json() -> dict[str, list[int]]:
        seen("serialize")
        return {"numbers": list(range(10))}

    @app.get("/visits")
    async def visits() -> str:
        seen()
        flask.session["visits"] = flask.session.get("visits", 0) + 1
        return str(flask.session["visits"])

    @app.get("/broken")
    def broken() -> str:
        seen("template.render")
        return flask.render_template("broken")

    @app.get("/refused")
    def refused() -> str:
        seen()
        flask.abort(403)

    return app


PATHS = ["/page", "/stream", "/buffered", "/json", "/visits", "/visits", "/broken", "/refused", "/nowhere"]


def test_counts_equal_the_truth_times_add_up_and_answers_are_the_same(recorded: Sink) -> None:
    truth: Counter[str] = Counter()

    def answers() -> tuple[list[bytes], list[Counter[str]]]:
        cookie: tuple[str, ...] = ()
        found, truths = [], []
        with wsgi_serving(shop(truth)) as client:
            for path in PATHS:
                truth.clear()
                answer = client.ask(path, headers=cookie)
                if session := header(answer, "set-cookie"):
                    cookie = (f"Cookie: {session.partition(';')[0]}",)
                    answer = answer.replace(session.encode(), b"session")
                found.append(answer)
                truths.append(truth.copy())
        return found, truths

    walltime.uninstrument()
    without, _ = answers()
    walltime.instrument()
    found, truths = answers()
    assert found == without
    spans = sorted(recorded.wait_for(len(PATHS)), key=lambda span: span.span.start_time_unix_nano)
    for path, counted, span in zip(PATHS, truths, spans, strict=True):
        times_ns = span.times_ns()
        calls = {name: span.cell(name)["calls"] for name in times_ns}
        assert calls == {"middleware": 1, "session": 2, **counted}, path
        assert sum(times_ns.values()) == span.attributes["walltime.covered_ns"] <= span.duration_ns
        failed = {name for name in calls if span.cell(name).get("errors")}
        assert failed == ({"template.render"} if path == "/broken" else set())


def test_a_template_that_is_made_in_pieces_is_one_call_without_the_time_between_them(recorded: Sink) -> None:
    environment = Environment(loader=DictLoader(TEMPLATES), autoescape=True)
    expected = environment.get_template("page").render()
    with walltime.transaction("job"):
        blocks = environment.get_template("page").generate()
        assert next(blocks)
        with walltime.component("between"):
            asyncio.run(asyncio.sleep(0.02))
        assert len("".join(blocks)) == len(expected) - len("<h1>")
    span = recorded.transaction()
    assert span.cell("template.render") == {"calls": 1}
    assert span.times_ns()["template.render"] < span.duration_ns - 20_000_000


def test_an_iteration_that_is_broken_off_and_one_that_fails_pass_unchanged(recorded: Sink) -> None:
    environment = Environment(loader=DictLoader(TEMPLATES), autoescape=True)
    with walltime.transaction("job"):
        blocks: Any = environment.get_template("page").generate()
        assert next(blocks) == "<h1>"
        blocks.close()
        assert list(blocks) == []
        with pytest.raises(TemplateNotFound):
            environment.get_template("none")
        with pytest.raises(Exception, match="'missing' is undefined"):
            list(environment.get_template("broken").generate())
    assert recorded.transaction().cell("template.render") == {"calls": 2, "errors": 1}


def test_rendering_in_coroutines_counts_each_of_them(recorded: Sink) -> None:
    environment = Environment(loader=DictLoader(TEMPLATES), autoescape=True, enable_async=True)

    async def pages() -> list[str]:
        template = environment.get_template("page")
        whole = await asyncio.gather(*[template.render_async() for _ in range(3)])
        return [*whole, "".join([block async for block in template.generate_async()])]

    with walltime.transaction("job"):
        assert len(set(asyncio.run(pages()))) == 1
    (span,) = recorded.transactions()
    assert span.cell("template.render") == {"calls": 4}

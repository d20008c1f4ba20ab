"""The Flask application that test_flask.py serves."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import flask
import walltime
from werkzeug.wrappers import Response

BLOCKS = 3


def shop() -> flask.Flask:
    app = flask.Flask("shop")
    admin = flask.Blueprint("admin", "shop", url_prefix="/admin")

    @app.before_request
    def begin() -> None:
        flask.g.name_in_time = walltime.current().name

    @app.get("/product/<int:id>")
    def product(id: int) -> dict[str, Any]:
        with walltime.component("render"):
            return {"id": id, "name": flask.g.name_in_time}

    @app.get("/async/<name>")
    async def later(name: str) -> str:
        with walltime.component("render"):
            return name

    @admin.route("/user/<path:name>", methods=["GET", "POST"])
    def user(name: str) -> str:
        return name

    @app.get("/stream")
    def stream() -> Response:
        def blocks() -> Iterator[str]:
            for number in range(BLOCKS):
                with walltime.component("stream"):
                    yield f"{number}"

        return app.response_class(blocks())

    @app.get("/broken stream")
    def broken_stream() -> Response:
        def blocks() -> Iterator[str]:
            yield "first"
            raise LookupError("mine")

        return app.response_class(blocks())

    @app.get("/endless")
    def endless() -> Response:
        def blocks() -> Iterator[bytes]:
            while True:
                yield b"x" * 65536

        return app.response_class(blocks())

    @app.get("/file")
    def file() -> Response:
        return flask.send_file(io.BytesIO(b"content" * 1000), "text/plain", etag="one", conditional=True)

    @app.get("/fails")
    def fails() -> str:
        raise LookupError("mine")

    @app.get("/handled")
    def handled() -> str:
        raise KeyError("handled")

    @app.errorhandler(KeyError)
    def handle(error: KeyError) -> tuple[str, int]:
        return "handled", 409

    app.register_blueprint(admin)
    return app

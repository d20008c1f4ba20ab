"""An application that knows nothing of Walltime, and a server of it for one request."""

import threading
import urllib.request
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None: ...


def app(environ, start_response):  # type: ignore[no-untyped-def]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"once"]


def main() -> None:
    server = make_server("127.0.0.1", 0, app, handler_class=Quiet)
    serving = threading.Thread(target=server.handle_request)
    serving.start()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
        assert answer.read() == b"once"
    serving.join()
    server.server_close()
    print("ran")

"""WSGI: a transaction from the call of the application until the server closes the response body (PEP 3333)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from walltime import propagation, runtime
from walltime.errors import contain
from walltime.hotpath import clock
from walltime.server.queue_time import queue_ns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Environ = dict[str, Any]
    StartResponse = Callable[..., Any]
    Application = Callable[[Environ, StartResponse], Iterable[bytes]]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"})
_OURS = "walltime.transaction"


class WSGIMiddleware:
    """
    Wraps a WSGI application so that every request leaves its bill.

        app = walltime.WSGIMiddleware(app)

    The transaction is named by its method until `walltime.current().set_name("GET /product/{id}")` says the route.
    """

    def __init__(self, app: Application) -> None:
        self.app = app
        self._is_enabled = runtime.settings().enabled

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        started_ns = clock()
        if not self._is_enabled or _OURS in environ:  # the second of two middlewares around one application
            return self.app(environ, start_response)
        try:
            opened = _open(environ, started_ns)
        except Exception as error:  # our failure is not the request's
            contain("wsgi", error)
            return self.app(environ, start_response)
        transaction = opened.transaction

        def started(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
            code = status[:3]
            if code.isdigit():
                transaction.http_status = int(code)
                if code[0] == "5":
                    transaction.is_error = True
                    transaction.error_type = transaction.error_type or code
            if exc_info is not None:
                return start_response(status, headers, exc_info)
            return start_response(status, headers)

        try:
            body = self.app(environ, started)
        except BaseException as error:
            transaction.fail(type(error).__name__)
            opened.finish()
            raise
        file_wrapper = environ.get("wsgi.file_wrapper")
        if isinstance(file_wrapper, type) and isinstance(body, file_wrapper):
            return _closing(body, opened)
        return _SizedBody(body, opened) if hasattr(body, "__len__") else _Body(body, opened)


def _open(environ: Environ, started_ns: int) -> runtime.Open:
    method = str(environ.get("REQUEST_METHOD", ""))
    method = method if method in _METHODS else "_OTHER"
    opened = runtime.Open(method, "server", propagation.extract(environ), started_ns)
    transaction = opened.transaction
    transaction.method = method
    transaction.scheme = str(environ.get("wsgi.url_scheme", ""))
    transaction.path = str(environ.get("PATH_INFO", ""))
    transaction.queue_ns = queue_ns(environ, transaction.started_at_ns)
    opened.enter()
    environ[_OURS] = transaction
    return opened


def _closing(body: Any, opened: runtime.Open) -> Iterable[bytes]:
    """The server sends such a body by sendfile only while it has its own type, so only its `close` is extended."""
    close = getattr(body, "close", None)

    def closed() -> None:
        try:
            if close is not None:
                close()
        finally:
            opened.finish()

    try:
        body.close = closed
    except AttributeError:
        return _Body(body, opened)
    return body  # type: ignore[no-any-return]  # it came from the application as it is


class _Body:
    """The application's response body; the transaction ends when the server closes it."""

    __slots__ = ("_body", "_opened")

    def __init__(self, body: Iterable[bytes], opened: runtime.Open) -> None:
        self._body = body
        self._opened = opened

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._body
        except GeneratorExit:
            raise
        except BaseException as error:
            self._opened.transaction.fail(type(error).__name__)
            raise

    def close(self) -> None:
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        except BaseException as error:
            self._opened.transaction.fail(type(error).__name__)
            raise
        finally:
            self._opened.finish()


class _SizedBody(_Body):
    """A body whose length is known: servers set Content-Length from a list of one block."""

    __slots__ = ()

    def __len__(self) -> int:
        return len(self._body)  # type: ignore[arg-type]  # chosen because it has a length

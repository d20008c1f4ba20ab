"""
WSGI: a transaction from the call of the application until the response body is at its end (PEP 3333).

What happens when the server closes the body then (Django's signals, Flask's `call_on_close`) is after the response.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from walltime import runtime
from walltime.core.execution import current, inherited
from walltime.core.transaction import clock
from walltime.errors import contain
from walltime.servers.gateways.transparent import SERVES, Transparent
from walltime.servers.request.request import MARK, answered, failed, incomplete, open_request
from walltime.servers.request.server_timing import server_timing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Environ = dict[str, Any]
    StartResponse = Callable[..., Any]
    Application = Callable[[Environ, StartResponse], Iterable[bytes]]


class WSGIMiddleware(Transparent):
    """
    Wraps a WSGI application; every request becomes a transaction.

        app = walltime.WSGIMiddleware(app)

    The transaction is named by its method until an instrumented framework finds the route, or until
    `walltime.current().set_name("GET /product/{id}")` is called.
    """

    def __init__(self, app: Application) -> None:
        super().__init__(app)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        return serve(self.app, environ, start_response)


def serve(app: Application, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
    """Call the application in a new transaction, unless the request already has one."""
    started_ns = clock()
    try:
        opened = _open(environ, started_ns)
    except Exception as ours:
        contain("wsgi", ours)
        opened = None
    if opened is None:
        return app(environ, start_response)
    transaction = opened.transaction

    def started(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Any:
        try:
            answered(transaction, int(status[:3]))
            if opened.shows_bill:
                headers = [*headers, ("Server-Timing", server_timing(transaction))]
        except Exception as ours:  # an invalid status: the server reports it
            if not isinstance(ours, ValueError):
                contain("wsgi", ours)
        if exc_info is not None:
            return start_response(status, headers, exc_info)
        return start_response(status, headers)

    file_wrapper = environ.get("wsgi.file_wrapper")
    files: list[object] = []
    if file_wrapper is not None and not isinstance(file_wrapper, type):
        environ["wsgi.file_wrapper"] = _noting(file_wrapper, files)
    try:
        body = app(environ, started)
    except BaseException as error:
        failed(transaction, error)
        opened.finish()
        raise
    try:
        if files and any(body is file for file in files):
            opened.finish()  # its identity says that the server sends it by itself
            return body
        if isinstance(file_wrapper, type) and isinstance(body, file_wrapper):
            return _closing(body, opened)
        return _kind_of(body)(body, opened)
    except Exception as ours:
        contain("wsgi", ours)
        opened.finish()
        return body


def served(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a framework's method that is a WSGI application."""

    def __call__(self: Any, environ: Environ, start_response: StartResponse) -> Any:  # noqa: N807  # it replaces one
        if MARK in environ:
            return original(self, environ, start_response)
        return serve(partial(original, self), environ, start_response)

    __call__.__dict__[SERVES] = True
    return __call__


def _open(environ: Environ, started_ns: int) -> runtime.Open | None:
    if MARK in environ or not runtime.is_enabled():
        return None
    around = None if inherited() is None else current()
    if around is not None and around.transaction.owner and not around.transaction.duration_ns:
        return None  # mounted in an instrumented ASGI application: only asyncio sets an owner
    get = environ.get
    method, scheme, path = str(get("REQUEST_METHOD", "")), str(get("wsgi.url_scheme", "")), str(get("PATH_INFO", ""))
    opened = open_request(method, scheme, path, environ, started_ns)
    environ[MARK] = opened.transaction
    return opened


def _closing(body: Any, opened: runtime.Open) -> Iterable[bytes]:
    """Extend only `close`: servers use sendfile only for a body of their own type."""
    close = getattr(body, "close", None)

    def closed() -> None:
        opened.end_response()
        try:
            if close is not None:
                close()
        finally:
            opened.finish()

    try:
        body.close = closed
    except (AttributeError, TypeError):  # of a class in C
        opened.finish()
    return body  # type: ignore[no-any-return]  # unchanged from the application


def _noting(file_wrapper: Callable[..., Any], files: list[object]) -> Callable[..., Any]:
    """A file wrapper that is no class, as of uWSGI and mod_wsgi: only its results themselves are sent by sendfile."""

    def wrap(*args: Any, **kwargs: Any) -> Any:
        files.append(made := file_wrapper(*args, **kwargs))
        return made

    return wrap


class _Body:
    """The application's response body; the transaction ends when the server closes or drops it."""

    def __init__(self, body: Any, opened: runtime.Open) -> None:
        self._body = body
        self._opened = opened
        self._is_begun = self._is_over = False

    def __getattr__(self, name: str) -> Any:
        return getattr(object.__getattribute__(self, "_body"), name)

    def __iter__(self) -> Iterator[bytes]:
        self._is_begun = True
        try:
            yield from self._body
        except GeneratorExit:
            raise
        except BaseException as error:
            failed(self._opened.transaction, error)
            raise
        self._is_begun = False  # the server has sent all of it
        if type(self._body) is list:  # it has no `close`: nothing of the application follows
            self._is_over = self._opened.finish()
        else:
            self._opened.end_response()

    def close(self) -> None:
        if self._is_over:
            return
        self._incomplete()
        self._opened.end_response()
        try:
            close = getattr(self._body, "close", None)
            if close is not None:
                close()
        except BaseException as error:
            failed(self._opened.transaction, error)
            raise
        finally:
            self._opened.finish()

    def __del__(self) -> None:
        if not self._opened.transaction.is_over:
            self._incomplete()
            self._opened.finish()

    def _incomplete(self) -> None:
        """Record when the server stopped before the end."""
        transaction = self._opened.transaction
        if self._is_begun and not transaction.is_error and not transaction.duration_ns:
            incomplete(transaction)


class _SizedBody(_Body):
    """A body with a length."""

    def __len__(self) -> int:
        return len(self._body)


class _ListBody(_Body, list):  # type: ignore[type-arg]
    """Still a list: for one of one block, servers set Content-Length."""

    def __init__(self, body: Any, opened: runtime.Open) -> None:
        _Body.__init__(self, body, opened)
        list.__init__(self, list.__iter__(body))  # no method of a class of the application's, here and below


class _TupleBody(_Body, tuple):  # type: ignore[type-arg]
    def __new__(cls, body: Any, _opened: runtime.Open) -> _TupleBody:
        return tuple.__new__(cls, tuple.__iter__(body))


class _BytesBody(_Body, bytes):  # type: ignore[misc]  # it iterates as the application's body does
    """What uWSGI sends as it is; others would iterate over its numbers."""

    def __new__(cls, body: Any, _opened: runtime.Open) -> _BytesBody:
        return bytes.__new__(cls, memoryview(body))


_BODIES: Final[dict[type, type[_Body]]] = {list: _ListBody, tuple: _TupleBody, bytes: _BytesBody}


def _kind_of(body: Any) -> type[_Body]:
    if type(body) is list:  # as most often
        return _ListBody
    for kind, of_kind in _BODIES.items():
        if issubclass(type(body), kind):
            return of_kind
    return _SizedBody if hasattr(body, "__len__") else _Body

"""
Walltime: where did the wall time of this request go, and why?

    import walltime

    walltime.configure(service_name="shop")
    walltime.instrument()
    app = walltime.WSGIMiddleware(app)

Every transaction leaves an itemized bill: time and call count for MySQL, memcache, HTTP, CPU, queue and the rest.
The data flow: servers → core ← clients, then export.
"""

from walltime import logs, unbilled  # noqa: F401  # `unbilled` waits for calls outside of any transaction
from walltime.api import CurrentTransaction, component, current, transaction
from walltime.configuration import configure
from walltime.errors import SettingsError, WalltimeError
from walltime.export.one_line import summary
from walltime.instrumentation.libraries import instrument, uninstrument
from walltime.runtime import counters, flush, shutdown
from walltime.self_check import check
from walltime.servers.gateways.asgi import ASGIMiddleware
from walltime.servers.gateways.wsgi import WSGIMiddleware
from walltime.servers.request.request import routed_to
from walltime.settings.settings import Settings
from walltime.version import VERSION

__version__ = VERSION

__all__ = [
    "ASGIMiddleware",
    "CurrentTransaction",
    "Settings",
    "SettingsError",
    "WSGIMiddleware",
    "WalltimeError",
    "__version__",
    "check",
    "component",
    "configure",
    "counters",
    "current",
    "flush",
    "instrument",
    "logs",
    "routed_to",
    "shutdown",
    "summary",
    "transaction",
    "uninstrument",
]

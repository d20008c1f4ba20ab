"""The addresses of the collector's pages that show the steps of the demo."""

from __future__ import annotations

from walltime_collector.pages import urls

from shop.ask import iso
from shop.story import Truth
from shop.watch import Window

SERVICE = "shop"
_SECOND_NS = 1_000_000_000


class Pages:
    """
    Pages of one collector.

    Args:
        url: Its web port, `http://host:port`.
    """

    def __init__(self, url: str) -> None:
        self._url = url

    def overview(self, time: str = "") -> str:
        """Response time, and the kinds that take the time."""
        return self._url + urls.overview({"time": time})

    def kind(self, name: str, time: str) -> str:
        """One kind."""
        return self._url + urls.kind(SERVICE, name, {"time": time})

    def restart(self, truth: Truth) -> str:
        """Why the product pages became slower: the time after the restart, against the time before it."""
        assert truth.before is not None
        assert truth.after is not None
        params = {"during": span(truth.after), "against": span(truth.before)}
        return self._url + urls.kind(SERVICE, truth.kind, {"time": span(truth.before, truth.after), **params})

    def incidents(self) -> str:
        """What the collector noticed by itself."""
        return self._url + urls.incidents()

    def incident(self, incident_id: str) -> str:
        """One of those, with its explanation."""
        return self._url + urls.incident(incident_id)

    def database(self, address: str) -> str:
        """What a database says of itself."""
        return self._url + urls.server("mysql.query", address)

    def lock_wait(self, truth: Truth) -> str:
        """The checkout that waited for a row."""
        assert truth.lock_wait is not None
        return self._url + urls.transaction(truth.lock_wait.trace_id)


def span(first: Window, last: Window | None = None) -> str:
    """A window, or all from the first to the last, as options of `why` and pages take it: in full seconds."""
    ends = (first.since_ns, (last or first).until_ns)
    return "..".join(iso(ns // _SECOND_NS * _SECOND_NS) for ns in ends)

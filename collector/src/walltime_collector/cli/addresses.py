"""The address of the page that shows the same as a command: the same window and filters, as times that stay."""

from __future__ import annotations

from ..format import LONGEST_SINCE_S, unix_ns
from ..pages import urls
from ..query.advise.answer import Advised
from ..query.answers import Bill, Top, Trace
from ..query.diff.answer import Diff, Side
from ..query.digest.answer import Digest
from ..query.profile.answer import Profile
from ..query.why.answer import Population, Why
from ..query.windows import Window, written

COLLECTOR = urls.collector()


def of_top(top: Top, since: str) -> str:
    """The overview."""
    return urls.overview({"time": f"last {since}", "service": top.service, "by": "" if top.by == "total" else top.by})


def of_show(trace: Trace, bill: Bill) -> str:
    """The transaction."""
    is_root = bill is trace.transactions[0]
    return urls.transaction(trace.trace_id, {} if is_root else {"span": bill.span_id})


def of_why(why: Why) -> str:
    """The kind: with the compared windows, its slowest, or those that match."""
    if why.slowest_percent is not None:
        return urls.kind(why.service, why.name, {"time": _window(why.slow), "slowest": f"{why.slowest_percent:g}"})
    if why.when:
        return urls.kind(why.service, why.name, {"time": _window(why.slow), "when": why.when})
    first, last = sorted((why.usual, why.slow), key=lambda each: each.since)
    params = {"time": _window(first, last), "during": _window(why.slow), "against": _window(why.usual)}
    return urls.kind(why.service, why.name, params)


def of_profile(answer: Profile, **filters: str) -> str:
    """The kind, in the same time."""
    return urls.kind(answer.service, answer.name, {"time": _window(answer), **filters})


def of_diff(answer: Diff, *, when: str, against_when: str, service: str, where: str) -> str:
    """The differences: of the same windows, versions or conditions."""
    params = {"when": when, "against_when": against_when, "where": where}
    params["service"] = answer.kinds[0].service if service and answer.kinds else service
    if answer.now.version or when:
        versions = {"version": answer.now.version, "against_version": answer.usual.version}
        return urls.diff({"time": _window(answer.now), **versions, **params})
    first, last = sorted((answer.usual, answer.now), key=lambda each: each.since)
    times = {"time": _window(first, last), "during": _window(answer.now), "against": _window(answer.usual)}
    return urls.diff({**times, **params})


def of_digest(digest: Digest, since: str) -> str:
    """The statements, or the only one that was found."""
    length = f"{LONGEST_SINCE_S // 86_400}d" if since == "all" else since
    params = {"time": f"last {length}", "service": digest.service}
    if digest.statement and len(digest.statements) == 1:
        return urls.statement(digest.statements[0].fingerprint_id, params)
    by = "" if digest.by == "total" else digest.by
    return urls.statements({**params, "by": by, "containing": digest.statement})


def of_advice(answer: Advised) -> str:
    """The advice for the same time."""
    return urls.advice({"time": _window(answer), "service": answer.service, "kind": answer.kind})


def _window(first: Population | Advised | Side | Profile, last: Population | Side | None = None) -> str:
    return written(Window(unix_ns(first.since), unix_ns((last or first).until)))

"""One synthetic transaction: calls one after the other, and the bill that the SDK would send of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import NamedTuple

from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from ..otlp import Value, pairs

MS = 1_000_000
_SAMPLED = 0.05
_SAMPLE_NS = 10 * MS
_NONE: Mapping[str, int] = {}


class Call(NamedTuple):
    """A call that ended; `counts` are those of its component on the bill (docs/wire.md)."""

    component: str
    server: str
    statement: str
    offset_ns: int
    counts: dict[str, int]
    attributes: dict[str, Value]


class Transaction:
    """Time passes with `spend` and `call`; the transaction is as long as these."""

    def __init__(self, service: str, name: str, started_ns: int, chance: Random) -> None:
        self.service, self.name, self.started_ns, self.duration_ns, self.cpu_ns = service, name, started_ns, 0, 0
        self.trace_id, self.span_id = f"{chance.getrandbits(128):032x}", f"{chance.getrandbits(64):016x}"
        self.kept = "random" if chance.random() < _SAMPLED else ""
        self.status, self.user = 200, f"user-{chance.randrange(400)}"
        self._chance, self._calls, self._samples = chance, list[Call](), list[tuple[tuple[str, ...], int]]()

    def spend(self, mean_ms: float, sample: tuple[str, str, str, str] | None = None) -> None:
        """Spend time in no measured call; the sampler sees its line, function, library and state."""
        took_ns = self._around(mean_ms)
        self.duration_ns += took_ns
        self.cpu_ns += took_ns if sample is None or sample[3] == "computing" else 0
        if sample and took_ns >= _SAMPLE_NS:
            self._samples.append((sample, took_ns // _SAMPLE_NS))

    def call(
        self,
        component: str,
        mean_ms: float,
        server: str,
        named: dict[str, Value],
        *,
        counts: Mapping[str, int] = _NONE,
        statement: str = "",
    ) -> int:
        """Make a call; returns its time in ns."""
        took_ns = self._around(mean_ms)
        counted = {"calls": 1, "time_ns": took_ns, **counts}
        self._calls.append(Call(component, server, statement, self.duration_ns, counted, named))
        self.duration_ns += took_ns + 20_000
        self.cpu_ns += 60_000
        return took_ns

    def spans(self) -> Iterator[Span]:
        """The bill, and the calls if they are kept."""
        is_error = self.status >= 500
        yield self._span(0, self.name, self.started_ns, self.duration_ns, self._bill(), is_error=is_error)
        for number, call in enumerate(self._calls if self.kept or is_error else (), 1):
            host, _, port = call.server.partition(":")
            named: dict[str, Value] = {
                **{"walltime.component": call.component, "walltime.own_ns": call.counts["time_ns"]},
                **{"server.address": host, "server.port": int(port), **call.attributes},
            }
            if call.statement:
                named |= {"db.query.text": call.statement, "db.response.returned_rows": call.counts["rows"]}
            name, started_ns = call.statement.partition(" ")[0] or call.component, self.started_ns + call.offset_ns
            is_error = call.counts.get("errors", 0) > 0
            yield self._span(number, name, started_ns, call.counts["time_ns"], named, is_error=is_error)

    def _span(
        self, number: int, name: str, started_ns: int, duration_ns: int, named: dict[str, Value], *, is_error: bool
    ) -> Span:
        return Span(
            trace_id=bytes.fromhex(self.trace_id),
            span_id=(int(self.span_id, 16) ^ number).to_bytes(8, "big"),
            parent_span_id=bytes.fromhex(self.span_id) if number else b"",
            name=name,
            kind=Span.SPAN_KIND_CLIENT if number else Span.SPAN_KIND_SERVER,
            start_time_unix_nano=started_ns,
            end_time_unix_nano=started_ns + duration_ns,
            attributes=pairs(named),
            status=Status(code=Status.STATUS_CODE_ERROR if is_error else Status.STATUS_CODE_UNSET),
        )

    def _bill(self) -> dict[str, Value]:
        method, _, route = self.name.partition(" ")
        bill: dict[str, Value] = {
            **{"walltime.schema": 1, "walltime.sample_probability": _SAMPLED},
            **{"walltime.kept": self.kept or ("error" if self.status >= 500 else "")},
            **{"walltime.covered_ns": sum(call.counts["time_ns"] for call in self._calls)},
            **{"walltime.cpu_user_ns": self.cpu_ns, "user.id": self.user},
            **{"http.request.method": method, "http.route": route, "http.response.status_code": self.status},
        }
        components: dict[str, Counter[str]] = defaultdict(Counter)
        targets: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        statements: dict[str, Counter[str]] = defaultdict(Counter)
        longest = Counter[str]()
        for call in self._calls:
            components[call.component].update(call.counts)
            targets[call.component, call.server].update(call.counts)
            longest[call.component] = max(longest[call.component], call.counts["time_ns"])
            if call.statement:
                statements[call.statement].update(call.counts)
        for component, counts in components.items():
            bill |= {f"walltime.{component}.{counter}": number for counter, number in counts.items()}
            bill[f"walltime.{component}.max_ns"] = longest[component]
        if targets:
            bill |= _columns("target", ("component", "address"), targets)
            bill |= _counts("target", ("calls", "time_ns", "errors", "hits", "misses"), targets.values())
        if statements:
            bill["walltime.statement.text"] = list(statements)
            bill |= _counts("statement", ("calls", "time_ns", "errors"), statements.values())
        if self._samples:
            bill["walltime.sample.interval_ns"] = _SAMPLE_NS
            bill["walltime.sample.component"] = ["other"] * len(self._samples)
            bill |= _columns("sample", ("line", "function", "library", "state"), [each for each, _ in self._samples])
            bill["walltime.sample.stack"] = [f"{each[1]} ({each[0]})" for each, _ in self._samples]
            bill["walltime.sample.count"] = [count for _, count in self._samples]
            bill["walltime.sample.time_ns"] = [count * _SAMPLE_NS for _, count in self._samples]
        return bill

    def _around(self, mean_ms: float) -> int:
        return int(self._chance.lognormvariate(-0.045, 0.3) * mean_ms * MS)


def _columns(of: str, names: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> dict[str, Value]:
    columns = zip(*rows, strict=True)
    return {f"walltime.{of}.{name}": column for name, column in zip(names, columns, strict=True)}


def _counts(of: str, names: tuple[str, ...], rows: Iterable[Counter[str]]) -> dict[str, Value]:
    return {f"walltime.{of}.{name}": [counts[name] for counts in rows] for name in names}

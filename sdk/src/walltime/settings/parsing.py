"""Parsers for the text of variables, one for each type of setting. Used only by settings.py."""

from __future__ import annotations

from urllib.parse import unquote

from walltime.settings.valid import EXPORTERS


class Unsupported(ValueError):
    """OpenTelemetry knows this value and we do not: a warning, and the setting is `instead`, or stays as it is."""

    def __init__(self, message: str, instead: object = None) -> None:
        super().__init__(message)
        self.instead = instead


def text(value: str) -> str:
    return value


def flag(value: str) -> bool:
    if value.lower() in {"true", "1", "yes", "on"}:
        return True
    if value.lower() in {"false", "0", "no", "off"}:
        return False
    raise ValueError("say true or false")


def negated(value: str) -> bool:
    return not flag(value)


def count(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("say a whole number") from None


def number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError("say a number") from None


def milliseconds(value: str) -> float:
    return number(value) / 1000


def words(value: str) -> tuple[str, ...]:
    """`a,b,c`, without the empty ones."""
    return tuple(word.strip() for word in value.split(",") if word.strip())


def pairs(value: str) -> dict[str, str]:
    """`name=value,…`, percent-encoded as OpenTelemetry says."""
    found = {}
    for item in words(value):
        name, equals, content = item.partition("=")
        if not equals:
            raise ValueError("say name=value,name=value")
        found[unquote(name.strip())] = unquote(content.strip())
    return found


def base_endpoint(value: str) -> str:
    """OTEL_EXPORTER_OTLP_ENDPOINT is the address below which each signal has its path."""
    return value.rstrip("/") + "/v1/traces"


def compression(value: str) -> bool:
    if value.lower() in {"gzip", "none"}:
        return value.lower() == "gzip"
    raise ValueError("say gzip or none")


def protocol(value: str) -> str:
    if value.lower() != "http/protobuf":
        raise Unsupported("only http/protobuf is spoken, so that no gRPC is loaded into the application")
    return "http/protobuf"


_EXPORTERS_OF_OTHERS = {
    "jaeger", "jaeger_proto", "jaeger_thrift", "zipkin", "zipkin_json", "zipkin_proto", "prometheus", "logging",
    "otlp_proto_grpc", "otlp_proto_http", "otlp_json_http", "otlp/stdout", "opencensus",
}  # fmt: skip


def exporters(value: str) -> tuple[str, ...]:
    """Those of `otlp` and `console` that are named; none for `none`."""
    named = tuple(dict.fromkeys(word.lower() for word in words(value)))
    if named == ("none",):
        return ()
    if "none" in named:
        raise ValueError("say otlp, console or both, or none alone")
    unknown = [name for name in named if name not in EXPORTERS]
    if not unknown:
        return named
    message = "there are the exporters otlp, console and none"
    if set(unknown) <= _EXPORTERS_OF_OTHERS:
        raise Unsupported(message, tuple(name for name in named if name in EXPORTERS) or None)
    raise ValueError(message)


def sql_comment(value: str) -> str:
    if value.lower() in {"full", "static"}:
        return value.lower()
    try:
        return "full" if flag(value) else "off"
    except ValueError:
        raise ValueError("say full, static or off") from None


def position(value: str) -> str:
    if value.lower() in {"append", "prepend"}:
        return value.lower()
    raise ValueError("say append or prepend")


def sampled_upstream(value: str) -> int | None:
    """A sampler that does not look at the caller's decision keeps nothing for it."""
    return 0 if value.lower() in _SAMPLERS else None


_SAMPLERS = {"always_on": 1.0, "always_off": 0.0, "traceidratio": None}


def sampler(value: str) -> float | None:
    """The share that a sampler keeps; None where its argument says it."""
    name = value.lower().removeprefix("parentbased_")
    if name not in _SAMPLERS:
        raise Unsupported("there are always_on, always_off and traceidratio, with or without parentbased_")
    return _SAMPLERS[name]

"""Renders a view model with its template, inside the frame that all views share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from .. import format as text
from ..query.components import FAMILIES, MEANINGS, family
from ..query.condition.fields import NAMES
from ..query.diff import wording as diff_wording
from ..query.digest import wording as statement_wording
from ..query.digest.short import shortened
from ..query.find.wording import sort_value
from ..query.incidents import wording as incident_wording
from ..query.names import shown
from ..query.profile import wording as profile_wording
from ..query.sampling import by_line
from ..query.scope import FILTERS
from ..query.transaction import place_words
from ..query.transaction import wording as transaction_wording
from ..query.transaction.lock_words import lock_lines
from ..query.why.wording import signed
from ..query.windows import Window
from ..statements.fingerprint import fingerprint_id, of_template
from . import urls
from .charts import bill
from .drawing.difference import difference
from .request import SCOPE_PARAMS
from .static_files import StaticFiles

SECTIONS = (
    ("overview", "Overview", "/"),
    ("transactions", "Transactions", "/transactions"),
    ("diff", "Diff", "/diff"),
    ("servers", "Servers", "/servers"),
    ("statements", "Statements", "/statements"),
    ("collector", "Collector", "/collector"),
    ("sql", "SQL", "/sql"),
    ("advice", "Advice", "/advice"),
    ("incidents", "Incidents", "/incidents"),
)
"""The navigation; a template sets `section` to one of the names."""
PRESETS = ("15m", "1h", "6h", "1d", "7d", "30d")


class Links:
    """Addresses that keep the time, the selection and the filters of the page on which they are."""

    def __init__(self, path: str, params: Mapping[str, str]) -> None:
        self._path = path
        self._params = {name: value for name, value in params.items() if value != SCOPE_PARAMS.get(name)}
        self._scope = {
            name: params[name] for name, default in SCOPE_PARAMS.items() if params.get(name, default) != default
        }

    def here(self, **changes: str) -> str:
        """This view with other parameters; an empty one is removed."""
        return urls.address(self._path, {**self._params, **changes})

    def path(self, path: str, **changes: str) -> str:
        """Another view."""
        return urls.address(path, {**self._scope, **changes})

    def kind(self, service: str, name: str, **changes: str) -> str:
        """A kind; the filters for service and kind are in its path."""
        return urls.kind(service, name, {**self._scope, "service": "", "kind": "", **changes})

    def transaction(self, trace_id: str, **changes: str) -> str:
        """A transaction."""
        return urls.transaction(trace_id, {**self._scope, **changes})

    def server(self, component: str, server_address: str, **changes: str) -> str:
        """A server."""
        return urls.server(component, server_address, {**self._scope, **changes})

    def statement(self, fingerprint_id: str) -> str:
        """A statement."""
        return urls.statement(fingerprint_id, self._scope)


@dataclass(frozen=True)
class Frame:
    """What is around a view: templates/base.html."""

    path: str
    """As it was requested, still quoted, without `.json`."""
    params: Mapping[str, str]
    """As they are written, also when they cannot be understood."""
    own_params: Mapping[str, str]
    """Those that are not of the scope."""
    has_scope: bool
    live_s: int
    """It is fetched again every so many seconds; 0 for never."""
    during: Window | None = None
    scope_part: str = ""
    """The template of further fields in the bar with time and filters."""

    @property
    def filters(self) -> dict[str, str]:
        """The active ones."""
        return {name: self.params[name] for name in FILTERS if self.params.get(name)}

    @property
    def json_address(self) -> str:
        """The same view as JSON."""
        params = {name: value for name, value in self.params.items() if value != SCOPE_PARAMS.get(name)}
        return urls.address(f"{self.path}.json", params)


class Pages:
    """The templates, the static files, and what every template can use."""

    def __init__(self) -> None:
        self.static_files = StaticFiles()
        self._environment = environment = Environment(
            loader=PackageLoader(__package__),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.policies["json.dumps_kwargs"] = {"default": asdict}  # dataclasses, for the scripts
        for each in (text.duration, text.milliseconds, text.count, text.size, text.iso_time, text.age, text.share):
            environment.filters[each.__name__] = each
        for more in (
            transaction_wording.has_every_call,
            text.unix_ns,
            text.percent,
            text.ratio,
            text.plural,
            text.uncertain,
            by_line,
            lock_lines,
            text.printable,
            shown,
            shortened,
            family,
            bill,
            difference,
            signed,
            sort_value,
        ):
            environment.filters[more.__name__] = more
        for of_incident in (incident_wording.what, incident_wording.numbers, incident_wording.worst):
            environment.filters[f"change_{of_incident.__name__}"] = of_incident
        environment.filters |= {
            "shortened": shortened,
            "statement_id": _statement_id,
        }
        environment.globals |= {
            "static": self.static_files.address,
            "SECTIONS": SECTIONS,
            "PRESETS": PRESETS,
            "FILTERS": FILTERS,
            "CONDITION_FIELDS": NAMES,
            "FAMILIES": FAMILIES,
            "MEANINGS": MEANINGS,
            "wording": transaction_wording,
            "ENDINGS": incident_wording.ENDINGS,
            "place_words": place_words,
            "profile_wording": profile_wording,
            "of_diff": diff_wording,
            "of_statement": statement_wording,
            "version": version("walltime-collector"),
        }

    def html(self, template: str, frame: Frame, **context: Any) -> bytes:
        """The page."""
        links = Links(frame.path, frame.params)
        return self._environment.get_template(template).render(frame=frame, links=links, **context).encode()


def _statement_id(text: str) -> str:
    """The id of a statement in the address of its view."""
    return f"{fingerprint_id(of_template(text)):016X}"

"""Explains a statement because a person wants to see its plan, on whichever observed server has run it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from ....clickhouse.engine import Engine
from ....errors import NotStored
from ....query.digest.answer import AskedPlan
from ....query.digest.plans import plan_of
from ....statements.fingerprint import fingerprint, fingerprint_id
from ...address import Address
from ...look import Lacking
from ...writer import Writer
from ..capabilities import capabilities
from ..connection import Connection, connect
from ..connection import explain as explain_error
from .explain import NotExplained, Samples
from .known import KnownPlans
from .look import PlansLook

_WITHIN_S = 7 * 86_400
_MOST_READ = 5_000


class Explainer:
    """
    All observed servers that have plans. Safe between threads; a server explains one statement at a time.

    Args:
        by_itself: `mysql_explain` of the settings.
        may_set_up: `mysql_setup` of the settings.
    """

    def __init__(self, writer: Writer, engine: Engine, *, by_itself: bool, may_set_up: bool = False) -> None:
        self._writer, self._engine, self._by_itself, self._may_set_up = writer, engine, by_itself, may_set_up
        self._servers: list[tuple[Address, KnownPlans]] = []

    def looks(self, address: Address) -> Sequence[PlansLook]:
        """Use this server too: what is asked of it again and again, if `mysql_explain` allows it."""
        known = KnownPlans(address.name, self._writer, self._engine)
        self._servers.append((address, known))
        look = PlansLook(address.name, self._writer, known, may_set_up=self._may_set_up)
        return [look] if self._by_itself else []

    def explain(self, number: int) -> AskedPlan:
        """
        Explain the statement whose fingerprint has this id, and store the plan.

        Raises:
            NotStored: There is no such server or statement, or a server refuses; with what each of them says.
        """
        reasons = []
        for address, known in self._servers:
            try:
                connection = connect(address)
                try:
                    return _explained(address, known, connection, number)
                finally:
                    connection.close()
            except (NotExplained, Lacking) as reason:
                reasons.append(f"{address.name}: {reason}")
            except Exception as error:  # noqa: BLE001  the next one may have it
                reasons.append(f"{address.name}: {explain_error(error) or type(error).__name__}")
        if not reasons:
            raise NotStored(
                "plan", "the collector asks no MySQL server", "start it with --mysql, see docs/observing.md"
            )
        raise NotStored("plan", "; ".join(reasons), "docs/observing.md, Plans, has what is needed")


def _explained(address: Address, known: KnownPlans, connection: Connection, number: int) -> AskedPlan:
    samples = Samples(connection, capabilities(connection), may_set_up=False)
    for sample in samples.read(connection, within_s=_WITHIN_S, limit=_MOST_READ):
        if fingerprint_id(fingerprint(sample.text)) == number:
            break
    else:
        raise NotExplained(
            "its performance_schema has no SELECT of this fingerprint that it ran lately and whose text is whole; texts"
            f" are cut at performance_schema_max_sql_text_length = {samples.max_bytes} bytes"
        )
    found = known.explain(connection, sample)
    if found is None:
        raise NotExplained("the values of the statement alone decide that it reads no table: it has no plan now")
    plan, changed = found
    now_ms = int(time.time() * 1_000)
    return AskedPlan(plan_of(plan, address.name, sample.schema, now_ms, now_ms, changed))

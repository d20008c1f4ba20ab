"""What was read of both sides, for those who look for a cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...clickhouse.engine import Engine, Parameter
from ..queries import written
from ..windows import Comparison
from .answer import Contribution, Population
from .finding import Evidence


@dataclass(frozen=True)
class Reading:
    """The two sides without single transactions, which are a finding of their own."""

    engine: Engine
    params: Mapping[str, Parameter]
    """Of queries/why/_compared.sql."""
    compared: Comparison
    usual: Population
    slow: Population
    components: tuple[Contribution, ...]
    """Like with like: the usual side has the mix of the slow one."""
    targets: tuple[Contribution, ...] = ()
    statements: tuple[Contribution, ...] = ()
    is_different: bool = True
    """The two sides differ beyond chance, or were chosen to differ."""

    @property
    def difference_ns(self) -> float:
        """Of the means."""
        return self.slow.mean_ns - self.usual.mean_ns

    def evidence(self, name: str, numbers: Mapping[str, float], *traces: str, **more: Parameter) -> Evidence:
        """
        The evidence that queries/why/evidence/<name>.sql gives: a row for each `side`, `slow` and `usual`.

        Args:
            more: Its parameters beside those of queries/why/_compared.sql.
        """
        return Evidence(written(f"why/evidence/{name}", **{**self.params, **more}), numbers, traces)

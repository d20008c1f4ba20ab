"""The jobs test_rq.py has real workers run."""

from __future__ import annotations

import asyncio

import walltime


def mail(to: int) -> str:
    with walltime.component("smtp"):
        return f"{to} {walltime.current().request_id}"


async def later(to: int) -> str:
    with walltime.component("smtp"):
        await asyncio.sleep(0)
    return f"{to} {walltime.current().request_id}"


def fails() -> None:
    raise LookupError("mine")

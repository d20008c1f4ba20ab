"""A bar on stderr for what takes a while; nothing where stderr is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Done = Callable[[int], object]
_LONG_BYTES = 8 * 1024 * 1024


@contextmanager
def progress(what: str, size_bytes: int) -> Iterator[Done]:
    """
    Yield what to call with the number of bytes done so far.

    Args:
        size_bytes: Of all; 0 if that is unknown. Little gets no bar.
    """
    if not sys.stderr.isatty() or 0 < size_bytes < _LONG_BYTES:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(binary_units=True))
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
    with bar:
        task = bar.add_task(what, total=size_bytes or None)
        yield lambda done: bar.update(task, completed=done)

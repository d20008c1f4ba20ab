"""Parameters as a docstring documents them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable


def documented_parameters(function: Callable[..., object]) -> dict[str, str]:
    """Return the text of each parameter in the section `Args`, on one line."""
    section = (inspect.getdoc(function) or "").partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.split(r"^ {4}(?=\w+: )", section, flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, _, text in (entry.partition(": ") for entry in entries)}

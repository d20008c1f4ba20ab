"""The code blocks of the documentation, and what of a command's output does not depend on the moment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from tests.docs.site import ROOT, places

_MARKDOWN = MarkdownIt().disable("inline")  # half of the CPU; a block of code has nothing inline


@dataclass(frozen=True)
class Block:
    page: Path
    """Relative to the repository."""
    line: int
    language: str
    """`shell` where it is indented."""
    title: str
    """`app.py` of ```` ```python title="app.py" ````."""
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> Iterator[tuple[str, str]]:
        """Of a block `console`: each command behind `$ `, in one line, and the output that the page shows."""
        for part in re.split(r"^\$ ", self.text.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield " ".join(command.split()), output


def blocks() -> list[Block]:
    """Return those of all pages of the site, in order."""
    found = []
    for file in sorted(file for file, place in places().items() if place.suffix == ".md" and file.is_file()):
        for token in _MARKDOWN.parse(file.read_text()):
            if token.type in ("fence", "code_block"):
                assert token.map is not None
                language, _, rest = token.info.partition(" ")
                title = rest.removeprefix('title="').removesuffix('"')
                kind = "shell" if token.type == "code_block" else language
                found.append(Block(file.relative_to(ROOT), token.map[0] + 1, kind, title, token.content))
    return found


def form(output: str) -> str:
    """Return the output without numbers, times, ids and bars, and with single spaces."""
    output = re.sub(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d:\d\d(\.\d+)?Z?)?|\b\d\d:\d\d:\d\d\b", "@", output)
    output = re.sub(r"\(\d+ (second|minute)s? ago\)", "(@)", output)
    output = re.sub(r"\b(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,32}\b", "#", output)
    output = re.sub(r"(?<!\S)[+−±-]?\d[\d,.]*×?( (ns|µs|ms|s|min|h|%|B|KiB|MiB|GiB)(?!\w))?", "0", output)
    output = re.sub(r"(?<!\S)[acfhmsv.]+(?!\S)", "", output)
    return " ".join(re.sub(r"\d[\d,.]*", "0", output).split())


def shows(documented: str, output: str) -> bool:
    """Whether the page shows this output, in form; a line `…` stands for any lines that the page leaves out."""
    parts = [form(part) for part in re.split(r"^…\n?", documented, flags=re.MULTILINE)]
    pattern = ".*".join(re.escape(part) for part in parts)
    return re.fullmatch(pattern, form(output)) is not None

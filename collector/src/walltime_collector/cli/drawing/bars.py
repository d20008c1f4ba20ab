"""Draws bars: in colour to an eighth of a character, without colour as one letter per component family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate

from rich.console import Console
from rich.style import Style
from rich.text import Text

from ...query.components import FAMILIES, MEANINGS, family

COLOURS: Mapping[str, str] = {
    "mysql": "#e8863a",
    "memcache": "#3fae4a",
    "redis": "#d6c22e",
    "http": "#4a90e2",
    "python": "#b066d9",
    "framework": "#c2347a",
    "custom": "#2bb3c0",
    "view": "#a1887f",
    "other": "#6e7681",
}
"""One colour per family, everywhere; distinct on dark and light terminals, also with 16 colours."""
LETTERS: Mapping[str, str] = {
    "mysql": "m",
    "memcache": "c",
    "redis": "r",
    "http": "h",
    "python": "p",
    "framework": "f",
    "custom": "a",
    "view": "v",
    "other": ".",
}
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def is_coloured(console: Console) -> bool:
    """Whether bars are in colour; if not, they are letters."""
    return console.color_system is not None and not console.no_color


def filled(items: Sequence[Text], width: int, gap: str = "  ") -> Text:
    """The items side by side, on as many lines as needed; an item that fits on a line is not broken."""
    lines = [Text()]
    for item in items:
        if lines[-1] and lines[-1].cell_len + len(gap) + item.cell_len > width:
            lines.append(Text())
        lines[-1].append(gap if lines[-1] else "").append_text(item)
    return Text("\n").join(lines)


def by_family(parts: Mapping[str, float]) -> dict[str, float]:
    """Component → size becomes family → size, in the order of FAMILIES."""
    sizes = dict.fromkeys(FAMILIES, 0.0)
    for component, size in parts.items():
        sizes[family(component)] += size
    return {name: size for name, size in sizes.items() if size > 0}


def stacked(sizes: Mapping[str, float], width: int, *, in_colour: bool) -> Text:
    """A bar of `width` cells, divided like `sizes` (family → size); blank without any size."""
    whole = sum(sizes.values())
    if whole <= 0:
        return Text(" " * width)
    ends = [end / whole * width for end in accumulate(sizes.values())]
    if not in_colour:
        letters = [
            LETTERS[name] * (round(end) - round(start))
            for name, start, end in zip(sizes, [0.0, *ends], ends, strict=False)
        ]
        return Text("".join(letters).ljust(width))
    bar = Text()
    for cell in range(width):
        inside = _inside(list(sizes), ends, cell)
        left, eighths = inside[0]
        right = inside[1][0] if len(inside) > 1 else left
        if eighths >= 8 or left == right:
            bar.append("█", COLOURS[left])
        else:
            bar.append(_EIGHTHS[eighths], Style(color=COLOURS[left], bgcolor=COLOURS[right]))
    return bar


def span(colour: str, letter: str, start: float, length: float, width: int, *, in_colour: bool) -> Text:
    """One bar on a line of `width` cells for 0…1; at least one cell, never beyond the line."""
    start = min(max(start, 0.0), 1.0)
    first = min(int(start * width), width - 1)
    if not in_colour:
        cells = max(1, round((start + length) * width) - first)
        return Text((" " * first + letter * min(cells, width - first)).ljust(width))
    end = min(max(start + length, start), 1.0) * width
    full = max(int(end) - first, 0)
    rest = round((end - int(end)) * 8)
    bar = Text(" " * first)
    bar.append("█" * full, colour)
    if rest or not full:
        bar.append(_EIGHTHS[max(rest, 1)], colour)
    bar.truncate(width, pad=True)
    return bar


def legend(families: Sequence[str], *, in_colour: bool) -> Text:
    """What the colours, or the letters, of a bar mean."""
    line = Text()
    for name in families:
        line.append("   " if line else "")
        line.append("██" if in_colour else LETTERS[name] * 2, COLOURS[name])
        line.append(f" {MEANINGS.get(name, name)}", "dim")
    return line


def _inside(names: list[str], ends: list[float], cell: int) -> list[tuple[str, int]]:
    """The one or two largest parts of one cell, in order, with the first one's eighths."""
    parts: list[tuple[float, int]] = []
    start = 0.0
    for at, end in enumerate(ends):
        within = min(end, cell + 1) - max(start, cell)
        if within > 1e-9:
            parts.append((within, at))
        start = end
    chosen = sorted(sorted(parts, reverse=True)[:2], key=lambda part: part[1]) or [(1.0, len(names) - 1)]
    size = sum(within for within, _ in chosen)
    return [(names[at], max(1, min(round(within / size * 8), 7)) if len(chosen) > 1 else 8) for within, at in chosen]

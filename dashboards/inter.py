"""How wide a text is in Inter, the font of Grafana: columns are as wide as their headings."""

from __future__ import annotations

FONT_PX, LETTER_SPACING_EM = 14, 0.01071
_PRINTABLE = "".join(map(chr, range(32, 127))) + "µ–"
_ADVANCES = """
267 304 494 639 646 993 653 313 369 369 521 667 303 462 303 370 646 415 616 627 656 603 630 571 629 630 303 315 667 667
667 527 982 709 657 733 722 603 589 748 745 272 575 688 565 913 756 767 642 769 648 646 653 740 709 1003 701 696 641 369
370 369 477 463 337 568 618 577 618 587 379 620 602 252 252 559 252 888 602 604 618 618 387 539 340 602 575 829 557 575
559 440 346 440 667 600 500
"""
_ADVANCE = dict(zip(_PRINTABLE, map(int, _ADVANCES.split()), strict=True))
"""Thousandths of an em, of Inter Medium, the font of Grafana's headings; its texts are a little narrower."""


def text_px(text: str, font_px: float = FONT_PX) -> float:
    """Its width in pixels."""
    return sum(_ADVANCE.get(letter, 910) / 1000 + LETTER_SPACING_EM for letter in text) * font_px

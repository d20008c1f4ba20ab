"""Finds the stored statements that match an id, a printed text, or a statement with its values."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import NotStored
from ...format import printable
from ...statements.fingerprint import fingerprint
from ..names import Kind, find
from .answer import DigestedStatement
from .short import short_lists

_ID = re.compile(r"(?:0x)?([0-9a-f]{4,16})", re.IGNORECASE)


def meant(written: str, statements: Sequence[DigestedStatement]) -> list[DigestedStatement]:
    """
    All statements that can be meant, in their order.

    Raises:
        NotStored: None matches.
    """
    if by_id := _ID.fullmatch(written.strip().strip("'\"`…")):
        matches = [each for each in statements if each.fingerprint_id.startswith(by_id[1].upper())]
        if matches:
            return matches
    texts = [
        Kind(each.fingerprint_id, text)
        for each in statements
        for text in dict.fromkeys((each.fingerprint, short_lists(each.fingerprint)))
    ]
    kinds = find(written, texts) or find(fingerprint(written), texts)
    ids = {kind.service for kind in kinds}
    if not ids:
        raise NotStored(
            "statement",
            f"no statement '{printable(written)[:120]}' is stored of this time",
            "give an id that `walltime digest` shows, or the beginning of its text; --since looks further back",
        )
    return [each for each in statements if each.fingerprint_id in ids]

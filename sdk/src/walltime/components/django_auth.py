"""Django's authentication: checking credentials, the user of a request, and hashing a password."""

from __future__ import annotations

from typing import Final

from django.contrib import auth
from django.contrib.auth import hashers

from walltime.instrumentation.outermost import Outermost
from walltime.instrumentation.patching import Patch

REQUIRES: Final = "Django >= 4.2, < 7"


def patches() -> list[Patch]:
    measured = Outermost("auth")
    hashes = [
        Patch(each, name, measured.call)
        for each in vars(hashers).values()
        if isinstance(each, type) and issubclass(each, hashers.BasePasswordHasher)
        for name in ("encode", "verify")
        if name in vars(each)
    ]
    return [
        Patch(auth, "authenticate", measured.call),
        Patch(auth, "get_user", measured.call),
        *(Patch(auth, name, measured.awaited) for name in ("aauthenticate", "aget_user") if hasattr(auth, name)),
        *hashes,
    ]

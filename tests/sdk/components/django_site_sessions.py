"""The site's sessions: those of the database, counted; and its hashes: fewer rounds than of Django."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.sessions.backends import db

from tests.sdk.components.django_site import truth


class SessionStore(db.SessionStore):  # type: ignore[misc]
    def load(self) -> Any:
        truth["session"] += 1
        return super().load()

    async def aload(self) -> Any:
        truth["session"] += 1
        return await super().aload()


class Hasher(PBKDF2PasswordHasher):  # type: ignore[misc]
    iterations = 20_000

"""A visitor of a site: a browser with cookies, that fills in the forms' tokens and remembers each answer."""

from __future__ import annotations

import hashlib
import re
import time
from http import HTTPStatus
from typing import Any, NamedTuple

import httpx

_TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_CHANGING = re.compile(
    r'csrfmiddlewaretoken" value="[^"]+"|"CSRF_TOKEN": "[^"]*"|csrfToken[^,}]*|[A-Za-z0-9]{64}'
    r'|name="created" content="[^"]*"'
)
"""What differs between two equal requests: tokens against forged requests, and the time."""
_TRIES = 20


class Answer(NamedTuple):
    method: str
    path: str
    status: int
    digest: str
    """Of the body, without tokens; empty for JSON, which has ids and times."""


class Visitor:
    def __init__(self, url: str) -> None:
        self._client = httpx.Client(base_url=url, timeout=60, follow_redirects=True, verify=False)  # noqa: S501  no TLS
        self._url, self._last, self._at = url, "", url
        self.answers: list[Answer] = []

    def __enter__(self) -> Visitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str) -> str:
        return self._read(self._client.get(path), path)

    def post(self, path: str, **form: str) -> str:
        """Send the form that the last page had."""
        token = _TOKEN.search(self._last)
        fields = {**form, "csrfmiddlewaretoken": token[1] if token else ""}
        return self._read(self._client.post(path, data=fields, headers={"Referer": self._at}), path)

    def json(self, method: str, path: str, body: object = None) -> Any:
        for _ in range(_TRIES):
            response = self._client.request(method, path, json=body)
            if response.status_code != HTTPStatus.SERVICE_UNAVAILABLE:  # Prefect's SQLite is locked now and then
                break
            time.sleep(0.2)
        self.answers.append(Answer(method, re.sub(r"[0-9a-f-]{36}", "{id}", path), response.status_code, ""))
        assert response.is_success, f"{method} {path}: {response.status_code} {response.text[:500]}"
        return response.json()

    def _read(self, response: httpx.Response, path: str) -> str:
        text = response.text
        digest = hashlib.sha256(_CHANGING.sub("", text.replace(self._url, "")).encode()).hexdigest()
        self.answers.append(Answer(response.request.method, path, response.status_code, digest))
        self._last, self._at = text, str(response.url)
        return text

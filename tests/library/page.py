"""
`gunicorn tests.library.page:app`: the page of an author, from two caches, a database and an upstream.

POST /fault sets what is wrong with this process, as JSON; an empty object is nothing.
"""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import pymysql
import urllib3
import walltime
from flask import Flask, request
from pymemcache.client.hash import HashClient

walltime.configure(service_name="library")
walltime.instrument()

AUTHORS = 200
PLANS = ("free", "school", "press", "trial")
app = Flask(__name__)
fault: dict[str, Any] = {}
_local = threading.local()
_http = urllib3.PoolManager(retries=False)
_UPSTREAM = os.environ["LIBRARY_UPSTREAM"]


def _caches() -> HashClient:
    if not hasattr(_local, "caches"):
        servers = os.environ["LIBRARY_CACHES"].split(",")
        # without no_delay, a get after a set waits up to 40 ms for the acknowledgement of the set (Nagle)
        _local.caches = HashClient(
            servers, timeout=2, connect_timeout=2, ignore_exc=True, dead_timeout=1, no_delay=True
        )
    return _local.caches


def _query(sql: str, *values: object) -> Any:
    if not hasattr(_local, "database"):
        _local.database = pymysql.connect(**json.loads(os.environ["LIBRARY_DATABASE"]), autocommit=True)
    with _local.database.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


def _cached(key: str, sql: str, value: object) -> Any:
    if (hit := _caches().get(key)) is not None:
        return json.loads(hit)
    rows = _query(sql, value)
    _caches().set(key, json.dumps(rows, default=str), expire=3600)
    return rows


@app.get("/authors/<int:author>")
def page(author: int) -> str:
    user, plan = request.args["user"], PLANS[int(request.args["user"]) % len(PLANS)]
    transaction = walltime.current()
    transaction.set_user(user)
    transaction.annotate("plan", plan)
    parts: list[Any] = [
        _cached(f"{table}:{author}", f"SELECT * FROM {table} WHERE author = %s", author)
        for table in ("authors", "books", "prizes", "translations")
    ]
    parts.append(_query("SELECT COUNT(*), AVG(stars) FROM reviews WHERE author = %s", author))
    _query("UPDATE visits SET number = number + 1 WHERE id = 1")
    for _ in range(1 + fault.get("retries", 0)):
        parts.append(_http.request("GET", f"{_UPSTREAM}/similar").data.decode())
    for at in range(fault.get("queries", 0) + (30 if user == fault.get("heavy_user") else 0)):
        _query("SELECT * FROM books WHERE author = %s", at)
    if "sleep_s" in fault and plan == fault.get("plan", plan):
        time.sleep(fault["sleep_s"])
    _compute(fault.get("compute_s", 0.0))
    for _ in range(fault.get("rings", 0)):
        ring: list[Any] = []
        ring.append(ring)
    return json.dumps(parts, default=str)


@app.get("/report")
def report() -> str:
    _compute(0.05)
    return "report"


@app.post("/fault")
def set_fault() -> str:
    fault.clear()
    fault.update(request.get_json())
    return ""


def _compute(seconds: float) -> None:
    end_s = time.thread_time() + seconds
    while time.thread_time() < end_s:
        sum(range(200))

"""
`gunicorn tests.library.faulty:app`: one route for each way in which code that nobody measures can be slow.

`/json?fault=1` does it, `/json` does not.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import threading
import time
from pathlib import Path

import walltime
from flask import Flask, render_template_string, request

walltime.configure(service_name="faulty")
walltime.instrument()

app = Flask(__name__)
NUMBERS = list(range(60_000))
WORDS = "a" * 17 + "!"
TEMPLATE = "{% for at in range(times) %}{{ at }}{% if at % 7 == 0 %}, {% endif %}{% endfor %}"
WAIT_S = 0.008
_lock = threading.Lock()
_fifo = Path(tempfile.mkdtemp()) / "slow"
os.mkfifo(_fifo)


def to_json() -> str:
    return json.dumps(NUMBERS)


def wait_for_lock() -> str:
    holding = threading.Event()

    def hold() -> None:
        with _lock:
            holding.set()
            time.sleep(WAIT_S)

    threading.Thread(target=hold).start()
    holding.wait()
    with _lock:
        return ""


def pause() -> str:
    time.sleep(WAIT_S)
    return ""


def render() -> str:
    return render_template_string(TEMPLATE, times=12_000)


def read_file() -> str:
    def write() -> None:
        with _fifo.open("w") as file:
            time.sleep(WAIT_S)
            file.write("slow")

    threading.Thread(target=write).start()
    with _fifo.open() as file:
        return file.read()


def match() -> str:
    return str(re.match("(a+)+b", WORDS))


FAULTS = {"json": to_json, "lock": wait_for_lock, "sleep": pause, "template": render, "file": read_file, "regex": match}


def usual() -> str:
    return str(sum(range(20_000)))


for _name, _fault in FAULTS.items():
    app.add_url_rule(f"/{_name}", _name, lambda fault=_fault: usual() + (fault() if "fault" in request.args else ""))

"""
A ClickHouse server for tests: its HTTP interface, the statements run on chDB, and faults on request.

No server binary is to be had on the test machines, but chDB is the same engine. What is understood is what
clickhouse-connect sends: the statement in the body, in `query` or in a form; `database`, `param_…` and settings in the
URL; a password in a header. `POST /faults` says what should go wrong with the next statements, `GET /seen` what came,
`GET /statements` every statement without its data, with the names of the settings sent with it.

    python -m tests.clickhouse_on_chdb FOLDER --port 8123 --user default --password '' --cluster ''

With a cluster it is that cluster's only node: Distributed tables are chDB's own. What takes Keeper is done without: ON
CLUSTER is here, and a Replicated table is a plain one that remembers as many tokens.
"""

from __future__ import annotations

import argparse
import base64
import email.parser
import email.policy
import hmac
import json
import os
import signal
import socket
import ssl
import struct
import threading
import time
import uuid
import zlib
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import parse_qsl, urlsplit

from walltime_collector.zstd import zstd

from tests.chdb_engine import INSERT_WITH_DATA, TRANSPORT, Engine, RefusedError

UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "gzip": lambda packed: zlib.decompress(packed, wbits=31),
    "zstd": zstd.decompress,
}
HTTP_STATUS = {27: 400, 46: 404, 47: 404, 60: 404, 62: 400, 81: 404, 115: 404, 159: 408, 202: 503, 209: 503, 516: 403}


@dataclass(frozen=True)
class Fault:
    """
    What goes wrong with the next `times` statements that contain `match`.

    `run` says whether the statement is run all the same, `delay_s` how long the answer takes, `then` how it ends: a
    whole answer (`body` when it is not run), an error with `code` (0: without, like a proxy's) and `status`, half an
    answer, a reset connection, the page of somebody who is no ClickHouse, or a way there. `settings` replace its own.
    """

    match: str
    then: Literal["answer", "error", "half", "reset", "page", "redirect"] = "answer"
    run: bool = False
    delay_s: float = 0.0
    code: int = 0
    said: str = "asked for by the test"
    status: int = 500
    times: int = 1
    body: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)


class Server(ThreadingHTTPServer):
    """The listening socket, and what all requests share."""

    daemon_threads = True

    def __init__(self, address: tuple[str, int], engine: Engine, user: str, password: str) -> None:
        super().__init__(address, Handler)
        self.engine = engine
        self.authorization = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()
        self.lock = threading.Lock()
        self.faults: list[Fault] = []
        self.seen: list[dict[str, str]] = []
        self.statements: dict[str, set[str]] = defaultdict(set)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""

    def fault_of(self, statement: bytes) -> Fault | None:
        with self.lock:
            for at, fault in enumerate(self.faults):
                if fault.match.encode() in statement:
                    left = fault.times - 1
                    self.faults[at : at + 1] = [Fault(**{**asdict(fault), "times": left})] if left else []
                    return fault
        return None


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # headers and body are two writes, and the second would wait 40 ms for the first

    @property
    def ours(self) -> Server:
        return cast(Server, self.server)

    def log_message(self, format: str, *args: Any) -> None:
        """Silence."""

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/statements":
            with self.ours.lock:
                sent = {text: sorted(names) for text, names in self.ours.statements.items()}
            self.answer(json.dumps(sent).encode())
        elif path == "/seen":
            with self.ours.lock:
                self.answer(json.dumps({"seen": self.ours.seen, "faults_left": len(self.ours.faults)}).encode())
        else:
            self.answer(b"Ok.\n")

    def do_POST(self) -> None:
        encoding = self.headers.get("Content-Encoding", "")
        body = UNPACK[encoding](self.rfile.read(int(self.headers["Content-Length"])))
        if urlsplit(self.path).path == "/faults":
            with self.ours.lock:
                self.ours.faults = [Fault(**each) for each in json.loads(body)]
            return self.answer(b"")
        said = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        if self.headers.get_content_maintype() == "multipart":
            said |= self.form(body)
            body = b""
        said.setdefault("default_format", self.headers.get("X-ClickHouse-Format", "TabSeparated"))
        statement = b"\n".join(part for part in (said.get("query", "").encode(), body) if part)
        with self.ours.lock:
            said_of_it = {"target": self.path, "statement": statement[:200].decode("utf-8", "replace")}
            self.ours.seen.append({**said_of_it, "encoding": encoding, "user": self.user()})
            insert = INSERT_WITH_DATA.match(statement)
            text = (insert[0] if insert else statement).decode("utf-8", "replace")
            self.ours.statements[text] |= {name for name in said if name not in TRANSPORT and name[:6] != "param_"}
        if not self.is_known():
            return self.refuse(RefusedError("Code: 516. DB::Exception: Authentication failed (AUTHENTICATION_FAILED)"))
        fault = self.ours.fault_of(statement) or Fault("", run=True)
        said |= fault.settings
        try:
            result = self.ours.engine.run(statement, said) if fault.run else fault.body.encode()
        except RefusedError as error:
            return self.refuse(error)
        time.sleep(fault.delay_s)
        return self.end(fault, result)

    def user(self) -> str:
        """Whom the client's certificate names, or nobody."""
        shown: Any = self.connection.getpeercert() if isinstance(self.connection, ssl.SSLSocket) else None
        subject = [part for group in (shown or {}).get("subject", ()) for part in group]
        return "".join(value for name, value in subject if name == "commonName")

    def is_known(self) -> bool:
        if self.headers.get("X-ClickHouse-SSL-Certificate-Auth") == "on":
            return bool(self.user()) and self.user() == self.headers.get("X-ClickHouse-User")
        return hmac.compare_digest(self.headers.get("Authorization", ""), self.ours.authorization)

    def end(self, fault: Fault, result: bytes) -> None:
        if fault.then == "reset":
            # closing with unsent data thrown away is what makes it a reset
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault.then == "half":
            self.start(200, {"Content-Length": str(len(result) + 100)})
            self.wfile.write(result[: len(result) // 2])
            self.close_connection = True
        elif fault.then == "page":
            self.answer(b"<html>Welcome!</html>", ours=False)
        elif fault.then == "redirect":
            self.answer(b"", 302, {"Location": "/login"}, ours=False)
        elif fault.then == "error" and fault.code == 0:
            self.answer(b"<html>Bad Gateway</html>", fault.status, ours=False)
        elif fault.then == "error":
            self.refuse(RefusedError(f"Code: {fault.code}. DB::Exception: {fault.said}. (TEST)"), fault.status)
        else:
            self.answer(result)

    def refuse(self, error: RefusedError, status: int = 0) -> None:
        text = f"{error}\n".encode()
        self.answer(text, status or HTTP_STATUS.get(error.code, 500), {"X-ClickHouse-Exception-Code": str(error.code)})

    def answer(
        self, body: bytes, status: int = 200, headers: Mapping[str, str] | None = None, *, ours: bool = True
    ) -> None:
        self.start(status, {"Content-Length": str(len(body)), **(headers or {})}, ours=ours)
        self.wfile.write(body)

    def start(self, status: int, headers: Mapping[str, str], *, ours: bool = True) -> None:
        self.send_response(status)
        mine = {"X-ClickHouse-Query-Id": str(uuid.uuid4()), "X-ClickHouse-Timezone": "UTC"} if ours else {}
        for name, value in {**headers, **mine}.items():
            self.send_header(name, value)
        self.end_headers()

    def form(self, body: bytes) -> dict[str, str]:
        head = f"Content-Type: {self.headers['Content-Type']}\r\n\r\n".encode()
        parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
        fields = ((part.get_param("name", header="content-disposition"), part) for part in parsed.iter_parts())
        return {str(name): cast(bytes, part.get_payload(decode=True)).decode() for name, part in fields}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--user", default="default")
    parser.add_argument("--password", default=os.environ.get("CLICKHOUSE_PASSWORD", ""))
    parser.add_argument("--cluster", default="")
    parser.add_argument("--certificate", type=Path, help="with its key; then it speaks https")
    parser.add_argument("--client-ca", type=Path, help="then it asks for a certificate of those")
    given = parser.parse_args()
    given.folder = given.folder.resolve()
    given.folder.mkdir(parents=True, exist_ok=True)
    os.chdir(given.folder)  # chDB keeps the schemas sent with INSERTs in the working directory
    engine = Engine(given.folder, given.cluster)
    server = Server(("127.0.0.1", given.port), engine, given.user, given.password)
    if given.certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=given.client_ca)
        context.load_cert_chain(given.certificate)
        if given.client_ca:
            context.verify_mode = ssl.CERT_REQUIRED
        server.socket = context.wrap_socket(server.socket, server_side=True)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"ready http=127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever(poll_interval=0.05)
    server.server_close()
    engine.keeps_it_open.close()


if __name__ == "__main__":
    main()

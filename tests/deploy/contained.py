"""
Runs one program in a root directory as a container does; in mount, process and network namespaces of its own.

    unshare --mount --pid --net --fork python -m tests.deploy.contained JSON

Keys of the JSON: root, folder, user, environment, command. With `health`, a command: the root is read-only but for
`volumes` and /tmp, there are no capabilities, and the program is ended by `stop` when it is healthy. The answer is a
JSON document: status, output, is_healthy.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_HEALTHY_WITHIN_S = 120
_NO_PRIVILEGES = ["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]


def main() -> None:
    order = json.loads(sys.argv[1])
    root = Path(order["root"])
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    if "health" in order:
        _loopback_up()
        _read_only(root, order["volumes"])
    for name, kind in (("proc", "proc"), ("dev", "tmpfs")):
        subprocess.run(["mount", "-t", kind, kind, root / name], check=True)
    (root / "dev" / "shm").mkdir(mode=0o1777)
    (root / "dev" / "shm").chmod(0o1777)
    for name in ("null", "zero", "random", "urandom"):
        (root / "dev" / name).touch()
        subprocess.run(["mount", "--bind", f"/dev/{name}", root / "dev" / name], check=True)
    with _started(order, order["command"]) as program:
        answer: dict[str, Any] = {}
        if "health" in order:
            answer["is_healthy"] = _is_healthy(order, program)
            # it is a child of setpriv and env by exec: the same process
            program.send_signal(getattr(signal, order["stop"]))
        answer["output"] = program.communicate(timeout=600)[0].decode("utf-8", "replace")
        answer["status"] = program.returncode
    if answer["status"] and "health" not in order:
        sys.exit(str(answer["output"]))
    sys.stdout.write(json.dumps(answer))


def _started(order: dict[str, Any], command: list[str]) -> subprocess.Popen[bytes]:
    """The command in the root, as the user, with nothing but the image's environment and what reaches a registry."""
    pip = {name: value for name, value in os.environ.items() if name in ("PIP_CERT", "PIP_INDEX_URL", "PIP_TIMEOUT")}
    pip |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    environment = {**({} if "health" in order else pip), **order["environment"]}

    def enter() -> None:
        os.chroot(order["root"])
        os.chdir(order["folder"])

    if order["user"] != "root":
        user = ["--reuid", order["user"], "--regid", order["user"], "--clear-groups", *_NO_PRIVILEGES]
        command = ["setpriv", *user, *command]
    return subprocess.Popen(
        command,
        env=environment,
        preexec_fn=enter,  # noqa: PLW1509  this process has one thread
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )


def _is_healthy(order: dict[str, Any], program: subprocess.Popen[bytes]) -> bool:
    deadline_s = time.monotonic() + _HEALTHY_WITHIN_S
    while time.monotonic() < deadline_s and program.poll() is None:
        with _started(order, order["health"]) as check:
            check.communicate()
        if check.returncode == 0:
            return True
        time.sleep(0.5)
    return False


def _read_only(root: Path, volumes: dict[str, str]) -> None:
    subprocess.run(["mount", "--bind", root, root], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", root], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", root / "tmp"], check=True)
    for inside, outside in volumes.items():
        subprocess.run(["mount", "--bind", outside, root / inside.lstrip("/")], check=True)


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh", b"lo", 0x1 | 0x40))  # SIOCSIFFLAGS: IFF_UP, IFF_RUNNING


if __name__ == "__main__":
    main()

"""Real Redis servers for the tests: one alone, as a node of a cluster, or a sentinel; and what they counted."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from shop.process import LOOPBACK, Service, free_port, program


class RedisServer(Service):
    """
    A Redis server that keeps nothing on disk, on a loopback port and on a socket in its folder.

    Args:
        options: lines of its configuration, by name: `cluster_enabled="yes"`.
    """

    def __init__(self, folder: Path, name: str = "redis", **options: str) -> None:
        super().__init__(name, folder)
        self.options = options
        self.socket = folder / "redis.sock"

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        settings = {
            "bind": LOOPBACK, "port": str(self.port), "unixsocket": str(self.socket), "unixsocketperm": "700",
            "dir": str(self.folder), "save": "", "appendonly": "no",
        }  # fmt: skip
        settings |= {name.replace("_", "-"): value for name, value in self.options.items()}
        arguments = [text for name, value in settings.items() for text in (f"--{name}", value)]
        return [program("redis-server", "redis-server"), *arguments]

    def answers(self) -> bool:
        return self.info("server").get("process_id") == str(self.pid)

    def info(self, section: str) -> dict[str, str]:
        """A section of INFO."""
        with socket.create_connection((LOOPBACK, self.port), timeout=5) as connection:
            connection.sendall(f"INFO {section}\r\n".encode())
            with connection.makefile("rb") as answer:
                text = answer.read(int(answer.readline()[1:])).decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def calls(self) -> dict[str, int]:
        """Command → how often the server has executed it; `config|get` for a subcommand."""
        counts = self.info("commandstats").items()
        return {name.removeprefix("cmdstat_"): int(text.split(",")[0].removeprefix("calls=")) for name, text in counts}

    def lookups(self) -> tuple[int, int]:
        """Keys that were read and found, and not found."""
        stats = self.info("stats")
        return int(stats["keyspace_hits"]), int(stats["keyspace_misses"])


class Sentinel(RedisServer):
    """A sentinel that watches one Redis server under the name `shop`."""

    def __init__(self, folder: Path, of: RedisServer) -> None:
        super().__init__(folder, "sentinel")
        self.of = of

    def command(self) -> Sequence[str | Path]:
        self.port = self.port or free_port()
        configuration = self.folder / "sentinel.conf"  # a sentinel rewrites it
        watched = f"sentinel monitor shop {LOOPBACK} {self.of.port} 1\n"
        configuration.write_text(f"bind {LOOPBACK}\nport {self.port}\ndir {self.folder}\n{watched}")
        return [program("redis-server", "redis-server"), configuration, "--sentinel"]

"""One thing that is asked of a server again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic, TypeVar

from .writer import Writer

Connection = TypeVar("Connection")


class Look(ABC, Generic[Connection]):
    """
    Asks one thing of one server; it is used by one thread.

    Args:
        name: Of the server, as the applications know it: `10.0.0.5:3306`. The column `server` of all rows.
        writer: Takes the rows.
    """

    every_s: float = 1.0
    """Time between the starts of two looks; longer where a look takes long."""
    share: float = 0.02
    """At most this part of the time is spent with the look: one that took 1 s comes again after 50 s."""

    def __init__(self, name: str, writer: Writer) -> None:
        self.name, self.writer = name, writer

    def opened(self, connection: Connection) -> str:
        """
        A new connection: perhaps of another server behind the same name. Find out what it has.

        Returns:
            What the look could see more with, and the exact statements that switch it on; empty: nothing.

        Raises:
            Lacking: The look sees nothing without it; it is left out until the next connection.
        """
        return ""

    @abstractmethod
    def look(self, connection: Connection) -> None:
        """
        Ask once, and give the rows to the writer. Any error of the connection ends it; another one is opened.

        A look that the server cannot answer raises Lacking, and is tried again with the next connection.
        """


class Lacking(Exception):
    """The server has not what the look needs, or the account may not read it. The text says what and what now."""

"""The servers are those of the SDK's tests; what is tried here runs in processes of its own."""

from tests.sdk.conftest import as_before, connect, mariadb, memcached, recorded, sink

__all__ = ["as_before", "connect", "mariadb", "memcached", "recorded", "sink"]

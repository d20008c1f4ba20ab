"""
Becomes a program that may make only the system calls of a systemd group; others fail with EPERM.

    python -m tests.deploy.filtered @system-service PROGRAM ARGUMENT…

systemd runs no units here. This is its SystemCallFilter with SystemCallErrorNumber=EPERM, by the same library.
"""

from __future__ import annotations

import ctypes
import errno
import os
import subprocess
import sys

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


def system_calls(group: str) -> set[str]:
    """The names of the system calls of a group and of the groups in it."""
    listed = subprocess.run(["systemd-analyze", "syscall-filter", group, "--no-pager"], capture_output=True, check=True)
    names = [line.strip() for line in listed.stdout.decode().splitlines()[1:]]
    calls = {name for name in names if name and name[0] not in "@#"}
    return calls.union(*(system_calls(name) for name in names if name.startswith("@")))


def restrict(group: str) -> None:
    library = ctypes.CDLL("libseccomp.so.2", use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(_ERRNO | errno.EPERM))
    for name in system_calls(group):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # of this architecture
            assert library.seccomp_rule_add(context, _ALLOW, number, 0) == 0, name
    assert library.seccomp_load(context) == 0


if __name__ == "__main__":
    restrict(sys.argv[1])
    os.execv(sys.argv[2], sys.argv[2:])  # noqa: S606  no shell is needed

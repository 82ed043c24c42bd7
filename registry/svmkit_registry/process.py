"""The process that logs a run, recorded in tags of the run, so that a run whose process was killed is recognised.

Processes can be identified by Linux's /proc; elsewhere, and in stores of earlier versions, runs have no such tags.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from pathlib import Path

HOST, PROCESS = "svmkit.host", "svmkit.process"  # the tags
_BOOT, _MACHINE = Path("/proc/sys/kernel/random/boot_id"), Path("/etc/machine-id")
_NO_CONTAINER = "pid:[4026531836]"  # the initial PID namespace, the same in all kernels


def identity() -> dict[str, str]:
    """Return the tags of this process; {} if it cannot be identified.

    The host is a digest, since a store may be public. Processes of a container are identified until the container ends:
    another one may have the same name and process ids.
    """
    try:
        space, boot = os.readlink("/proc/self/ns/pid"), _BOOT.read_text().strip()
        began = _start(os.getpid())
        machine = _MACHINE.read_text().strip() if _MACHINE.is_file() else ""
    except OSError:
        return {}
    lasting = space == _NO_CONTAINER and machine  # a host that is recognised after a reboot
    parts = (socket.gethostname(), space, machine, "" if lasting else boot)
    host = hashlib.blake2b(repr(parts).encode(), digest_size=8).hexdigest()
    return {HOST: host, PROCESS: f"{os.getpid()} {began} {boot}"}


def is_alive(tags: Mapping[str, str]) -> bool | None:
    """Return whether the process in the tags of a run is alive; None if it is on another host, or not recorded."""
    ours = identity()
    fields = tags.get(PROCESS, "").split(" ")
    if not ours or tags.get(HOST) != ours[HOST] or len(fields) != 3 or not fields[0].isdecimal():
        return None
    pid, began, boot = int(fields[0]), fields[1], fields[2]
    if boot != ours[PROCESS].split(" ")[2]:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # it belongs to another user, whose /proc may be hidden
        pass
    try:
        return _start(pid) == began
    except OSError:  # it is hidden, or has just ended
        return None


def _start(pid: int) -> str:
    """Return when a process started, in ticks since the start of the system; "" if it has ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return "" if fields[0] in "ZX" else fields[19]

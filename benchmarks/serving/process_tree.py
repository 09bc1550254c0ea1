"""CPU time and memory of a server with all its processes, as Linux counts them."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def members(root: int) -> list[int]:
    """A process and its descendants that are alive."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        fields = _stat(path)
        if fields:
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found = [root]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds(root: int) -> float:
    """CPU time of the processes, and of their children that have ended."""
    return sum(sum(map(int, fields[11:15])) for pid in members(root) if (fields := _stat(_file(pid, "stat")))) / _TICKS


def megabytes(root: int) -> float:
    """Memory of the processes; what they share is counted once."""
    return sum(_pss(pid) for pid in members(root)) / 1e6


def _stat(path: Path) -> list[str]:
    """The fields behind the name of the program, which may have spaces; none if the process has ended."""
    try:
        return path.read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _pss(pid: int) -> int:
    try:
        lines = _file(pid, "smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _file(pid: int, name: str) -> Path:
    return Path("/proc") / str(pid) / name

"""Levels of the native engine: the sets of CPU instructions that it has kernels for, and which one it uses.

All levels of an architecture give the same translations, bit for bit; they differ in speed.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping

VARIABLE = "HEADWISE_ISA"
"""The environment variable that names the level to use."""
NAMES = ("amx", "avx512vnni", "avxvnni", "avx2", "neon-i8mm", "neon-dotprod", "portable")


def chosen_level(levels: Mapping[str, bool]) -> str:
    """The level to use, of those in a library, best first, each with whether it runs here: the best one that does, or
    the one that `HEADWISE_ISA` names. A name that cannot be used is reported in a warning."""
    running = [name for name, runs in levels.items() if runs]
    wanted = os.environ.get(VARIABLE, "").strip().lower()
    if not wanted or wanted in running:
        return wanted or running[0]
    what = "does not run on this CPU" if wanted in NAMES else "is not the name of a level"
    warnings.warn(f"{VARIABLE}={wanted} {what}: using {running[0]} (of {', '.join(running)}, which do)", stacklevel=2)
    return running[0]


def described(levels: Mapping[str, bool]) -> str:
    """The level in use, and the others that run here."""
    used = chosen_level(levels)
    others = ", ".join(name for name, runs in levels.items() if runs and name != used)
    return f"{used}; {others} would run, too" if others else used

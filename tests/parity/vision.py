"""Vision."""

from collections.abc import Callable
from typing import Any

CASES: dict[tuple[str, str], Callable[[], Any]] = {}

"""Numbers and tokens as Markdown."""

import re
from collections.abc import Iterable, Sequence

from torch import Tensor


def quoted(piece: str) -> str:
    """A piece as code that can stand in a table."""
    return "`` ` ``" if piece == "`" else "`" + piece.replace("|", r"\|") + "`"


def number(value: float | Tensor, digits: int = 2) -> str:
    text = f"{float(value):.{digits}f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text.replace("-", "−").replace("inf", "∞")


def numbers(values: Iterable[float | Tensor] | Tensor, digits: int = 2) -> list[str]:
    return [number(value, digits) for value in values]


def tiny(value: float | Tensor) -> str:
    """A difference that is 0 but for rounding."""
    return "0" if float(value) == 0 else f"{float(value):.0e}"


def difference(value: float | Tensor) -> str:
    """A difference that may be real."""
    return tiny(value) if float(value) < 1e-4 else number(value)


def share(value: float | Tensor) -> str:
    return f"{100 * float(value):.1f}%"


def shape(*sizes: int) -> str:
    return "[" + ", ".join(map(str, sizes)) + "]"


def rms(x: Tensor) -> Tensor:
    return x.square().mean(-1).sqrt()


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Markdown; columns of numbers are set to the right."""
    rows = list(rows)
    columns = zip(*rows, strict=True)
    rule = ["--:" if all(re.fullmatch(r"[\d.,%−∞e* -]*", cell) for cell in column) else ":--" for column in columns]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])

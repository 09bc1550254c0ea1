"""Matching the language a recipe asks for with the code a file gives."""


def match(requested: str, given: str) -> int:
    """2: the same code; 1: a variant of it, as `en-US` is of `en`; 0: another language."""
    wanted, code = _plain(requested), _plain(given)
    if not wanted or not code:
        return 0
    if code == wanted:
        return 2
    return 1 if code.startswith(wanted + "-") else 0


def best(requested: str, given: list[str]) -> int | None:
    """The index of the code that fits best, the first among equals; None if none fits."""
    ranks = [match(requested, code) for code in given]
    if not any(ranks):
        return None
    return ranks.index(max(ranks))


def _plain(code: str) -> str:
    return code.strip().lower().replace("_", "-")

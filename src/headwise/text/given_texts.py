"""Check of the texts that a caller passes: one `str` or an iterable of them, and nothing else."""

from collections.abc import Iterable


def check_texts(texts: str | Iterable[str], what: str = "texts") -> list[str]:
    """The texts as a list, one `str` as a list of one; anything else is refused with a message that names it."""
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes):
        raise TypeError(f"{what} must be str, not bytes: decode them first")
    if not isinstance(texts, Iterable):
        raise TypeError(f"{what} must be a str or an iterable of str, not {type(texts).__name__}")
    found = list(texts)
    for number, text in enumerate(found):
        if not isinstance(text, str):
            raise TypeError(f"{what}[{number}] must be a str, not {type(text).__name__}")
    return found

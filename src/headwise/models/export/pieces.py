"""What each id of a tokenizer is called by the programs that cut text without Headwise."""

import json

from headwise.errors import ConfigError
from headwise.text.published.hf_tokenizer import DESCRIPTION, Library, parse
from headwise.text.published.mapped import TABLE, TARGET_TABLE, Mapped
from headwise.text.tokenizer import Tokenizer


def vocabularies(tokenizer: Tokenizer, rows: int) -> tuple[list[str], list[str]]:
    """Of the source and of the target: a name for each of the `rows` of an embedding, as the files that
    `save_published` or `save` writes spell it."""
    if isinstance(tokenizer, Mapped):
        files = tokenizer.parts.files
        tables = [json.loads(files[TABLE]), json.loads(files.get(TARGET_TABLE, files[TABLE]))]
        own = {i: tokenizer.pieces([i])[0] for i in range(tokenizer.size) if tokenizer.is_special(i)}
        source, target = ({**own, **{i: piece for piece, i in table.items()}} for table in tables)
    elif isinstance(tokenizer, Library):
        found = parse(tokenizer.parts.files[DESCRIPTION]).get_vocab(with_added_tokens=True)
        source = target = {i: piece for piece, i in found.items()}
    else:
        source = target = dict(enumerate(tokenizer.pieces(range(tokenizer.size))))
    return _filled(source, rows), _filled(target, rows)


def _filled(pieces: dict[int, str], rows: int) -> list[str]:
    """Rows that no text leads to have names too; two of the same name could not be told apart."""
    names = [pieces.get(i, f"<unused{i}>") for i in range(rows)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"two tokens of this model are both called {twice!r}: a vocabulary by name cannot hold them")
    return names

"""Vocabulary shortlists: the tokens that the translation of a sentence may consist of.

The output projection scores every token of the vocabulary at every step, and all but a few thousand of them have
nothing to do with the sentence. A shortlist allows the translations of the sentence's own tokens and the frequent
tokens alone. `headwise shortlist` learns it from sentence pairs and writes it into the model's folder; it belongs to a
tokenizer, and has one table per direction.

The allowed tokens depend on the sentence alone, so that its translation does not depend on its batch. Where a table
does not know a token, all tokens are allowed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headwise.decode.search.options import Prefixes
from headwise.errors import CheckpointError
from headwise.files.digest import arrays_digest
from headwise.files.tables import digest_mismatch
from headwise.files.tensors import open_tensors
from headwise.models.folder.config_file import shortlist_path
from headwise.text.language.codes import Direction
from headwise.text.tokenizer import Tokenizer

Ids = NDArray[np.int64]
LARGEST = 0.5
"""Share of the vocabulary from which on a shortlist saves nothing."""
SURE = 0.3
"""Probability that the likeliest listed token must have. Where it has less, the right token may not be in the list: at
that step all tokens are scored."""
FORMAT = 1


def sure() -> float:
    """`SURE` as a log-probability."""
    return math.log(SURE) if SURE > 0 else -math.inf


@dataclass(frozen=True)
class Allowed:
    """The tokens that a translation may consist of: two ascending lists without a token in common."""

    always: Ids
    """Tokens for all sentences of a direction."""
    own: Ids
    """Tokens for this sentence."""

    @cached_property
    def tokens(self) -> Ids:
        """Both lists, ascending."""
        return np.sort(np.concatenate((self.always, self.own)))


@dataclass(frozen=True)
class Shortlist:
    """The translations of tokens in one direction."""

    offsets: Ids
    """The translations of the token s are `targets[offsets[s]:offsets[s + 1]]`."""
    targets: NDArray[Any]
    """In the smallest type that holds them: they are many."""
    always: Ids
    """Tokens that any translation may contain, ascending."""
    pairs: int
    """Number of pairs that it was learnt from."""

    @property
    def vocabulary(self) -> int:
        return len(self.offsets) - 1

    def allowed(self, sources: Sequence[int], copies: Sequence[int] = ()) -> Allowed | None:
        """The tokens that may translate these; None: all tokens, where a token was not in the pairs, so that its
        translations are unknown, or where so many are allowed that nothing is gained."""
        listed = np.zeros(self.vocabulary, bool)
        for source in sources:
            begin, end = self.offsets[source], self.offsets[source + 1]
            if begin == end:
                return None
            listed[self.targets[begin:end]] = True
            listed[source] = True
        listed[list(copies)] = True
        listed[self.always] = False
        own = np.flatnonzero(listed)
        return Allowed(self.always, own) if len(self.always) + len(own) < LARGEST * self.vocabulary else None


@dataclass(frozen=True)
class Shortlists:
    """The shortlists of a tokenizer, one per direction."""

    tokenizer: Tokenizer
    tables: dict[Direction, Shortlist]

    def allowed(
        self, sources: Sequence[Sequence[int]], prefixes: Prefixes, direction: Direction
    ) -> list[Allowed | None]:
        """The allowed tokens of the translations of `sources` (ids, specials included); None: all tokens.

        If the prefix has a token that is not listed, all tokens are allowed.
        """
        table = self.tables.get(direction)
        if table is None:
            return [None] * len(sources)
        return [self._allowed(table, *each) for each in zip(sources, prefixes, strict=True)]

    def _allowed(self, table: Shortlist, source: Sequence[int], prefix: Sequence[int]) -> Allowed | None:
        text = [token for token in source if not self.tokenizer.is_special(token)]
        found = table.allowed(text, self._copies(text))
        if found is None or not len(prefix):
            return found
        return found if np.isin(list(prefix), found.tokens).all() else None

    def _copies(self, text: list[int]) -> list[int]:
        """The text in target tokens: names are often copied."""
        if type(self.tokenizer).encode_target is Tokenizer.encode_target:
            return []  # both sides use the same tokens
        return self.tokenizer.encode_target(self.tokenizer.decode(text))

    @cached_property
    def digest(self) -> str:
        """Content digest of the tables."""
        return arrays_digest(self.arrays())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that are saved."""
        about = {
            "format": FORMAT,
            "tokenizer": self.tokenizer.fingerprint,
            "directions": [[*direction, table.pairs] for direction, table in self.tables.items()],
        }
        arrays: dict[str, NDArray[Any]] = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8).copy()}
        kind = np.uint16 if self.tokenizer.size <= 1 << 16 else np.int32  # half of the file's size
        for number, table in enumerate(self.tables.values()):
            arrays[f"{number}.offsets"] = table.offsets.astype(np.int32)
            arrays[f"{number}.targets"] = table.targets.astype(kind)
            arrays[f"{number}.always"] = table.always.astype(np.int32)
        return arrays

    def save(self, path: Path) -> None:
        import torch

        from headwise.files.tensors import save_tensors

        save_tensors(path, {name: torch.from_numpy(array) for name, array in self.arrays().items()})


def read_shortlists(path: Path, tokenizer: Tokenizer) -> Shortlists:
    """Read saved shortlists without PyTorch; a damaged file, or one for another tokenizer, is refused."""
    again = "make it again with `headwise shortlist`, or remove it"
    try:
        with open_tensors(path, "np") as (file, digest):
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except TypeError as error:  # a number type that NumPy does not have
        raise CheckpointError(f"{path}: damaged ({error}): {again}") from None
    if digest != arrays_digest(arrays):
        raise digest_mismatch(path)
    try:
        about: dict[str, Any] = json.loads(arrays["about"].tobytes())
        if about["format"] > FORMAT:
            raise CheckpointError(f"{path}: written by a newer Headwise: upgrade, or {again}")
        if about["tokenizer"] != tokenizer.fingerprint:
            raise CheckpointError(f"{path}: made for a model with another tokenizer: {again}")
        tables = {}
        for number, (source, target, pairs) in enumerate(about["directions"]):
            offsets, always = (
                arrays[f"{number}.{name}"].astype(np.int64, casting="safe") for name in ("offsets", "always")
            )
            tables[source, target] = Shortlist(offsets, arrays[f"{number}.targets"], always, pairs)
    except (KeyError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: damaged ({error}): {again}") from None
    if not all(_is_sound(table, tokenizer.size) for table in tables.values()):
        raise CheckpointError(f"{path}: damaged: it has tokens that are not in the vocabulary: {again}")
    return Shortlists(tokenizer, tables)


def _is_sound(table: Shortlist, vocabulary: int) -> bool:
    if any(ids.ndim != 1 or ids.dtype.kind not in "iu" for ids in (table.offsets, table.targets, table.always)):
        return False
    bounded = all(((ids >= 0) & (ids < vocabulary)).all() for ids in (table.targets, table.always))
    ends = len(table.offsets) == vocabulary + 1 and table.offsets[0] == 0 and table.offsets[-1] == len(table.targets)
    return bool(bounded and ends and (np.diff(table.offsets) >= 0).all() and (np.diff(table.always) > 0).all())


def find_shortlists(folder: Path, tokenizer: Tokenizer) -> Shortlists | None:
    """The shortlists of a model folder, if it has any."""
    path = shortlist_path(folder)
    return read_shortlists(path, tokenizer) if path.is_file() else None

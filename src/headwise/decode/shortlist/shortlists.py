"""Which tokens may stand in the translation of a sentence: what its own tokens translate to, and what is frequent.

The output projection scores every token of the vocabulary at every step, and all but a few thousand of them have
nothing to do with the sentence. A shortlist leaves them out. It is made by `headwise shortlist` from sentence pairs
and lies in the model's folder; it belongs to a tokenizer, and has a table for each direction that it was made for.

What is allowed is a sentence's own affair, so that a sentence is translated alike whatever is in its batch. Where a
table cannot tell, all tokens are.
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
from headwise.text.tokenizer import Tokenizer

Ids = NDArray[np.int64]
Direction = tuple[str, str]

LARGEST = 0.5
"""Share of the vocabulary from which on leaving tokens out does not pay."""
SURE = 0.3
"""Probability that the likeliest token of a list must have. Where none has it, the right one may not be in the list: at
that step all tokens are looked at."""
FORMAT = 1


def sure() -> float:
    """The same as a log-probability."""
    return math.log(SURE) if SURE > 0 else -math.inf


@dataclass(frozen=True)
class Allowed:
    """The tokens that a translation may have: two lists, each ascending, without a token in common."""

    always: Ids
    """The same ones for all sentences of a direction."""
    own: Ids

    @cached_property
    def tokens(self) -> Ids:
        """All of them, ascending."""
        return np.sort(np.concatenate((self.always, self.own)))


@dataclass(frozen=True)
class Shortlist:
    """What tokens translate to, in one direction."""

    offsets: Ids
    """The translations of the token s are `targets[offsets[s]:offsets[s + 1]]`."""
    targets: NDArray[Any]
    """Of the smallest type that holds them: they are many."""
    always: Ids
    """Tokens that any translation may have, ascending."""
    pairs: int
    """That it was learnt from."""

    @property
    def vocabulary(self) -> int:
        return len(self.offsets) - 1

    def allowed(self, sources: Sequence[int], copies: Sequence[int] = ()) -> Allowed | None:
        """The tokens that may translate these; None for all of them: where there is a token that was not in the pairs,
        nothing is known of its translations, and where there are very many, nothing is gained."""
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
    """The tables of a tokenizer."""

    tokenizer: Tokenizer
    tables: dict[Direction, Shortlist]

    def allowed(
        self, sources: Sequence[Sequence[int]], prefixes: Prefixes, direction: Direction
    ) -> list[Allowed | None]:
        """The tokens that translations of `sources` (ids, specials included) may have; None: any.

        Whoever asks for a prefix with other tokens wants what the table does not know of.
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
        """How the target side writes the same text, which is how a name is spelt there."""
        if type(self.tokenizer).encode_target is Tokenizer.encode_target:
            return []  # as the source side does
        return self.tokenizer.encode_target(self.tokenizer.decode(text))

    @cached_property
    def digest(self) -> str:
        """Names what the tables hold."""
        return arrays_digest(self.arrays())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is stored."""
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
    """What was saved; a file that is damaged, or of another tokenizer, is refused. Without PyTorch."""
    again = "make it again with `headwise shortlist`, or remove it"
    try:
        with open_tensors(path, "np") as (file, digest):
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except TypeError as error:  # of numbers that NumPy does not have
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
    """Those of a model folder, if it has any."""
    path = shortlist_path(folder)
    return read_shortlists(path, tokenizer) if path.is_file() else None

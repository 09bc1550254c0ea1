"""Word alignments from cross-attention."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Alignment = list[tuple[int, int]]
AlignmentHead = tuple[int, ...]
"""Layer and head, from 0, that were trained to align words; empty: the mean of the heads of `alignment_layer`."""


def alignment_layer(layers: int) -> int:
    """Index of the layer whose cross-attention aligns words best, in a decoder of this many layers.

    It is the last but one: the last one already attends to the word that comes next.
    """
    return max(0, layers - 2)


def token_rows(attention: NDArray[Any], aligns_given: bool) -> NDArray[Any]:
    """The rows of an attention that belong to the tokens of a translation, out of one for each input of the decoder.

    Usually it is the row that predicts a token. A head that aligns the token that it is given does so one row later.
    """
    return attention[1:] if aligns_given else attention


def lettered(words: Sequence[int], pieces: Sequence[str]) -> list[int]:
    """The word of each piece, but -1 for pieces without letters or digits in words that have others.

    A full stop is aligned with the full stop, wherever the word is that it follows.
    """
    has = [any(unicodedata.category(each)[0] in "LMN" for each in piece) for piece in pieces]
    spelt = {word for word, letters in zip(words, has, strict=True) if letters}
    return [word if letters or word not in spelt else -1 for word, letters in zip(words, has, strict=True)]


def align(attention: ArrayLike, source_words: Sequence[int], target_words: Sequence[int]) -> Alignment:
    """Link each target word to the source word that its subwords attend to most, summed; sorted pairs.

    `attention` is [T, S], one row per target token. It may be larger than the word lists, as in a padded batch: the
    rest is ignored, and so are tokens that belong to no word (-1).
    """
    weights = np.asarray(attention, np.float64)
    if weights.shape[0] < len(target_words) or weights.shape[1] < len(source_words):
        raise ValueError(
            f"attention {weights.shape} is smaller than {len(target_words)} target "
            f"and {len(source_words)} source pieces"
        )
    rows = np.flatnonzero(np.array(target_words) >= 0)
    columns = np.flatnonzero(np.array(source_words) >= 0)
    if not len(rows) or not len(columns):
        return []
    source, target = np.array(source_words)[columns], np.array(target_words)[rows]
    mass = np.zeros((target.max() + 1, source.max() + 1))  # [target words, source words]
    np.add.at(mass, np.ix_(target, source), weights[np.ix_(rows, columns)])
    linked = mass.argmax(1)
    return sorted((int(source_word), word) for word, source_word in enumerate(linked) if mass[word, source_word] > 0)


def pharaoh(alignment: Alignment) -> str:
    """The alignment in Pharaoh format: `0-0 1-2`, source before target."""
    return " ".join(f"{source}-{target}" for source, target in alignment)

"""Which source word each target word looked at: word alignments out of cross-attention."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

Alignment = list[tuple[int, int]]


def alignment_layer(layers: int) -> int:
    """Decoder layer whose cross-attention aligns words best, of a decoder of so many layers.

    It is the last but one: the last one already looks ahead to the word it has to write next.
    """
    return max(0, layers - 2)


def align(attention: ArrayLike, source_words: Sequence[int], target_words: Sequence[int]) -> Alignment:
    """Link each target word to the source word that its subwords attend to most, summed; sorted pairs.

    `attention` is [T, S], a row a target piece. It may be larger than the word lists, as that of a padded
    batch is: what lies beyond them is ignored, and so is what belongs to no word (-1).
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
    return sorted((int(word), place) for place, word in enumerate(linked) if mass[place, word] > 0)


def pharaoh(alignment: Alignment) -> str:
    """The alignment as the usual text: `0-0 1-2`, source before target."""
    return " ".join(f"{source}-{target}" for source, target in alignment)

"""Which source word each target word looked at: word alignments out of cross-attention."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from headwise.errors import DataError

Alignment = list[tuple[int, int]]


def align(attention: Tensor, source_words: Sequence[int], target_words: Sequence[int]) -> Alignment:
    """Link each target word to the source word that its subwords attend to most, summed; sorted pairs.

    `attention` is [T, S], a row a target piece. It may be larger than the word lists, as that of a padded
    batch is: what lies beyond them is ignored, and so is what belongs to no word (-1).
    """
    if attention.shape[0] < len(target_words) or attention.shape[1] < len(source_words):
        raise ValueError(
            f"attention {tuple(attention.shape)} is smaller than {len(target_words)} target "
            f"and {len(source_words)} source pieces"
        )
    rows = [place for place, word in enumerate(target_words) if word >= 0]
    columns = [place for place, word in enumerate(source_words) if word >= 0]
    if not rows or not columns:
        return []
    weights = attention.detach().double().cpu()[rows][:, columns]
    source = torch.tensor([source_words[place] for place in columns])
    target = torch.tensor([target_words[place] for place in rows])
    by_source = torch.zeros(len(rows), int(source.max()) + 1, dtype=weights.dtype).index_add_(1, source, weights)
    mass = torch.zeros(int(target.max()) + 1, by_source.shape[1], dtype=weights.dtype)
    mass.index_add_(0, target, by_source)  # [target words, source words]
    most, linked = mass.max(dim=1)
    pairs = zip(most.tolist(), linked.tolist(), strict=True)
    return sorted((word, place) for place, (weight, word) in enumerate(pairs) if weight > 0)


def pharaoh(alignment: Alignment) -> str:
    """The alignment as the usual text: `0-0 1-2`, source before target."""
    return " ".join(f"{source}-{target}" for source, target in alignment)


def parse_pharaoh(line: str) -> Alignment:
    """The sorted pairs of a line that `pharaoh`, or any aligner, wrote."""
    pairs = []
    for item in line.split():
        source, dash, target = item.partition("-")
        if not (dash and source.isdecimal() and target.isdecimal()):
            raise DataError(f"{item!r} is not a link of an alignment such as 0-0 1-2")
        pairs.append((int(source), int(target)))
    return sorted(pairs)

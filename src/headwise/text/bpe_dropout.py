"""BPE with dropout (Provilkov et al., 2020): the merges of a BPE model, some of them left out at random.

SentencePiece has this too, but draws from a generator of its own that cannot be seeded a second time, so a
run could not be resumed exactly. With no dropout this gives SentencePiece's own segmentation.
"""

import heapq
from collections.abc import Mapping, Sequence


def segment(text: str, scores: Mapping[str, float], dropout: float, draws: Sequence[float]) -> list[str]:
    """Pieces of `text`, from single characters by merging neighbours, the best score first, then leftmost.

    Each merge that comes up is left out if the next draw, uniform in [0, 1), is below `dropout`; the pair can
    come up again once a neighbour has grown. At most `3 * len(text)` draws are used. A heap keeps the time
    at n log n, so that a long sentence without spaces costs no more than one with them.
    """
    pieces = list(text)
    end = len(pieces)
    before = list(range(-1, end - 1))
    after = list(range(1, end + 1))
    agenda: list[tuple[float, int, int, int]] = []
    for left in range(end - 1):
        score = scores.get(pieces[left] + pieces[left + 1])
        if score is not None:
            agenda.append((-score, left, left + 1, 2))
    heapq.heapify(agenda)

    draw = iter(draws)
    while agenda:
        _, left, right, length = heapq.heappop(agenda)
        if not pieces[left] or not pieces[right] or len(pieces[left]) + len(pieces[right]) != length:
            continue  # one of the two has been merged with another since
        if dropout > 0 and next(draw) < dropout:
            continue
        pieces[left] += pieces[right]
        pieces[right] = ""
        after[left] = after[right]
        if after[left] < end:
            before[after[left]] = left
        for first, second in ((before[left], left), (left, after[left])):
            if first >= 0 and second < end:
                merged = pieces[first] + pieces[second]
                score = scores.get(merged)
                if score is not None:
                    heapq.heappush(agenda, (-score, first, second, len(merged)))
    return [piece for piece in pieces if piece]

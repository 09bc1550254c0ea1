"""Select the demo's corpus from a larger Tatoeba collection: run once, the result is shipped in the package.

    python scripts/make_demo_corpus.py FOLDER_WITH_tatoeba.en.xz_AND_tatoeba.de.xz

It takes short sentences of frequent words, so that a small model can learn their patterns in minutes, and all short
sentences with the rarer words of those that the demo translates - but neither these nor any in the held-out part.
"""

import argparse
import hashlib
import lzma
import re
from collections import Counter
from pathlib import Path

from headwise.corpora import UNSEEN

TRAIN, HELD_OUT, WORDS = 20_000, 500, 8
FREQUENT, RARE = 60, 400


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def stable(text: str) -> bytes:
    """A sort key that looks random and is the same everywhere."""
    return hashlib.sha256(text.encode()).digest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "src/headwise/corpora")
    args = parser.parse_args()
    sides = [
        lzma.decompress((args.folder / f"tatoeba.{code}.xz").read_bytes()).decode().split("\n")[:-1]
        for code in ("en", "de")
    ]
    pairs = list(zip(*sides, strict=True))
    counts = [Counter(word for text in side for word in words(text)) for side in sides]

    def usable(pair: tuple[str, str], frequent: int) -> bool:
        return all(
            2 <= len(words(text)) <= WORDS and all(count[word] >= frequent for word in words(text))
            for text, count in zip(pair, counts, strict=True)
        )

    # All pairs with those words of the demo's sentences that a random selection would contain only a few times.
    rare = {word for shown in UNSEEN for word in words(shown) if counts[0][word] < RARE}
    special = [pair for pair in pairs if usable(pair, FREQUENT // 6) and rare & set(words(pair[0]))]
    ordinary = [pair for pair in pairs if usable(pair, FREQUENT) and not rare & set(words(pair[0]))]
    ordinary.sort(key=lambda pair: stable(pair[0]) + stable(pair[1]))

    held_out: dict[tuple[str, ...], tuple[str, str]] = {}
    for pair in ordinary[: 2 * HELD_OUT]:
        if len(held_out) < HELD_OUT:
            held_out.setdefault(tuple(words(pair[0])), pair)
    unseen = held_out.keys() | {tuple(words(shown)) for shown in UNSEEN}
    train = [pair for pair in special + ordinary if tuple(words(pair[0])) not in unseen][:TRAIN]
    train.sort(key=lambda pair: stable(pair[0]) + stable(pair[1]))
    for name, part in (("train", train), ("held_out", list(held_out.values()))):
        text = "".join(f"{source}\t{target}\n" for source, target in part)
        (args.out / f"tatoeba_en_de.{name}.tsv.xz").write_bytes(
            lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        )
        print(f"{name}: {len(part):,} pairs")


if __name__ == "__main__":
    main()

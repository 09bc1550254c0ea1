"""Pick the demo's corpus out of a larger Tatoeba collection: made once, shipped in the package.

    python scripts/make_demo_corpus.py FOLDER_WITH_tatoeba.en.xz_AND_tatoeba.de.xz

Short sentences of frequent words, so that a small model can learn their patterns in minutes; the held-out
part and the sentences that the demo translates have no source in common with the training part.
"""

import argparse
import hashlib
import lzma
import re
from collections import Counter
from pathlib import Path

SHOWN = (
    "I ate an apple.",
    "Where is the station?",
    "She is reading a book.",
    "We have no time.",
    "My father works in a bank.",
)
TRAIN, HELD_OUT, WORDS, FREQUENT = 20_000, 500, 8, 20


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def stable(text: str) -> bytes:
    """An order that looks random and is the same everywhere."""
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

    def usable(pair: tuple[str, str]) -> bool:
        return all(
            2 <= len(words(text)) <= WORDS and all(count[word] >= FREQUENT for word in words(text))
            for text, count in zip(pair, counts, strict=True)
        )

    chosen = sorted((pair for pair in pairs if usable(pair)), key=lambda pair: stable(pair[0]) + stable(pair[1]))
    # The hash of the source comes first in the order, so all pairs of one source stand together.
    train, held_out = [], []
    last = ""
    for source, target in chosen:
        if words(source) in [words(shown) for shown in SHOWN]:
            continue
        if len(held_out) < HELD_OUT:
            if source != last:
                held_out.append((source, target))
        elif len(train) < TRAIN and source != held_out[-1][0]:
            train.append((source, target))
        last = source
    held_sources = {tuple(words(source)) for source, _ in held_out}
    train = [pair for pair in train if tuple(words(pair[0])) not in held_sources]
    for name, part in (("train", train), ("held_out", held_out)):
        text = "".join(f"{source}\t{target}\n" for source, target in part)
        (args.out / f"tatoeba_en_de.{name}.tsv.xz").write_bytes(
            lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        )
        print(f"{name}: {len(part):,} pairs")


if __name__ == "__main__":
    main()

"""The corpus that comes with the package: 20,000 short English-German pairs from tatoeba.org (CC-BY 2.0 FR)."""

from pathlib import Path

LICENCE = "sentences from tatoeba.org, CC-BY 2.0 FR"
TRAIN = Path(__file__).parent / "tatoeba_en_de.train.tsv.xz"
HELD_OUT = Path(__file__).parent / "tatoeba_en_de.held_out.tsv.xz"

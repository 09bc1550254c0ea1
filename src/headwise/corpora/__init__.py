"""The corpus that comes with the package: 20,000 short English-German pairs from tatoeba.org (CC-BY 2.0 FR)."""

from pathlib import Path

LICENCE = "sentences from tatoeba.org, CC-BY 2.0 FR"
TRAIN = Path(__file__).parent / "tatoeba_en_de.train.tsv.xz"
HELD_OUT = Path(__file__).parent / "tatoeba_en_de.held_out.tsv.xz"

UNSEEN = (
    "I ate an apple.",
    "Where is the station?",
    "She is reading a book.",
    "We have no time.",
    "My father works in a bank.",
)
"""Sentences to try a model on, which are in neither part."""

"""A small corpus in three scripts, and a tokenizer trained on it."""

from headwise.config import TextConfig
from headwise.text.kinds import train_tokenizer
from headwise.text.tokenizer import Tokenizer

_SUBJECTS = ["The old sailor", "Ihr Lehrer", "my sister Zoë", "Der Müller", "שכן", "the engineer"]
_VERBS = ["repairs", "übersetzt", "watches", "verkauft", "אוהב", "translated"]
_OBJECTS = [
    "a wooden boat.",
    "den langen Brief.",
    "the rusty machine!",
    "alte Bücher?",
    "ספרים",
    "窓を開ける",
]

CORPUS = [f"{subject} {verb} {thing}" for subject in _SUBJECTS for verb in _VERBS for thing in _OBJECTS]
LANGUAGES = ("en", "de", "he")


def trained(kind: str, sentences: list[str] = CORPUS, vocabulary: int = 500) -> Tokenizer:
    return train_tokenizer(TextConfig(kind=kind, vocabulary=vocabulary), sentences, LANGUAGES)

"""Options and result of a translation: plain values, without PyTorch or a model."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypedDict

from headwise.decode.alignment import Alignment
from headwise.decode.glossary.glossary import Glossary
from headwise.decode.glossary.rendering import TermUse
from headwise.decode.search.options import WIDEST, SamplingOptions
from headwise.errors import ConfigError


@dataclass(frozen=True)
class TranslateOptions:
    """Search options of a translation. The defaults suit most models."""

    beam: int = 4
    """Beam width; 1 is greedy search."""
    candidates: int = 1
    """Translations to return for each text; the beam is widened to this number."""
    length_penalty: float = 1.0
    """Exponent of the length that divides the log-probability; 0: no normalisation."""
    max_ratio: float = 2.0
    max_extra: int = 10
    """A translation has at most max_ratio * source tokens + max_extra tokens."""
    no_repeat: int = 0
    """Size of an n-gram that must not occur twice in a translation; 0: no limit."""
    sampling: SamplingOptions | None = None
    """Sample instead of searching; `candidates` gives the number of samples."""
    seed: int = 0
    """Seed of the sampling."""
    batch_tokens: int = 0
    """Source tokens times beam, padding included, that are searched together; 0: a size that suits the device."""
    exact: bool = False
    """Search until no better translation can be found; slower, and the translation is hardly ever better."""
    alignments: bool = False
    """Compute word alignments, which takes another pass over each translation."""
    repair: bool = True
    """Translate again where numbers or kept words (URLs, code, unknown scripts) are missing, and where a translation
    repeats itself or has more than three times the characters of its source. Samples are never repaired."""
    recase: bool = True
    """Translate texts in capitals in normal case, and put their translations in capitals; not with a prefix."""
    glossary: Glossary | None = None
    """Terms that translations must render as requested; not with sampling."""

    def __post_init__(self) -> None:
        if not 1 <= self.beam <= WIDEST:
            raise ConfigError(f"beam must be between 1 and {WIDEST:,}, not {self.beam:,}")
        if not 1 <= self.candidates <= WIDEST:
            raise ConfigError(f"candidates must be between 1 and {WIDEST:,}, not {self.candidates:,}")
        if not abs(self.length_penalty) <= 10:
            raise ConfigError(f"length_penalty must be between -10 and 10, not {self.length_penalty}")
        if not 0 <= self.max_ratio <= 1000:
            raise ConfigError(f"the length limit max_ratio must be between 0 and 1000, not {self.max_ratio}")
        if not 0 <= self.seed < 2**63:
            raise ConfigError("the seed must be at least 0 and below 2^63")
        if self.no_repeat < 0:
            raise ConfigError(f"no_repeat, the size of an n-gram, must not be negative, not {self.no_repeat}")
        if self.glossary is not None and self.sampling is not None:
            raise ConfigError("a glossary needs a search: it cannot be used with sampling")

    def as_table(self) -> dict[str, Any]:
        """The options as plain values; a glossary, where there is one, as the digest of its terms."""
        table = asdict(replace(self, glossary=None))
        del table["glossary"]
        return table | ({"glossary": self.glossary.digest} if self.glossary is not None else {})

    @property
    def width(self) -> int:
        """Hypotheses per sentence that are searched or sampled together."""
        return self.candidates if self.sampling else max(self.beam, self.candidates)


class TranslateKeywords(TypedDict, total=False):
    """The fields of `TranslateOptions` as keyword arguments."""

    beam: int
    candidates: int
    length_penalty: float
    max_ratio: float
    max_extra: int
    no_repeat: int
    sampling: SamplingOptions | None
    seed: int
    batch_tokens: int
    exact: bool
    alignments: bool
    repair: bool
    recase: bool
    glossary: Glossary | None


@dataclass(frozen=True)
class Translation:
    """One translation of one text. `str(translation)` is its text."""

    text: str
    score: float
    """Log-probability over length ** length_penalty; a text of several sentences has the mean of their scores."""
    tokens: list[str] = field(default_factory=list)
    alignment: Alignment = field(default_factory=list)
    """Pairs (source word, target word), counted from 0 between spaces; empty without the option `alignments`."""
    alternatives: list[Translation] = field(default_factory=list)
    """The next best translations, best first; a text of several sentences has none."""
    complete: bool = True
    """False if the length limit ended the translation before the model did."""
    missing_numbers: tuple[str, ...] = ()
    """Runs of digits of the source that the translation lacks although it was repaired; not known without the option
    `repair`."""
    detected: str = ""
    """The source language that was detected, where it was not named (`auto`)."""
    terms: tuple[TermUse, ...] = ()
    """What became of the source's terms that are in the glossary."""

    def __str__(self) -> str:
        return self.text

    @property
    def candidates(self) -> list[Translation]:
        """This translation and its alternatives, best first."""
        return [self, *self.alternatives]

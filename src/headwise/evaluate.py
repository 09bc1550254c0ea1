"""Evaluation of a translator: BLEU and chrF by sacreBLEU, with their signatures, and perplexity."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import DataError


@dataclass(frozen=True)
class Scores:
    """Scores on one test set."""

    pairs: int
    bleu: float
    bleu_signature: str
    chrf: float
    chrf_signature: str
    perplexity: float | None = None
    """Perplexity of the references per token of the model's own vocabulary."""
    search: str = ""
    """How the sources were translated."""

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        lines = [
            f"BLEU {self.bleu:.2f}  {self.bleu_signature}",
            f"chrF {self.chrf:.2f}  {self.chrf_signature}",
        ]
        if self.perplexity is not None:
            lines.append(f"perplexity {self.perplexity:.3f} per token of the model")
        return "\n".join([*lines, f"pairs {self.pairs:,}", *([self.search] if self.search else [])])


def compare(translations: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Scores:
    """Compute BLEU and chrF of finished translations."""
    _check(translations, references, "translations")
    bleu, chrf = BLEU(lowercase=lowercase), CHRF(lowercase=lowercase)
    bleu_score = bleu.corpus_score(list(translations), [list(references)])
    chrf_score = chrf.corpus_score(list(translations), [list(references)])
    return Scores(
        pairs=len(references),
        bleu=bleu_score.score,
        bleu_signature=str(bleu.get_signature()),
        chrf=chrf_score.score,
        chrf_signature=str(chrf.get_signature()),
    )


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    source: str | None = None,
    target: str | None = None,
    *,
    options: TranslateOptions | None = None,
    lowercase: bool = False,
    progress: Callable[[int], None] | None = None,
) -> tuple[Scores, list[str]]:
    """Translate the sources and score the translations; returns both."""
    _check(sources, references, "sources")
    results = translator.translate(sources, source=source, target=target, options=options, progress=progress)
    translations = [result.text for result in results]
    scores = compare(translations, references, lowercase=lowercase)
    per_token = perplexity(translator, sources, references, source, target)
    beam = (options or TranslateOptions()).beam
    search = f"beam {beam}, engine {translator.engine}{', shortlist' if translator.shortlist is not None else ''}"
    return replace(scores, perplexity=per_token, search=search), translations


def perplexity(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    source: str | None = None,
    target: str | None = None,
) -> float:
    """Perplexity of the references: exp of the mean negative log-likelihood per token, `<eos>` included."""
    _check(sources, references, "sources")
    log_probabilities = translator.reference_log_probabilities(sources, references, source=source, target=target)
    tokens = sum(len(each) for each in log_probabilities)
    return math.exp(-sum(map(sum, log_probabilities)) / tokens)


def _check(texts: Sequence[str], references: Sequence[str], name: str) -> None:
    if len(texts) != len(references):
        raise DataError(f"{len(texts)} {name}, but {len(references)} references")
    if not references:
        raise DataError("nothing to evaluate: no pairs")

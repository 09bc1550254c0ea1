"""The figures are sacreBLEU's own and the model's own, nothing of ours in between."""

import math

import pytest
import sacrebleu
import torch

from headwise.decode.translation import TranslateOptions
from headwise.errors import DataError
from headwise.evaluate import compare, evaluate, perplexity
from tests.taught import SOURCES, TARGETS, translator

HYPOTHESES = ["The cat sat on the mat.", "A dog, running fast!", "", "Ich bin 3,5 Meter groß."]
REFERENCES = ["The cat sits on the mat.", "A Dog running very fast!", "Nothing.", "Ich bin 3,5 Meter gross."]


def test_bleu_and_chrf_are_sacrebleu_s() -> None:
    scores = compare(HYPOTHESES, REFERENCES)
    assert scores.bleu == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    assert scores.chrf == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score
    assert 0 < scores.bleu < 100
    assert scores.pairs == 4


def test_lowercase_compares_without_case_and_says_so() -> None:
    scores = compare(HYPOTHESES, REFERENCES, lowercase=True)
    assert scores.bleu == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True).score
    assert scores.bleu > compare(HYPOTHESES, REFERENCES).bleu
    assert "case:lc" in scores.bleu_signature


def test_signatures_say_how_it_was_measured() -> None:
    scores = compare(HYPOTHESES, REFERENCES)
    for part in ("nrefs:1", "case:mixed", "tok:13a", f"version:{sacrebleu.__version__}"):
        assert part in scores.bleu_signature
    assert "nc:6" in scores.chrf_signature
    assert scores.bleu_signature in str(scores)
    assert scores.chrf_signature in str(scores)
    assert scores.as_dict()["bleu_signature"] == scores.bleu_signature


def test_a_perfect_translation() -> None:
    assert compare(REFERENCES, REFERENCES).bleu == pytest.approx(100)


def test_evaluate_compares_what_the_translator_says() -> None:
    engine = translator()
    references = [*TARGETS[:-1], "Etwas ganz anderes."]
    options = TranslateOptions(beam=2)
    scores, translations = evaluate(engine, SOURCES, references, options=options)
    assert translations == [result.text for result in engine.translate(SOURCES, options=options)]
    assert scores.bleu == sacrebleu.corpus_bleu(translations, [references]).score
    assert scores.perplexity == pytest.approx(perplexity(engine, SOURCES, references))


def test_perplexity_by_hand() -> None:
    engine = translator()
    tokenizer, model = engine.tokenizer, engine.model
    sources, references = SOURCES[:6], TARGETS[1:7]
    losses: list[float] = []
    for source, reference in zip(sources, references, strict=True):
        target = [tokenizer.sos, *tokenizer.encode(reference), tokenizer.eos]
        with torch.no_grad():
            logits = model(torch.tensor([[*tokenizer.encode(source), tokenizer.eos]]), torch.tensor([target[:-1]]))
        losses += torch.nn.functional.cross_entropy(logits[0], torch.tensor(target[1:]), reduction="none").tolist()
    assert perplexity(engine, sources, references) == pytest.approx(math.exp(sum(losses) / len(losses)), rel=1e-4)


def test_perplexity_knows_the_direction() -> None:
    engine = translator(both_directions=True)
    right, wrong = (perplexity(engine, TARGETS, SOURCES, target=language) for language in ("en", "de"))
    assert right < wrong


@pytest.mark.parametrize("measure", [compare, lambda *texts: evaluate(translator(), *texts)[0]])
def test_an_empty_test_set_and_unequal_sides_are_errors(measure: object) -> None:
    assert callable(measure)
    with pytest.raises(DataError, match="no pairs"):
        measure([], [])
    with pytest.raises(DataError, match=r"2 .*, but 1 references"):
        measure(["a", "b"], ["c"])


def test_perplexity_of_nothing_is_an_error() -> None:
    with pytest.raises(DataError, match="no pairs"):
        perplexity(translator(), [], [])

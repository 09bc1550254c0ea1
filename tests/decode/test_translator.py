"""Text in, text out: the same result whatever the batch, the order and the way it is computed."""

import dataclasses
import math
import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.decode import scoring
from headwise.decode import translator as translator_module
from headwise.decode.batching import BATCH_TOKENS
from headwise.decode.search.hypothesis import length_penalty
from headwise.decode.search.options import SamplingOptions
from headwise.decode.translation import TranslateKeywords, TranslateOptions, Translation
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import save_model
from headwise.recipe import replaced
from headwise.text.capitals import NormalCase
from tests.taught import PAIRS, SHAPE, SOURCES, TARGETS, taught, translator

MIXED = [
    "The cat sees an apple.",
    "",
    "dog",
    "My sister finds a small fish. A dog eats the house. The cat sees the house. A dog sees an apple.",
    "   \t ",
    "A dog finds the house.",
    "a a a a a a a a a a a a",
]

STRANGE = {
    "Arabic": "أكلت تفاحة في البيت.",
    "Hebrew with direction marks": "\u202bאכלתי תפוח\u202c",
    "emoji with joiners": "👩\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈 👍🏽",
    "Devanagari": "मैंने सेब खाया।",
    "Chinese": "我吃了一个苹果。他睡了！",
    "combining marks": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢",
    "zero width": "\u200b\ufeff\u2060x\u00ad",
    "private use and unassigned": "\ue000 \U0010ffff \u0378",
    "line separators": "one\u2028two\x85three\rfour\x0bfive",
    "a piece mark and tags": "▁ <eos> <2de> <pad> <0x41>",
    "control characters": "a\x01b\x7f",
}


def same(one: Translation, other: Translation) -> bool:
    return one.text == other.text and math.isclose(one.score, other.score, abs_tol=1e-4)


def slow_greedy(engine: Translator, text: str, limit: int) -> list[int]:
    """The likeliest token, again and again, without a cache, a batch or a search."""
    tokenizer, model = engine.tokenizer, engine.model
    source = torch.tensor([engine.source_ids(text)])
    ids = [tokenizer.sos]
    with torch.no_grad():
        while len(ids) <= limit:
            logits = model(source, torch.tensor([ids]))[0, -1]
            logits[list(tokenizer.specials)] = -math.inf
            ids.append(int(logits.argmax()))
            if ids[-1] == tokenizer.eos:
                return ids[1:-1]
    return ids[1:]


def log_probabilities(engine: Translator, text: str, ids: list[int]) -> list[float]:
    """The model's own, of the tokens of a translation."""
    tokenizer = engine.tokenizer
    [found] = scoring.log_probabilities(engine.model, [engine.source_ids(text)], [ids], tokenizer.sos, tokenizer.eos)
    return found


def spied(engine: Translator, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that reach the model, in the order in which they stand in the input."""
    seen: list[str] = []
    original = engine._framer.parts

    def spy(text: str, ids: list[int], frame: Any) -> list[object]:
        parts = original(text, ids, frame)
        seen.extend(engine.tokenizer.decode(part.source) for part in parts)
        return parts  # type: ignore[return-value]

    monkeypatch.setattr(engine._framer, "parts", spy)
    return seen


def test_it_has_learned_its_sentences() -> None:
    """All tests below would be empty with a model that translates everything alike."""
    results = translator().translate(SOURCES)
    assert sum(result.text == target for result, target in zip(results, TARGETS, strict=True)) >= 25
    assert all(result.complete for result in results)


@pytest.mark.parametrize("beam", [1, 4])
def test_batched_equals_single(beam: int) -> None:
    engine = translator()
    together = engine.translate(MIXED, beam=beam)
    alone = [engine.translate([text], beam=beam)[0] for text in MIXED]
    assert all(same(one, other) for one, other in zip(together, alone, strict=True))


def test_output_is_in_input_order() -> None:
    engine = translator()
    forward = engine.translate(MIXED + SOURCES)
    backward = engine.translate([*reversed(MIXED + SOURCES)])
    assert all(same(one, other) for one, other in zip(forward, reversed(backward), strict=True))
    assert len({result.text for result in forward}) > 20


def test_many_texts_go_through_in_batches_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    sizes: list[int] = []
    original = engine._engine.stepper.start

    def spy(source: torch.Tensor) -> object:
        sizes.append(source.numel())
        return original(source)

    monkeypatch.setattr(engine._engine.stepper, "start", spy)
    texts = SOURCES * 10
    results = engine.translate(texts, beam=2)
    assert len(sizes) > 1
    assert max(sizes) * 2 <= BATCH_TOKENS
    once = engine.translate(SOURCES, beam=2)
    assert all(same(result, once[place % len(SOURCES)]) for place, result in enumerate(results))


@pytest.mark.parametrize("blank", ["", " ", "\t\n  \u00a0\u3000", "\r\n\r\n"])
def test_blank_stays_empty(blank: str) -> None:
    results = translator().translate([SOURCES[0], blank, SOURCES[1]])
    assert results[1] == Translation("", 0.0)
    assert [results[0].text, results[2].text] == [r.text for r in translator().translate(SOURCES[:2])]
    assert translator().translate([blank]) == [Translation("", 0.0)]
    assert translator().translate([blank], prefix="Die")[0].text == ""


def test_no_text_gives_no_result_and_one_string_gives_one() -> None:
    assert translator().translate([]) == []
    result = translator().translate(SOURCES[0])
    assert isinstance(result, Translation)
    assert same(result, translator().translate([SOURCES[0]])[0])
    assert str(result) == result.text == TARGETS[0]


def test_beam_one_is_greedy() -> None:
    engine = translator()
    for text in [*SOURCES[::3], "dog", "a a a a", "x y z"]:
        limit = 2 * len(engine.source_ids(text)) + 10
        expected = slow_greedy(engine, text, limit)
        (result,) = engine.translate([text], beam=1, repair=False)
        assert result.tokens == engine.tokenizer.pieces(expected)


@pytest.mark.parametrize("penalty", [0.0, 1.0])
@pytest.mark.parametrize("beam", [1, 4])
def test_score_is_the_search_s_own(penalty: float, beam: int) -> None:
    engine = translator()
    options = TranslateOptions(beam=beam, candidates=beam, length_penalty=penalty)
    texts = SOURCES[::4]
    checked = 0
    for text, result in zip(texts, engine.translate(texts, options=options), strict=True):
        for candidate in result.candidates:
            if not candidate.complete:
                continue
            ids = engine.tokenizer.piece_ids(candidate.tokens)
            found = log_probabilities(engine, text, ids)
            assert len(found) == len(ids) + 1
            score = length_penalty(sum(found), len(found), penalty)
            assert candidate.score == pytest.approx(score, abs=1e-4)
            if engine.tokenizer.encode(candidate.text) == ids:
                (by_text,) = engine.score([text], [candidate.text], length_penalty=penalty)
                assert candidate.score == pytest.approx(by_text, abs=1e-4)
                checked += 1
    assert checked >= len(texts)


def test_scores_of_a_batch_are_those_of_its_pairs() -> None:
    engine = translator()
    sources, targets = [*SOURCES[:5], "", "dog", "a b c " * 30], [*TARGETS[:5], "Hund", "", "d e f " * 50]
    together = engine.score(sources, targets)
    alone = [engine.score([s], [t])[0] for s, t in zip(sources, targets, strict=True)]
    assert together == pytest.approx(alone, abs=1e-4)
    assert all(score < 0 for score in together)
    swapped = engine.score(SOURCES[:5], TARGETS[5:10])
    assert all(right > wrong for right, wrong in zip(together[:5], swapped, strict=True))
    with pytest.raises(DataError, match="2 sources, but 1 targets"):
        engine.score(["a", "b"], ["c"])
    assert engine.score([], []) == []


def test_scoring_long_texts_keeps_to_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    sizes: list[int] = []
    original = engine.model.decode

    def spy(target: torch.Tensor, *rest: object) -> object:
        sizes.append(target.numel())
        return original(target, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(engine.model, "decode", spy)
    engine.score(SOURCES * 3, ["der Hund " * 30] * 81)
    assert max(sizes) <= BATCH_TOKENS


def test_candidates_are_sorted_and_distinct() -> None:
    engine = translator()
    for result in engine.translate(SOURCES[:6], candidates=4, beam=4):
        assert len(result.candidates) == 4
        assert len({tuple(candidate.tokens) for candidate in result.candidates}) == 4
        ranks = [(not candidate.complete, -candidate.score) for candidate in result.candidates]
        assert ranks == sorted(ranks)
        assert result.candidates[0] is result
    wider = engine.translate(SOURCES[:6], candidates=5, beam=2)  # the beam widens to what is asked for
    assert all(len(result.candidates) == 5 for result in wider)


def test_prefix_is_respected() -> None:
    engine = translator()
    results = engine.translate(SOURCES[:9], prefix="Meine Schwester")
    assert all(result.text.startswith("Meine Schwester") for result in results)
    assert len({result.text for result in results}) > 3
    forced = engine.translate(SOURCES[:2], prefix="Ein Hund sieht einen Apfel. Ein Hund " * 3)
    assert all(result.text.startswith("Ein Hund sieht einen Apfel. Ein Hund Ein Hund") for result in forced)


def test_no_repeat() -> None:
    engine = translator()
    text = "dog dog dog dog dog dog dog dog dog dog dog"
    for size in (1, 2):
        for options in (TranslateOptions(no_repeat=size), TranslateOptions(beam=1, no_repeat=size, max_ratio=4.0)):
            for result in engine.translate([text, SOURCES[3]], options=options):
                grams = [tuple(result.tokens[i : i + size]) for i in range(len(result.tokens) - size + 1)]
                assert len(grams) == len(set(grams))


def test_length_limit() -> None:
    engine = translator()
    short = TranslateOptions(max_ratio=0.0, max_extra=2)
    (result,) = engine.translate([SOURCES[0]], options=short)
    assert len(result.tokens) == 2
    assert not result.complete
    assert engine.translate([SOURCES[0]])[0].complete
    parts = engine.translate([" ".join(SOURCES)], options=short)[0]
    assert not parts.complete
    with pytest.raises(ConfigError, match="length limit"):
        engine.translate([SOURCES[0]], options=TranslateOptions(max_ratio=-1.0, max_extra=0))


def test_sampling_is_fixed_by_its_seed() -> None:
    engine = translator()

    def texts(seed: int) -> list[list[str]]:
        sampling = SamplingOptions(temperature=1.5)
        options = TranslateOptions(candidates=3, sampling=sampling, seed=seed)
        return [[each.text for each in result.candidates] for result in engine.translate(SOURCES[:5], options=options)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)
    assert all(len(candidates) == 3 for candidates in texts(1))


def test_samples_of_several_batches_are_drawn_independently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.decode.batching.BATCH_TOKENS", 1)
    options = TranslateOptions(sampling=SamplingOptions(temperature=3.0))
    results = translator().translate([SOURCES[0]] * 6, options=options)
    assert len({result.text for result in results}) > 1


def test_scores_of_samples_are_the_models_own() -> None:
    engine = translator()
    options = TranslateOptions(candidates=3, sampling=SamplingOptions(temperature=0.7, top_k=20), length_penalty=0.0)
    for candidate in engine.translate([SOURCES[0]], options=options)[0].candidates:
        ids = engine.tokenizer.piece_ids(candidate.tokens)
        found = log_probabilities(engine, SOURCES[0], ids)
        assert candidate.score == pytest.approx(sum(found[: None if candidate.complete else -1]), abs=1e-4)


# --- texts of several sentences ------------------------------------------------------------------------


def test_a_long_text_is_translated_sentence_by_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    text = "  ".join(SOURCES[:9])
    whole = " ".join(SOURCES[:9])
    seen = spied(engine, monkeypatch)
    (result,) = engine.translate([text])
    assert len(seen) > 1
    assert " ".join(seen) == whole
    assert seen == SOURCES[:9]  # each by itself: a model of single sentences drops the second of two
    assert result.text == "  ".join(TARGETS[:9])
    parts = engine.translate(seen)
    assert result.text.split() == " ".join(part.text for part in parts).split()
    assert result.tokens == [token for part in parts for token in part.tokens]
    assert result.score == pytest.approx(sum(part.score for part in parts) / len(parts), abs=1e-4)
    assert [candidate.text for candidate in result.candidates] == [result.text]


def test_separators_between_parts_are_kept() -> None:
    engine = translator()
    lines = [SOURCES[0], SOURCES[5], SOURCES[10]]
    separators = ["\n", "\n\n", "\r\n\t "]
    for separator in separators:
        (result,) = engine.translate([separator.join(lines)])
        single = [each.text for each in engine.translate(lines)]
        assert result.text == separator.join(single)
    (padded,) = engine.translate([f"\n  {SOURCES[0]}\n"])
    assert padded.text == engine.translate([SOURCES[0]])[0].text


def test_a_sentence_beyond_the_longest_is_cut_and_none_of_its_words_is_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = translator()
    words = [f"word{number}" for number in range(60)]
    seen = spied(engine, monkeypatch)
    (result,) = engine.translate([" ".join(words)])
    assert " ".join(seen).split() == words
    assert len(seen) > 3
    assert all(len(engine.tokenizer.encode(part)) <= engine.task.max_tokens for part in seen)
    assert result.text


def test_a_word_beyond_the_longest_is_cut_too(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    word = "".join(chr(ord("a") + number % 26) for number in range(300))
    seen = spied(engine, monkeypatch)
    engine.translate([word])
    assert "".join(seen) == word
    assert len(seen) > 1


def test_a_line_of_100_000_characters() -> None:
    """The slowest of bad input: works, in parts, in time that grows with the length, not its square."""
    engine = translator(kind="words", usual_tokens=200, max_tokens=400)
    text = " ".join(SOURCES * 150)
    assert len(text) > 100_000 * 0.9
    options = TranslateOptions(beam=1, max_ratio=0.0, max_extra=1)
    (result,) = engine.translate([text], options=options)
    assert len(result.tokens) >= len(text.split()) // 400


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("kind", ["unigram", "words", "characters", "bytes"])
def test_strange_text(kind: str, text: str) -> None:
    engine = translator(kind=kind, steps=0)
    (result,) = engine.translate([text])
    assert isinstance(result.text, str)
    assert math.isfinite(result.score)
    result.text.encode()
    words = len(text.split())
    assert all(s < words and t < len(result.text.split()) for s, t in result.alignment)


@given(st.text(max_size=60))
@settings(max_examples=40, deadline=None)
def test_any_text_translates(text: str) -> None:
    (result,) = translator().translate([text], beam=2)
    assert bool(result.tokens) <= bool(text.strip())
    result.text.encode()


# --- alignments and tokens -----------------------------------------------------------------------------


def aligned_texts() -> list[str]:
    long_word = "".join(chr(ord("a") + number % 26) for number in range(120))
    return [
        *SOURCES[:5],
        " ".join(SOURCES[:6]),
        "\n".join(SOURCES[:3]),
        f"the {long_word} dog",
        "我吃了一个苹果。" * 12,
    ]


def test_alignments_are_in_range() -> None:
    engine = translator()
    texts = aligned_texts()
    for text, result in zip(texts, engine.translate(texts, candidates=2, alignments=True), strict=True):
        assert result.alignment
        for candidate in result.candidates:
            source, target = len(text.split()), len(candidate.text.split())
            assert all(0 <= s < source and 0 <= t < target for s, t in candidate.alignment)
            assert candidate.alignment == sorted(set(candidate.alignment))
            linked = [t for _, t in candidate.alignment]
            assert len(linked) <= target * max(1, len(text) // 20)


def test_alignments_of_parts_point_into_the_whole_text() -> None:
    engine = translator()
    first, second = SOURCES[0], SOURCES[13]
    one, other = engine.translate([first, second], alignments=True)
    whole = engine.translate(f"{first}\n{second}", alignments=True)
    shift = len(first.split()), len(one.text.split())
    assert whole.alignment == one.alignment + [(s + shift[0], t + shift[1]) for s, t in other.alignment]


def test_alignments_are_computed_on_request() -> None:
    result = translator().translate(SOURCES[0])
    assert result.alignment == []
    aligned = translator().translate(SOURCES[0], alignments=True)
    assert aligned.alignment
    assert same(result, aligned)


@pytest.mark.parametrize("kind", ["unigram", "bpe", "words", "characters"])
def test_tokens_spell_the_text(kind: str) -> None:
    engine = translator(kind=kind, steps=10)
    for result in engine.translate(SOURCES[:4]):
        assert engine.tokenizer.decode(engine.tokenizer.piece_ids(result.tokens)) == result.text
        assert "<eos>" not in result.tokens


# --- directions ----------------------------------------------------------------------------------------


def test_a_direction_that_is_not_there_is_an_error_that_names_those_that_are() -> None:
    engine = translator()
    for languages in (("en", "fr"), ("fr", "de"), ("de", "en")):
        with pytest.raises(ConfigError, match=r"does not translate from .* to .*it has: en-de"):
            engine.translate(SOURCES[0], source=languages[0], target=languages[1])
    for source, target in ((None, None), ("en", None), (None, "de"), ("EN", "De"), ("en-US", "de_AT")):
        assert engine.translate(SOURCES[0], source=source, target=target).text == engine.translate(SOURCES[0]).text
    with pytest.raises(ConfigError, match=r"does not translate to fr; it has: en-de"):
        engine.translate(SOURCES[0], target="fr")


def test_several_directions_need_a_target() -> None:
    engine = translator(both_directions=True)
    with pytest.raises(ConfigError, match=r"several target languages: name one with --to \(de, en\)"):
        engine.translate(SOURCES[:1])
    english, german = SOURCES[4], TARGETS[4]
    assert engine.translate([english], target="de")[0].text == german
    assert engine.translate([german], target="en")[0].text == english
    assert engine.translate([german], source="de")[0].text == english
    assert engine.translate(english, source="en", target="de").tokens[0] != "<2de>"
    assert engine.source_ids(english, target="de")[0] == engine.tokenizer.tag("de")


def test_scores_know_the_direction() -> None:
    engine = translator(both_directions=True)
    (right,) = engine.score([SOURCES[4]], [TARGETS[4]], target="de")
    (wrong,) = engine.score([SOURCES[4]], [TARGETS[4]], target="en")
    assert right > wrong


# --- learned positions end -----------------------------------------------------------------------------


def test_learned_positions_bound_what_is_translated() -> None:
    shape = replaced(SHAPE, {"positions.kind": "learned", "positions.max_positions": 20})
    loaded: LoadedModel = taught(usual_tokens=24, max_tokens=64, shape=shape, steps=20)
    engine = Translator(loaded, device="cpu")
    options = TranslateOptions(max_ratio=9.0)
    results = engine.translate([" ".join(SOURCES), "x " * 50, SOURCES[0]], options=options)
    assert all(result.text for result in results)
    with pytest.raises(DataError, match="20 positions"):
        engine.score([" ".join(SOURCES)], ["Hund"])
    with pytest.raises(DataError, match="20 positions"):
        engine.score(["dog"], ["x " * 50])


def test_progress_counts_up_to_the_number_of_sentences() -> None:
    told: list[int] = []
    translator().translate(SOURCES * 9, progress=told.append)
    assert told[-1] == len(PAIRS) * 9
    assert all(before < after for before, after in pairwise(told))


def test_a_stack_that_attends_once_aligns_too() -> None:
    """An LSTM decoder has one attention above all its layers."""
    shape = replaced(SHAPE, {"stack": "lstm", "positions.kind": "none", "attention.heads": 1})
    for result, source, target in zip(
        translator(kind="words", shape=shape, steps=160).translate(SOURCES, alignments=True),
        SOURCES,
        TARGETS,
        strict=True,
    ):
        assert result.text == target
        assert {s for s, _ in result.alignment} <= set(range(len(source.split())))
        assert {t for _, t in result.alignment} == set(range(len(target.split())))


# --- how it is called ----------------------------------------------------------------------------------


def test_search_options_are_keywords_or_one_value() -> None:
    engine = translator()
    by_keyword = engine.translate(SOURCES[:3], beam=1, candidates=2, length_penalty=0.0)
    by_value = engine.translate(SOURCES[:3], options=TranslateOptions(beam=1, candidates=2, length_penalty=0.0))
    assert by_keyword == by_value
    with pytest.raises(ConfigError, match="give beam as part of `options`, or leave `options` out"):
        engine.translate(SOURCES[0], beam=1, options=TranslateOptions())
    with pytest.raises(TypeError, match="unexpected keyword argument 'bema'; the search options are beam"):
        engine.translate(SOURCES[0], bema=1)  # type: ignore[call-overload]


def test_every_search_option_is_a_keyword() -> None:
    fields = {field.name for field in dataclasses.fields(TranslateOptions)}
    assert fields == set(TranslateKeywords.__annotations__)


@pytest.mark.parametrize("options", [{"beam": 0}, {"beam": -3}, {"beam": 2000}, {"candidates": 0}])
def test_a_beam_that_cannot_be_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match=r"(beam|candidates) must be between 1 and 1,024, not"):
        translator().translate(SOURCES[0], **options)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ([None], r"texts\[0\] must be a str, not NoneType"),
        (["dog", 5], r"texts\[1\] must be a str, not int"),
        (None, "texts must be a str or an iterable of str, not NoneType"),
        (b"dog", "texts must be str, not bytes: decode them first"),
        ([b"dog"], r"texts\[0\] must be a str, not bytes"),
    ],
)
def test_what_is_no_text_is_named(texts: Any, says: str) -> None:
    with pytest.raises(TypeError, match=says):
        translator().translate(texts)


def test_any_iterable_of_texts_will_do() -> None:
    engine = translator()
    assert engine.translate(text for text in SOURCES[:3]) == engine.translate(tuple(SOURCES[:3]))


def test_a_stream_is_translated_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.decode.translator.STREAM_CHUNK", 4)
    engine, read = translator(), list[str]()

    def texts() -> Iterator[str]:
        for text in SOURCES[:10]:
            read.append(text)
            yield text

    found = engine.translate_stream(texts(), beam=1)
    assert next(found).text == engine.translate(SOURCES[0], beam=1).text
    assert read == SOURCES[:4], "the rest is read later"
    assert [each.text for each in found] == [each.text for each in engine.translate(SOURCES[1:10], beam=1)]
    with pytest.raises(ConfigError, match="does not translate to fr"):
        engine.translate_stream(texts(), target="fr")


def test_chunks_of_a_stream_are_drawn_independently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.decode.translator.STREAM_CHUNK", 1)
    found = translator().translate_stream([SOURCES[0]] * 6, sampling=SamplingOptions(temperature=3.0))
    assert len({each.text for each in found}) > 1


def test_one_pair_is_scored_as_one() -> None:
    engine = translator()
    score = engine.score(SOURCES[4], TARGETS[4])
    assert [score] == engine.score([SOURCES[4]], [TARGETS[4]])
    with pytest.raises(TypeError, match="two texts, or two lists"):
        engine.score(SOURCES[4], [TARGETS[4]])  # type: ignore[call-overload]


def test_its_directions_are_known() -> None:
    assert translator().directions == (("en", "de"),)
    assert translator(both_directions=True).directions == (("en", "de"), ("de", "en"))


def test_a_closed_translator_says_so(tmp_path: Path) -> None:
    save_model(tmp_path / "model", taught())
    with Translator(tmp_path / "model", device="cpu") as engine:
        assert repr(engine).startswith(f"Translator('{tmp_path / 'model'}', en-de, engine ")
        assert engine.translate(SOURCES[0]).text == TARGETS[0]
    assert repr(engine) == "Translator(closed)"
    engine.close()
    for use in (lambda: engine.translate(SOURCES[0]), lambda: engine.score("a", "b"), lambda: engine.model):
        with pytest.raises(ConfigError, match="this Translator is closed"):
            use()


def test_pickling_says_what_to_do_instead() -> None:
    with pytest.raises(TypeError, match=r"cannot be pickled or copied: .* Pass on the model's folder"):
        pickle.dumps(translator())


def test_decoder_input_of_a_given_translation() -> None:
    engine = translator(both_directions=True)
    source, shown = engine.pair_ids(SOURCES[0], TARGETS[0], source="en", target="de")
    assert source == engine.source_ids(SOURCES[0], source="en", target="de")
    assert shown == [engine.tokenizer.sos, *engine.tokenizer.encode(TARGETS[0])]


# --- capitals ------------------------------------------------------------------------------------------


def test_capitals_are_translated_in_normal_case(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, normal = translator(), SOURCES[0]
    monkeypatch.setattr(NormalCase, "of", lambda self, text, nouns: normal)
    expected, found = engine.translate([normal, normal.upper()], candidates=3, alignments=True)
    assert found.text == expected.text.upper() != expected.text
    assert [each.text for each in found.alternatives] == [each.text.upper() for each in expected.alternatives] != []
    assert found.alignment == expected.alignment != []
    assert found.tokens == engine.tokenizer.pieces(engine.tokenizer.encode_target(found.text))
    assert math.isclose(found.score, expected.score, abs_tol=1e-4)


def test_what_reaches_the_model_is_in_normal_case(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    seen = spied(engine, monkeypatch)
    engine.translate(["THE CAT SEES AN APPLE.", "The cat"])
    assert seen == ["The cat sees an apple.", "The cat"]


def test_lines_and_sentences_in_capitals_are_recased_as_if_they_were_alone() -> None:
    engine = translator()
    lines = [SOURCES[0].upper(), SOURCES[1], SOURCES[2].upper()]
    alone = engine.translate(lines, alignments=True)
    together = engine.translate("\n\n".join(lines), alignments=True)
    assert alone[0].text.isupper()
    assert not alone[1].text.isupper()
    assert together.text == "\n\n".join(each.text for each in alone)
    assert together.tokens == [token for each in alone for token in each.tokens]


@pytest.mark.parametrize("break_", ["\n", "\r\n", "\r", "\v", "\u2028", "\t", " | ", "      "])
def test_line_breaks_and_columns_stay(break_: str) -> None:
    engine = translator()
    assert engine.translate(break_.join(SOURCES[:2])).text == break_.join(TARGETS[:2])


def test_invisible_characters_do_not_reach_the_model() -> None:
    engine = translator()
    text = SOURCES[0].replace("cat", "c\u00ada\u200bt") + "\ufeff"
    assert engine.translate(text).text == TARGETS[0]
    assert engine.source_ids(text) == engine.source_ids(SOURCES[0])


def test_capitals_stay_if_they_are_to(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, text = translator(), SOURCES[0].upper()
    seen = spied(engine, monkeypatch)
    engine.translate(text, recase=False)
    prefix = TARGETS[0].split()[0]
    assert engine.translate(text, prefix=prefix).text.startswith(prefix)
    assert seen == [text, text]


def test_titles_are_translated_again_where_the_translation_is_one_too(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    title = "The Cat Sees The House"
    normal = NormalCase(engine.tokenizer).of(title, nouns=False)
    expected = engine.translate(normal).text
    seen = spied(engine, monkeypatch)
    monkeypatch.setattr(translator_module, "in_title_case", lambda text: True)
    assert engine.translate(title).text == expected
    assert seen[:2] == [title, normal]
    seen.clear()
    engine.translate(title, recase=False)
    assert seen == [title]


def test_of_two_translations_of_a_title_the_more_probable_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = translator()
    learned, other = SOURCES[0], "house finds sees"
    titles = {learned: other, other: learned}
    expected = engine.translate([learned, other])
    assert expected[0].score > expected[1].score
    monkeypatch.setattr(translator_module, "in_title_case", lambda text: text in titles)
    monkeypatch.setattr(NormalCase, "of", lambda self, text, nouns: titles[text])
    assert [engine.translate(text).text for text in titles] == [expected[0].text] * 2

"""Faulty translations become better ones, and good ones cost nothing."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from headwise.decode.repair.repair import SourceSentence, repair, repair_texts
from headwise.decode.repair.second_search import SecondSearch
from headwise.decode.search.options import SamplingOptions
from headwise.decode.text_parts import TextPart
from headwise.decode.translation import Translation
from headwise.decode.translator import Translator
from headwise.text.numbers import missing_runs
from tests.taught import SOURCES, translator


def candidates(*texts: str) -> list[Translation]:
    return [Translation(text, -float(rank), text.split()) for rank, text in enumerate(texts)]


class Model:
    """A translator by rule, which writes down what it is asked."""

    def __init__(self, rule: Callable[[str], Sequence[str]]) -> None:
        self.rule = rule
        self.asked: list[str] = []

    def second(self, prefix: str = "") -> SecondSearch:
        def search(texts: list[str], begins: list[bool]) -> list[list[Translation]]:
            self.asked += texts
            return [candidates(*self.rule(text)) for text in texts]

        return SecondSearch(search, str.split, lambda source, text: [], ("en", "de"), prefix)


def repaired(model: Model, source: str, *found: str, prefix: str = "", kept: tuple[str, ...] = ()) -> list[Translation]:
    [result] = repair([SourceSentence(source, True, list(kept))], [candidates(*found)], model.second(prefix))
    return result


def test_a_good_translation_is_not_searched_again() -> None:
    model = Model(lambda text: ["other"])
    assert repaired(model, "In 1985.", "1985.")[0].text == "1985."
    assert not model.asked


def test_another_candidate_with_all_numbers_is_preferred() -> None:
    model = Model(lambda text: ["im Jahr", "1985 im Jahr", "1985"])
    [best] = repaired(model, "in the year 1985", "im Jahr")
    assert (best.text, best.missing_numbers) == ("1985 im Jahr", ())
    assert model.asked == ["in the year 1985"]


def test_stand_ins_bring_numbers_back() -> None:
    model = Model(lambda text: [text.replace("pay", "zahle")] if "123456789" not in text else ["zahle"])
    [best] = repaired(model, "pay 123456789 now", "zahle")
    assert best.text == "zahle 123456789 now"
    assert best.tokens == best.text.split()


def test_pieces_are_the_last_resort() -> None:
    model = Model(lambda text: ["".join(c for c in text if not c.isdigit()).strip().upper()])
    [best] = repaired(model, "pay 12345 and 77 now", "PAY")
    assert best.text == "PAY 12345 AND 77 NOW"
    assert not best.missing_numbers


def test_what_cannot_be_brought_back_is_named() -> None:
    model = Model(lambda text: ["Also"])
    [best] = repaired(model, "pay 12345 and 77", "Also", prefix="Also")
    assert (best.text, best.missing_numbers) == ("Also", ("12345", "77"))


def test_alternatives_stay_and_keep_their_number() -> None:
    model = Model(lambda text: ["so 1985", "1985"])
    result = repaired(model, "in 1985", "so", "im", "dann")
    assert [each.text for each in result] == ["so 1985", "so", "im"]


def test_surplus_numbers_are_avoided_if_possible() -> None:
    assert repaired(Model(lambda text: ["12 Monate"]), "12 months", "12 Monate 13")[0].text == "12 Monate"
    assert repaired(Model(lambda text: ["keine"]), "12 months", "12 Monate 13")[0].text == "12 Monate 13"


def test_babble_is_replaced_or_cut() -> None:
    source, babble = "I do not know what this is.", "ja " * 60
    assert repaired(Model(lambda text: ["Ich weiß nicht."]), source, babble)[0].text == "Ich weiß nicht."
    [best] = repaired(Model(lambda text: [babble]), source, "nun " + babble)
    assert best.text == "nun ja"
    long = " ".join(f"wort{number}" for number in range(60))
    [best] = repaired(Model(lambda text: [long]), source, long)
    assert len(best.text) <= 3 * len(source)
    assert long.startswith(best.text)
    assert not best.complete


def test_cutting_does_not_lose_numbers_that_a_copy_keeps() -> None:
    [best] = repaired(Model(lambda text: ["Vereinigte Staaten von Amerika 42"]), "42", "Vereinigte Staaten von Amerika")
    assert best.text == "42"


def test_a_search_that_ran_into_its_limit_is_not_repeated() -> None:
    model = Model(lambda text: [text.upper()])
    long = " ".join(f"wort{number}" for number in range(60))
    found = [replace(each, complete=False) for each in candidates(long)]
    [[best]] = repair([SourceSentence("what is this", True)], [found], model.second())
    assert not model.asked
    assert long.startswith(best.text)
    [[best]] = repair([SourceSentence("what is 77", True)], [found], model.second())
    assert model.asked == ["what is"]
    assert best.text == "WHAT IS 77"


def test_what_cannot_be_translated_is_copied_rather_than_losing_digits() -> None:
    model = Model(lambda text: ["Vereinigte Staaten"])
    [best] = repaired(model, "10 a 11 b 12 c", "Vereinigte Staaten von Amerika und so weiter und so fort")
    assert best.text == "10 a 11 b 12 c"
    assert not best.complete


def test_what_has_no_letters_is_copied_at_once() -> None:
    model = Model(lambda text: ["x"])
    for source in ("42", "*** --- ***", "१२ + 3 = ?"):
        assert repaired(model, source, "Vereinigte Staaten von Amerika und so weiter und so fort")[0].text == source
    assert not model.asked


# --- a translator ------------------------------------------------------------------------------------------


def with_numbers() -> list[str]:
    return [f"{source} 12.{number} 1985" for number, source in enumerate(SOURCES)]


@pytest.mark.parametrize("engine", ["plain", "int8"])
@pytest.mark.parametrize("beam", [1, 4])
def test_all_digits_survive_a_model_that_knows_none(engine: str, beam: int) -> None:
    given = translator() if engine == "plain" else Translator(translator()._served.loaded, device="cpu", engine=engine)
    texts = with_numbers()
    plain = given.translate(texts, beam=beam, repair=False)
    assert any(missing_runs(text, found.text, "de") for text, found in zip(texts, plain, strict=True))
    assert not any(found.missing_numbers for found in plain)
    for text, found in zip(texts, given.translate(texts, beam=beam), strict=True):
        assert not missing_runs(text, found.text, "de")
        assert not found.missing_numbers


def test_repaired_translations_have_tokens_alignments_and_candidates() -> None:
    text = f"{SOURCES[0]} 12 1985"
    found = translator().translate(text, candidates=3, alignments=True)
    assert len(found.candidates) == 3
    assert found.tokens
    words = len(found.text.split())
    assert found.alignment
    assert all(source < len(text.split()) and target < words for source, target in found.alignment)


def test_texts_do_not_influence_each_other() -> None:
    texts = [*with_numbers()[:5], *SOURCES[:5]]
    engine = translator()
    together = engine.translate(texts)
    assert [each.text for each in together] == [engine.translate(text).text for text in texts]


def test_a_prefix_stays() -> None:
    found = translator().translate([f"{SOURCES[0]} 1985", "a"], prefix="Die Katze sieht einen kleinen Fisch")
    assert all(each.text.startswith("Die Katze sieht einen kleinen Fisch") for each in found)


def test_many_short_parts_are_not_far_longer_together() -> None:
    text = "\n".join("abcdefgh" * 40)
    found = translator().translate(text)
    assert len(found.text) <= 3 * len(text)


@pytest.mark.parametrize("texts", [["ﷺ" * 10], ["ﷺ" * 5, "ﷺ" * 5]])
def test_a_readable_form_that_is_longer_than_its_text_allows_no_more(texts: list[str]) -> None:
    """For a model without Arabic ligatures each of them becomes eighteen characters."""
    readable = [TextPart(text.replace("ﷺ", "salla allahu alaih"), "", []) for text in texts]
    model, long = Model(lambda text: [text]), " ".join(["wort"] * 30)
    found = repair_texts([readable], [10], [candidates(long) for _ in readable], model.second())
    assert 20 <= sum(len(each[0].text) for each in found) <= 30
    enough = repair_texts([readable], [180], [candidates(long) for _ in readable], model.second())
    assert [each[0].text for each in enough] == [long] * len(readable)


def test_samples_are_never_repaired() -> None:
    texts, drawn = with_numbers(), SamplingOptions()
    engine = translator()
    one = engine.translate(texts, sampling=drawn, seed=3)
    other = engine.translate(texts, sampling=drawn, seed=3, repair=False)
    assert one == other


def test_a_sentence_at_the_limit_of_positions_is_repaired_too() -> None:
    engine = translator(usual_tokens=8, max_tokens=8)
    found = engine.translate("7 " * 40 + "cat 1")
    assert not missing_runs("7 " * 40 + "cat 1", found.text, "de")


def test_detected_texts_are_repaired() -> None:
    found = translator().translate(f"{SOURCES[0]} 1985", source="auto")
    assert "1985" in found.text


def test_stand_ins_bring_kept_words_back() -> None:
    model = Model(lambda text: [text.replace("see", "siehe").replace("and", "und")] if "\\" not in text else ["??"])
    [best] = repaired(model, r"see C:\x and C:\y", "siehe", kept=(r"C:\x", r"C:\y"))
    assert best.text == r"siehe C:\x und C:\y"
    assert model.asked == [r"see C:\x and C:\y", "see XYZ1 and XYZ2"]


def test_pieces_are_the_last_resort_for_kept_words() -> None:
    model = Model(lambda text: ["siehe"] if text == "see" else ["??"])
    assert repaired(model, "see 東京 3", "??", kept=("東京",))[0].text == "siehe 東京 3"


def test_a_sentence_of_kept_words_alone_is_copied() -> None:
    model = Model(lambda text: ["??"])
    [best] = repaired(model, "Привет, мир?", "??", kept=("Привет, мир",))
    assert (best.text, best.complete) == ("Привет, мир?", True)


@pytest.mark.parametrize("text", ["?!", "***", "-- ", "🙂"])
def test_mere_punctuation_is_copied(text: str) -> None:
    model = Model(lambda text: ["other"])
    assert repaired(model, text, "-")[0].text == text.strip()
    assert not model.asked


def test_broken_characters_are_searched_again_and_never_given() -> None:
    assert repaired(Model(lambda text: ["ein Wort"]), "a word", "ein �ort")[0].text == "ein Wort"
    assert repaired(Model(lambda text: ["�� Wort"]), "a word", "ein � Wort")[0].text == "ein Wort"
    assert repaired(Model(lambda text: ["x"]), "a � word", "ein � Wort")[0].text == "ein � Wort"


def test_an_unknown_script_stays_in_a_whole_translation() -> None:
    assert "東京" in translator().translate("The cat sees 東京.").text


def test_a_time_after_noon_gets_its_hour_without_a_search() -> None:
    model = Model(lambda text: ["other"])
    assert repaired(model, "at 3 pm", "um 3 Uhr")[0].text == "um 15 Uhr"
    assert repaired(model, "at 3 pm", "um 3 Uhr nachmittags")[0].text == "um 3 Uhr nachmittags"
    assert not model.asked

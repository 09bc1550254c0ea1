"""Probabilities of words are those of the model, and what is chosen instead is where the translation goes on."""

import math
from pathlib import Path

import pytest
import torch

from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import DataError
from headwise.models.folder.load import convert, save_model
from tests.taught import NATIVE, SOURCES, TARGETS, taught

OPTIONS = TranslateOptions(beam=4)
STRANGE = "Ein Apfel eats 👍 the Haus."


@pytest.fixture(scope="module", params=["plain", "int8"])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A model in PyTorch, and an int8 folder, which the native engine runs where it can."""
    if request.param == "plain":
        return Translator(taught(shape=NATIVE), engine="plain")
    folder = tmp_path_factory.mktemp("words")
    save_model(folder / "float", taught(shape=NATIVE))
    convert(folder / "float", folder / "int8", "headwise", precision="int8")
    return Translator(folder / "int8")


@pytest.mark.parametrize("translation", [TARGETS[0], TARGETS[7], STRANGE])
def test_the_product_of_the_words_is_the_probability_of_the_translation(
    translator: Translator, translation: str
) -> None:
    words = translator.word_forecast(SOURCES[0], translation).words()
    assert [each.word for each in words] == translation.split()
    [steps] = translator.reference_log_probabilities([SOURCES[0]], [translation])
    expected = sum(steps[:-1])  # without <eos>, which belongs to no word
    tolerance = 1e-3 if translator.engine == "plain" else 0.05 * len(steps)  # int8 rounds
    assert math.log(math.prod(each.probability for each in words)) == pytest.approx(expected, abs=tolerance)
    assert all(0 < each.probability <= 1 for each in words)


def test_choices_are_in_the_order_of_their_probability_and_keep_the_words_before(translator: Translator) -> None:
    forecast = translator.word_forecast(SOURCES[0], TARGETS[0])
    for number, word in enumerate(TARGETS[0].split()):
        found = forecast.choices(number, 5, OPTIONS)
        assert found[0].word == word  # the model was taught it
        assert found[0].probability == pytest.approx(forecast.words()[number].probability, rel=1e-3)
        assert 1 <= len(found) <= 5
        assert len({each.word for each in found}) == len(found)
        probabilities = [each.probability for each in found]
        assert probabilities == sorted(probabilities, reverse=True)
        assert 0 < sum(probabilities) <= 1 + 1e-5
        for each in found:
            assert each.text.split()[: number + 1] == [*TARGETS[0].split()[:number], each.word]


def test_a_choice_goes_on_as_a_search_with_its_beginning_does(translator: Translator) -> None:
    for each in translator.word_forecast(SOURCES[0], TARGETS[0]).choices(2, 3, OPTIONS):
        prefix = " ".join(each.text.split()[:3])
        assert translator.translate(SOURCES[0], prefix=prefix, options=OPTIONS).text.startswith(prefix)
    best = translator.word_forecast(SOURCES[0], TARGETS[0]).choices(0, 1, OPTIONS)[0]
    assert best.text == translator.translate(SOURCES[0], options=OPTIONS).text


def test_a_word_that_is_not_there_is_an_error(translator: Translator) -> None:
    for number in (-1, len(TARGETS[0].split())):
        with pytest.raises(DataError, match="there is none with the number"):
            translator.word_forecast(SOURCES[0], TARGETS[0]).choices(number, 3, OPTIONS)


def test_a_text_that_cannot_be_taken_whole_is_an_error() -> None:
    model = Translator(taught(shape=NATIVE), engine="plain")
    with pytest.raises(DataError, match="too long"):
        model.word_forecast("cat " * 5_000, "Katze")


def test_int8_forecasts_need_no_pytorch(tmp_path: Path) -> None:
    """In a process of its own, which has not loaded it."""
    import subprocess
    import sys

    save_model(tmp_path / "float", taught(shape=NATIVE))
    convert(tmp_path / "float", tmp_path / "int8", "headwise", precision="int8")
    code = (
        "import sys\n"
        "from headwise.decode.translator import Translator\n"
        "from headwise.decode.translation import TranslateOptions\n"
        f"forecast = Translator({str(tmp_path / 'int8')!r}).word_forecast({SOURCES[0]!r}, {TARGETS[0]!r})\n"
        "print(len(forecast.words()), forecast.choices(1, 2, TranslateOptions())[0].word, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(len(TARGETS[0].split())), TARGETS[0].split()[1], "False"]


def test_the_vocabulary_is_a_distribution_after_every_token(translator: Translator) -> None:
    forecast = translator.word_forecast(SOURCES[0], TARGETS[0])
    table = torch.from_numpy(forecast._table(forecast.tokens))
    assert table.shape == (len(forecast.tokens) + 1, translator.tokenizer.size)
    assert torch.allclose(table.exp().sum(-1), torch.ones(len(table)), atol=1e-4)

"""One text or many, for every class that takes texts: a `str` gives one result, and what is not a text is named."""

from collections.abc import Callable
from typing import Any

import pytest

from headwise.decode.embedder import Embedder
from headwise.decode.filler import Filler
from headwise.decode.generator import Generator
from headwise.decode.labeller import Labeller
from headwise.decode.translator import Translator
from tests.kinds import classifier, encoder, remembering
from tests.taught import taught

TEXTS = ["A ___ dog", "The ___"]
USES: dict[str, Callable[[], Callable[[Any], Any]]] = {
    "translate": lambda: Translator(taught(), device="cpu").translate,
    "generate": lambda: Generator(remembering(), device="cpu").generate,
    "fill": lambda: Filler(encoder(), device="cpu").fill,
    "embed": lambda: Embedder(encoder(), device="cpu").embed,
    "classify": lambda: Labeller(classifier(), device="cpu").classify,
}

every_use = pytest.mark.parametrize("name", USES)


@every_use
def test_a_text_gives_one_result_and_an_iterable_one_per_text(name: str) -> None:
    use = USES[name]()
    many = use(text for text in TEXTS)
    assert len(many) == len(TEXTS)
    assert str(use(TEXTS[0])) == str(use(TEXTS[:1])[0])
    assert len(use([])) == 0


@every_use
@pytest.mark.parametrize("given", [None, 5, b"dog", ["dog", None], [5], [b"dog"]], ids=repr)
def test_what_is_no_text_is_named(name: str, given: object) -> None:
    with pytest.raises(TypeError, match=r"(texts|prompts)(\[\d\])? must be (a )?str.*, not (NoneType|int|bytes)"):
        USES[name]()(given)


def test_results_are_their_texts() -> None:
    for name in ("translate", "generate"):
        result = USES[name]()("A dog")
        assert f"{result}" == result.text

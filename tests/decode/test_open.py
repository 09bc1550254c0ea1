"""The right model for each use: the wrong one is told what it is for."""

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from headwise.decode.embedder import Embedder
from headwise.decode.filler import Filler
from headwise.decode.generator import Generator
from headwise.decode.labeller import Labeller
from headwise.decode.translator import Translator
from headwise.errors import CheckpointError, ConfigError, HeadwiseError
from headwise.models.folder.description import COMMANDS, LoadedModel
from headwise.train.run import JOBS
from tests.kinds import classifier, encoder, language_model, seer
from tests.taught import taught

MODELS: dict[str, Callable[[], LoadedModel]] = {
    "translation": lambda: taught(steps=0),
    "causal_lm": language_model,
    "masked_lm": encoder,
    "classify": classifier,
    "images": seer,
    "embed": lambda: encoder(head=False),
}
USES: dict[Any, set[str]] = {
    Translator: {"translation"},
    Generator: {"causal_lm"},
    Filler: {"masked_lm"},
    Labeller: {"classify", "images"},
    Embedder: {"translation", "causal_lm", "masked_lm", "classify", "embed"},
}
"""Each class and the kinds of models it takes."""


def test_there_is_a_command_for_every_kind() -> None:
    assert COMMANDS.keys() == MODELS.keys()
    assert JOBS.keys() <= MODELS.keys()


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("use", USES, ids=lambda use: use.__name__)
def test_a_model_of_another_kind_is_refused(use: Any, kind: str) -> None:
    loaded = MODELS[kind]()
    if kind in USES[use]:
        use(loaded, device="cpu")
        return
    with pytest.raises((ConfigError, CheckpointError)) as error:
        use(loaded, device="cpu")
    if use in (Translator, Generator) or (use is Filler and kind != "embed"):
        assert f"`{COMMANDS[kind]}`" in str(error.value)


@pytest.mark.parametrize(
    ("use", "kind"), [(use, kind) for use, kinds in USES.items() for kind in sorted(kinds) if kind != "images"]
)
def test_a_model_without_a_tokenizer_takes_no_text(use: Any, kind: str) -> None:
    loaded = MODELS[kind]()
    loaded = LoadedModel(loaded.model, replace(loaded.description, tokenizer=None))
    take: Callable[[], object] = partial(use, loaded, device="cpu")
    if use is Labeller:  # which may be for pictures
        take = partial(Labeller(loaded, device="cpu").classify, ["text"])
    with pytest.raises(CheckpointError, match="it has no tokenizer"):
        take()


@pytest.mark.parametrize(
    ("kind", "use"),
    [
        ("classify", lambda loaded: Labeller(loaded, device="cpu").classify("A dog")),
        ("masked_lm", lambda loaded: Embedder(loaded, device="cpu").embed("A dog")),
        ("masked_lm", lambda loaded: Filler(loaded, device="cpu").fill("A ___")),
    ],
    ids=["classify", "embed", "fill"],
)
def test_outputs_that_are_nan_are_an_error(kind: str, use: Callable[[LoadedModel], object]) -> None:
    loaded = MODELS[kind]()
    damaged: Any = copy.deepcopy(loaded.model)
    for parameter in damaged.parameters():
        parameter.data.fill_(math.nan)
    with pytest.raises(HeadwiseError, match="NaN or infinite: its weights are damaged"):
        use(replace(loaded, model=damaged))

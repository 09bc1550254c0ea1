"""A translator that can be looked into: its PyTorch model in float32 or int8, one module per layer."""

from __future__ import annotations

import copy
import dataclasses
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from torch import nn

from headwise.bundled.find import find_model, name_of
from headwise.decode.engines.plain import PLAIN
from headwise.decode.framing import DirectionFrame, Framer
from headwise.decode.search.options import SearchRequest
from headwise.decode.sentence_search import search_request
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.description import INT8, PRECISIONS, LoadedModel
from headwise.models.folder.load import read_float_model, read_model
from headwise.nn.int8 import Int8Linear, to_int8
from headwise.nn.stack import Stack
from headwise.text.tokenizer import Tokenizer


@dataclass(frozen=True, eq=False)
class InsideModel:
    """A translation model whose numbers can be looked at, and whose parts can be switched off in copies of it."""

    translator: Translator
    name: str
    precision: str

    @property
    def model(self) -> EncoderDecoder:
        return self.translator.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self.translator.tokenizer

    @cached_property
    def framer(self) -> Framer:
        """What turns texts into the model's input."""
        return Framer(self.tokenizer, self.translator.task, self.translator.config.position_limit)

    def source_ids(self, text: str, frame: DirectionFrame) -> list[int]:
        """The encoder's input for a text, which must fit into the model."""
        if not text.strip():
            raise DataError("the text is empty: there is nothing to look into")
        ids = self.framer.source_ids(text, frame)
        self.framer.check_length(ids)
        return ids

    def request(self, source: list[int], frame: DirectionFrame, beam: int, prefix: str = "") -> SearchRequest:
        """The search of one sentence as the translator does it, its translation beginning with `prefix`."""
        begins = [*frame.start, *(self.tokenizer.encode_target(prefix) if prefix else [])]
        options = TranslateOptions(beam=beam)
        return search_request([source], [begins], frame, options, self.tokenizer, self.translator.config.position_limit)


def open_inside(model: str | Path, precision: str = "", name: str = "") -> InsideModel:
    """Open a translation model by its path or its name.

    Its weights are those of the folder in float32: int8 ones are multiplied by their scales. With the precision `int8`
    they are quantised, as are the inputs of every product.
    """
    if precision not in ("", *PRECISIONS):
        raise ConfigError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    folder = find_model(model)
    if precision == INT8:
        description, weights = read_model(folder, int8=True)
        loaded = description.build(str(folder), weights)
        if description.precision != INT8:
            loaded = LoadedModel(to_int8(loaded.model), dataclasses.replace(description, precision=INT8))
    else:
        description, weights = read_float_model(folder)
        loaded = description.build(str(folder), weights)
    return inside(loaded, name or name_of(folder))


def inside(loaded: LoadedModel, name: str = "") -> InsideModel:
    """A loaded model that can be looked into."""
    if not isinstance(loaded.model, EncoderDecoder):
        raise ConfigError(f"{name or 'this model'}: not a model that translates")
    translator = Translator(loaded, device="cpu", engine=PLAIN)
    return InsideModel(translator, name, loaded.description.precision)


def copy_parts(model: EncoderDecoder) -> EncoderDecoder:
    """A copy of a model with the same weights, which are not copied, and a module of its own for every layer.

    What is changed in the modules of the copy does not change the model, nor do layers that share weights.
    """
    kept: dict[int, object] = {id(each): each for each in (*model.parameters(), *model.buffers())}
    kept |= {id(each.product): each.product for each in model.modules() if isinstance(each, Int8Linear)}
    copied = copy.deepcopy(model, dict(kept))
    for stack in (copied.encoder, copied.decoder):
        if isinstance(stack, Stack) and len(stack.layers) < stack.depth:
            apart = [copy.deepcopy(layer, dict(kept)) for layer in stack.in_order]
            stack.layers = nn.ModuleList(apart)
    return copied

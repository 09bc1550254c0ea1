"""Shared code of the translation benchmarks: a random model with a vocabulary, and its weights in other programs."""

import random
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch

from headwise.config import TextConfig
from headwise.decode.batching import padded
from headwise.decode.engines.table import make_engine
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.models.build import build
from headwise.models.export.ctranslate2 import added_to_source, write_translator
from headwise.models.export.sidecar import vocabularies
from headwise.models.folder.description import Description, LoadedModel, Task
from headwise.models.folder.load import load
from headwise.models.folder.weights import weights_of
from headwise.models.published.exchange import export_published
from headwise.models.published.formats.huggingface import write_folder
from headwise.presets import preset_config
from headwise.text.kinds import train_tokenizer

VOCABULARY = 32_000
Sources = Sequence[Sequence[int]]
Run = Callable[[Sources, int, int], int]
"""Sources (ids), the beam, the length of each translation -> the number of tokens generated."""


@cache
def random_translator(preset: str = "base") -> LoadedModel:
    """A random model over words, so that each id is a word: its translations are meaningless, but take as long."""
    torch.manual_seed(0)
    tokenizer = train_tokenizer(
        TextConfig(kind="words", vocabulary=VOCABULARY), [f"w{i}" for i in range(VOCABULARY)], []
    )
    config = preset_config(preset)
    model = build(config, tokenizer.size, tokenizer.pad).eval()
    return LoadedModel(model, Description(config, tokenizer, Task((("en", "de"),))))


def opened(folder: str, preset: str) -> LoadedModel:
    return load(folder) if folder else random_translator(preset)


def random_sources(loaded: LoadedModel, count: int, length: int) -> list[list[int]]:
    assert loaded.tokenizer is not None
    drawn = random.Random(0)
    size, eos = loaded.tokenizer.size, loaded.tokenizer.eos
    return [[drawn.randrange(10, size) for _ in range(length)] + [eos] for _ in range(count)]


def ours(loaded: LoadedModel, name: str, device: torch.device, *, exactly: bool = True) -> Run:
    """One of Headwise's engines. `exactly`: every translation has the requested length."""
    engine = make_engine(name, loaded, device)
    tokenizer = loaded.tokenizer
    assert tokenizer is not None
    start = tokenizer.decoder_start("")

    @torch.inference_mode()
    def run(sources: Sources, beam: int, length: int) -> int:
        options = SearchOptions(
            start, tokenizer.eos, beam, length_penalty=1.0, exact=False, forbidden=tuple(tokenizer.specials),
            min_length=length if exactly else 0,
        )  # fmt: skip
        found = engine.search(SearchRequest(sources, [length] * len(sources), options, [[]] * len(sources)))
        return sum(len(each[0].tokens) for each in found)

    return run


class CTranslate2:
    """The same weights in CTranslate2, on a CPU."""

    def __init__(self, loaded: LoadedModel, precision: str) -> None:
        import ctranslate2

        assert loaded.tokenizer is not None
        with tempfile.TemporaryDirectory() as folder:
            write_translator(loaded, Path(folder), precision)
            self._translator = ctranslate2.Translator(
                folder, compute_type=precision, intra_threads=torch.get_num_threads()
            )
        self._tokenizer = loaded.tokenizer
        self._pieces, targets = vocabularies(loaded.tokenizer, loaded.description.rows)
        self._ids = {piece: number for number, piece in enumerate(targets)}
        self._first, self._end = added_to_source(loaded)

    def __call__(self, sources: Sources, beam: int, length: int) -> int:
        found = self._search(sources, beam, min_decoding_length=length, max_decoding_length=length)
        return sum(map(len, found))

    def translate(self, texts: Sequence[str], beam: int, batch_tokens: int) -> list[list[int]]:
        """Texts to token ids; CTranslate2 sorts and batches them by itself."""
        before, after = self._tokenizer.source_frame("", "")
        sources = [[*before, *ids, *after] for ids in self._tokenizer.encode_batch(list(texts))]
        return self._search(sources, beam, max_batch_size=batch_tokens, batch_type="tokens", max_input_length=0)

    def _search(self, sources: Sources, beam: int, **how: Any) -> list[list[int]]:
        pieces = [[self._pieces[i] for i in ids[int(self._first) : len(ids) - int(self._end)]] for ids in sources]
        results = self._translator.translate_batch(pieces, beam_size=beam, **how)
        return [[self._ids[piece] for piece in result.hypotheses[0]] for result in results]


class Transformers:
    """`transformers`' Marian model with the same weights."""

    def __init__(self, loaded: LoadedModel, device: torch.device, dtype: torch.dtype, **how: Any) -> None:
        from transformers import MarianMTModel

        described = loaded.description
        weights = weights_of(loaded.model)
        published = export_published(loaded.config, weights, described.rows, described.specials, "marian", ())
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), *published)
            self._model: Any = MarianMTModel.from_pretrained(folder, dtype=dtype).to(device).eval()
        self._pad, self._device, self._how = loaded.model.pad, device, how
        assert loaded.tokenizer is not None
        self._no_text = {*loaded.tokenizer.specials, loaded.tokenizer.eos}

    def __call__(self, sources: Sources, beam: int, length: int) -> int:
        self._generate(sources, num_beams=beam, min_new_tokens=length, max_new_tokens=length)
        return length * len(sources)

    def translate(self, sources: Sources, beam: int, batch: int) -> list[list[int]]:
        """Translate sentences of similar lengths together, longest first; special tokens are removed."""
        order = sorted(range(len(sources)), key=lambda i: -len(sources[i]))
        found: list[list[int]] = [[] for _ in sources]
        for first in range(0, len(order), batch):
            rows = order[first : first + batch]
            longest = len(sources[rows[0]])
            made = self._generate([sources[i] for i in rows], num_beams=beam, max_new_tokens=2 * longest + 20)
            for i, ids in zip(rows, made.tolist(), strict=True):
                found[i] = [each for each in ids if each not in self._no_text]
        return found

    @torch.inference_mode()
    def _generate(self, sources: Sources, **how: Any) -> torch.Tensor:
        ids = padded(sources, self._pad, self._device)
        made: torch.Tensor = self._model.generate(
            input_ids=ids, attention_mask=(ids != self._pad).long(), do_sample=False, **how, **self._how
        )
        return made

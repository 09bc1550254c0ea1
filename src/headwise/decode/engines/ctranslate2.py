"""CTranslate2 as an engine: its own search over an export of the model, made when it is opened."""

import contextlib
import importlib.util
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from headwise.decode.batching import GPU_BATCH_TOKENS
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchRequest
from headwise.decode.search.sampling import SamplingOptions
from headwise.errors import ConfigError
from headwise.models.export.pieces import vocabularies
from headwise.models.folder.description import LoadedModel

PATIENCE = 2.0
"""How many times the beam must have ended before its search stops: with 1, it stops before better ones are found."""


@contextlib.contextmanager
def _too_long_in_words() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if "position encodings" in str(error):
            raise ConfigError(
                "too long for CTranslate2, which has a table of positions: shorten the text, or leave out --engine"
            ) from None
        raise


class CTranslate2Engine:
    """Greedy and beam search; no sampling, whose draws would not be ours."""

    def __init__(self, loaded: LoadedModel, device: torch.device, precision: str) -> None:
        self.name = "ctranslate2" if precision == "float32" else f"ctranslate2-{precision}"
        self.batch_tokens = GPU_BATCH_TOKENS if device.type == "cuda" else 0
        if importlib.util.find_spec("ctranslate2") is None:
            raise ConfigError("this engine needs the package ctranslate2: pip install 'headwise[export]'")
        if loaded.precision != "float32":
            raise ConfigError("CTranslate2 rounds weights by itself: give it the model that the int8 one was made of")
        if loaded.tokenizer is None:
            raise ConfigError("CTranslate2 needs a model with a tokenizer")
        import ctranslate2

        from headwise.models.export.ctranslate2 import added_to_source, decoder_start, write_translator

        with tempfile.TemporaryDirectory(prefix="headwise-") as folder:
            write_translator(loaded, Path(folder), precision)
            self._translator: Any = ctranslate2.Translator(
                folder,
                device=device.type,
                device_index=device.index or 0,
                compute_type=precision,
                intra_threads=torch.get_num_threads(),
            )
        self._sources, self._targets = vocabularies(loaded.tokenizer, loaded.description.rows)
        self._ids = {piece: number for number, piece in enumerate(self._targets)}
        self._adds = added_to_source(loaded)
        self._starts_by_itself = decoder_start(loaded, self._targets) is not None

    def search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        found = self._search(request)
        for i, (each, limit) in enumerate(zip(found, request.limits, strict=True)):
            if len(found) > 1 and any(len(one.tokens) > limit for one in each):
                # A batch has one limit, and what goes beyond one's own is another search's result: once more, alone.
                found[i] = self._search(request.select([i]))[0]
        return found

    def _search(self, request: SearchRequest) -> list[list[Hypothesis]]:
        sources, limits, options, prefixes = request
        first, end = self._adds
        start = [] if self._starts_by_itself else [self._targets[options.sos]]
        given = [[*start, *(self._targets[i] for i in prefix)] for prefix in prefixes]
        with _too_long_in_words():
            results = self._translator.translate_batch(
                [[self._sources[i] for i in ids[int(first) : len(ids) - int(end)]] for ids in sources],
                target_prefix=given if any(given) else None,
                beam_size=options.beam,
                num_hypotheses=options.nbest,
                length_penalty=options.length_penalty,
                patience=PATIENCE if options.beam > 1 else 1,
                no_repeat_ngram_size=options.no_repeat,
                min_decoding_length=options.min_length,
                max_decoding_length=max(limits) + len(start),
                max_input_length=0,
                return_scores=True,
            )
        return [
            [
                self._hypothesis(pieces[len(start) :], score, limit, options.length_penalty)
                for pieces, score in zip(result.hypotheses, result.scores, strict=True)
            ]
            for result, limit in zip(results, limits, strict=True)
        ]

    def _hypothesis(self, pieces: list[str], score: float, limit: int, alpha: float) -> Hypothesis:
        tokens = [self._ids[piece] for piece in pieces]
        finished = len(tokens) < limit
        return Hypothesis(
            tokens=tokens,
            score=score,
            log_probability=score * (len(tokens) + finished) ** alpha,
            token_log_probabilities=[],  # it tells no more than their sum
            finished=finished,
        )

    def draw(
        self, request: SearchRequest, sampling: SamplingOptions, generator: torch.Generator
    ) -> list[list[Hypothesis]]:
        raise ConfigError("the engine ctranslate2 does not draw at random: leave out --engine, or --sample")

"""What a worker does with PyTorch models: generate and embed texts, and look inside a translation."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from headwise.errors import ConfigError, DataError
from headwise.extras import require
from headwise.serve.workers.chat_prompt import chat_prompt
from headwise.serve.workers.model_pool import ModelPool, Opened
from headwise.serve.workers.running_text import RunningText

if TYPE_CHECKING:
    from headwise.serve.workers.inside_operations import InsideOperations

Json = dict[str, Any]
T = TypeVar("T")


class TextOperations:
    """The operations, with the models that are loaded for them. An answer `invalid` is the client's mistake."""

    def __init__(self, memory: float, device: str) -> None:
        require("torch", "generating or embedding text, or looking inside a model,")
        from headwise.decode.embedder import Embedder
        from headwise.decode.generator import Generator

        def pool(kind: Callable[..., T]) -> ModelPool[Opened[T]]:
            return ModelPool(lambda folder: Opened(kind(folder, device=device)), memory)

        self._generators = pool(Generator)
        self._embedders = pool(Embedder)
        self._memory = memory
        self._texts: dict[int, RunningText] = {}
        self._numbers = itertools.count()

    @property
    def bytes(self) -> int:
        """Bytes of the loaded models, as on disk."""
        return self._generators.bytes + self._embedders.bytes + self.inside.bytes

    @cached_property
    def inside(self) -> InsideOperations:
        """The operations that show the inside of models."""
        from headwise.serve.workers.inside_operations import InsideOperations

        return InsideOperations(self._memory)

    def _get(self, pool: ModelPool[Opened[T]], message: Json) -> T:
        if self.bytes > self._memory:  # each pool has its own bound: together they must not exceed it for long
            for each in (self._generators, self._embedders):
                if each is not pool:
                    each.close_idle(0.0)
            self.inside.close_idle(0.0)
        return pool.get(Path(message["folder"]), message["version"]).model

    def start_text(self, message: Json) -> Json:
        """Begin to generate a text; its number, for `next_text`."""
        from headwise.decode.generator import GenerateOptions
        from headwise.decode.search.options import SamplingOptions

        generator = self._get(self._generators, message)
        stops = list(message["stop"])
        try:
            if "messages" in message:
                made = chat_prompt(Path(message["folder"]), message["messages"])
                prompt, stops = made.text, [*stops, *made.stops]
            else:
                prompt = message["prompt"]
            sampling = SamplingOptions(**message["sampling"]) if message["sampling"] else None
            options = GenerateOptions(max_tokens=message["max_tokens"], sampling=sampling, seed=message["seed"])
            ids = generator.prompt_ids(prompt)
            if len(ids) >= (most := generator.served.config.position_limit):
                raise DataError(f"the prompt has {len(ids)} tokens, but this model has {most} positions")
        except (ConfigError, DataError) as error:
            return {"invalid": str(error)}
        number = next(self._numbers)
        self._texts[number] = RunningText(
            lambda watch: generator.generate(prompt, options=options, watch=watch),
            stops,
            lambda text: len(generator.tokenizer.encode(text)),
        )
        return {"number": number, "prompt_tokens": len(ids)}

    def next_text(self, message: Json) -> Json:
        """The text that was generated since the last call."""
        text, end = self._texts[message["number"]].next()
        if end is not None:
            del self._texts[message["number"]]
        return {"text": text, "end": asdict(end) if end else None}

    def stop_text(self, message: Json) -> bool:
        """Give a text up."""
        running = self._texts.pop(message["number"], None)
        if running is not None:
            running.stop()
        return running is not None

    def embed(self, message: Json) -> Json:
        """The vectors of texts, of length 1."""
        embedder = self._get(self._embedders, message)
        texts: list[str] = message["texts"]
        vectors = embedder.embed(texts).tolist()
        return {"vectors": vectors, "tokens": sum(len(embedder.tokenizer.encode(text)) for text in texts)}

"""What a worker can be asked to do: one function per operation, JSON in and JSON out."""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwise.decode.forecast.word_choices import WordForecast
from headwise.decode.glossary.glossary import Glossary
from headwise.decode.glossary.rendering import TermUse
from headwise.decode.translation import TranslateOptions, Translation
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError, HeadwiseError
from headwise.serve.workers.model_pool import ModelPool

if TYPE_CHECKING:
    from headwise.serve.workers.text_operations import TextOperations

Json = dict[str, Any]


class Operations:
    """The operations of one worker, with the models that it has loaded."""

    def __init__(self, memory: float, device: str) -> None:
        def open_translator(folder: Path) -> Translator:
            return Translator(folder, device=device, say=lambda text: None)

        self._translators = ModelPool(open_translator, memory)
        self._memory, self._device = memory, device
        self._table: dict[str, Callable[[Json], Any]] = {
            "translate": self.translate,
            "words": self.words,
            "describe": self.describe,
            "close_idle": self.close_idle,
            "start_text": lambda message: self._texts.start_text(message),
            "next_text": lambda message: self._texts.next_text(message),
            "stop_text": lambda message: self._texts.stop_text(message),
            "embed": lambda message: self._texts.embed(message),
            "inside": lambda message: self._texts.inside.run(message),
        }

    @cached_property
    def _texts(self) -> TextOperations:
        """The operations that need PyTorch: most workers never see one."""
        from headwise.serve.workers.text_operations import TextOperations

        return TextOperations(self._memory, self._device)

    def run(self, message: Json) -> Json:
        """The answer to a message; whatever goes wrong is part of it, so that the worker lives on."""
        try:
            return {"answer": self._table[message["do"]](message), "bytes": self._translators.bytes}
        except HeadwiseError as error:
            return {"refused": str(error)}
        except MemoryError:
            return {"failed": "out of memory"}
        except Exception as error:  # a bug must cost one batch, not the server; its message may quote a user's text
            return {"failed": f"{type(error).__name__}\n{''.join(traceback.format_tb(error.__traceback__))}"}

    def translate(self, message: Json) -> Json:
        """Translate sentences that have the same model, direction and options; `seconds` without loading the model."""
        translator = self._translators.get(Path(message["folder"]), message["version"])
        options, prefix = options_from_json(message["options"])
        texts: list[str] = message["texts"]
        languages = {"source": message["source"], "target": message["target"]}
        began = time.perf_counter()
        try:
            found = translator.translate(texts, **languages, prefix=prefix, options=options)
        except ConfigError as error:
            if not prefix:
                raise
            return {"found": [{"invalid": str(error)} for _ in texts], "seconds": time.perf_counter() - began}
        return {"found": [translation_to_json(each) for each in found], "seconds": time.perf_counter() - began}

    def words(self, message: Json) -> Json:
        """The probabilities of the words of given translations, or what else might stand in the place of one.

        A translation that cannot be taken whole has the answer `invalid`, which says why.
        """
        translator = self._translators.get(Path(message["folder"]), message["version"])
        languages = {"source": message["source"], "target": message["target"]}
        asked = json.loads(message["options"])
        began = time.perf_counter()
        found: list[Json] = []
        for text in message["texts"]:
            try:
                forecast = translator.word_forecast(text, asked["translation"], **languages)
                found.append(_words_answer(forecast, asked))
            except DataError as error:
                found.append({"invalid": str(error)})
        return {"found": found, "seconds": time.perf_counter() - began}

    def describe(self, message: Json) -> Json:
        """The directions of a model. Those of a published one are known only to its tokenizer."""
        task = self._translators.get(Path(message["folder"]), message["version"]).task
        return {"directions": list(task.directions), "sources": list(task.sources)}

    def close_idle(self, message: Json) -> int:
        """Close models that were not used for some seconds; how many are left."""
        self._translators.close_idle(message["seconds"])
        return len(self._translators)


def _words_answer(forecast: WordForecast, asked: Json) -> Json:
    if "word" not in asked:
        return {"words": [asdict(each) for each in forecast.words()]}
    chosen = forecast.choices(asked["word"], asked["choices"], TranslateOptions(beam=asked["beam"]))
    return {"choices": [asdict(each) for each in chosen]}


@lru_cache(16)  # the terms of a glossary are indexed once, not for every batch
def options_from_json(text: str) -> tuple[TranslateOptions, str]:
    """The search options in a message, and what each translation begins with."""
    given = json.loads(text)
    prefix: str = given.pop("prefix", "")
    if "glossary" in given:
        given["glossary"] = Glossary(given["glossary"])
    return TranslateOptions(**given), prefix


def translation_to_json(translation: Translation) -> Json:
    """A translation as a message, without what has its default value."""
    message: Json = {"text": translation.text, "score": translation.score, "tokens": translation.tokens}
    if translation.alignment:
        message["alignment"] = translation.alignment
    if translation.alternatives:
        message["alternatives"] = [translation_to_json(each) for each in translation.alternatives]
    if not translation.complete:
        message["complete"] = False
    if translation.missing_numbers:
        message["missing_numbers"] = translation.missing_numbers
    if translation.terms:
        message["terms"] = [asdict(each) for each in translation.terms]
    return message


def translation_from_json(message: Json) -> Translation:
    """The translation in a message."""
    return replace(
        Translation(**message),
        alignment=[(source, target) for source, target in message.get("alignment", ())],
        alternatives=[translation_from_json(each) for each in message.get("alternatives", ())],
        missing_numbers=tuple(message.get("missing_numbers", ())),
        terms=tuple(
            TermUse(each["source"], tuple(each["requested"]), each["status"]) for each in message.get("terms", ())
        ),
    )

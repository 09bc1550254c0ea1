"""The service: what every API is made of. It checks, detects, translates and corrects; it knows no HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

from headwise.decode.text_parts import TextPart
from headwise.decode.translation import Translation
from headwise.serve.catalogue import PIVOT, Catalogue, ModelStep, read_catalogue
from headwise.serve.clients import Client
from headwise.serve.counters import Counters
from headwise.serve.document_service import DocumentService
from headwise.serve.scheduling.long_texts import join_sentences, sentences_of
from headwise.serve.scheduling.scheduler import Scheduler
from headwise.serve.scheduling.sentence_unit import Lane
from headwise.serve.service_errors import InvalidRequestError, UnavailableError, UnsupportedLanguageError
from headwise.serve.settings import MEGABYTE, ServeSettings
from headwise.serve.state.character_quota import CharacterQuota
from headwise.serve.state.corrections import Corrections
from headwise.serve.state.glossary_store import GlossaryStore
from headwise.serve.text_models import TextModels
from headwise.serve.translate_request import AUTO, RequestOptions, TextTranslation, TranslatedSentence, WordsRequest
from headwise.serve.workers.operations import translation_from_json
from headwise.serve.workers.worker import Worker, WorkerOptions
from headwise.text.language.codes import short_code
from headwise.text.language.detect import Detection, detect, is_detectable

LOG = logging.getLogger("headwise.serve")

LOOK_EVERY = 2.0
"""Seconds between two looks at the models folder."""
LONG_TEXT = 20_000
"""Characters from which on texts are split into sentences in a thread: a book takes a second."""
THREADS = 2
"""Threads per worker, if the settings do not say."""


class Service:
    """The service behind all APIs. `running` starts the workers and ends them."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings
        self.counters = Counters()
        self.catalogue: Catalogue = read_catalogue(settings.models, pivots=settings.pivot)
        self.corrections = Corrections(settings.state_folder)
        self.glossaries = GlossaryStore(settings.state_folder)
        self.quota = CharacterQuota(settings.state_folder, settings.quota)
        self.texts = TextModels(self)
        """Language models and encoders."""
        self.documents = DocumentService(self)
        self.draining = False
        """Whether the server finishes what it has and takes nothing new."""
        self.scheduler: Scheduler
        self.workers: list[Worker] = []

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the workers within the block."""
        settings = self.settings
        self.scheduler = Scheduler(
            batch_time=settings.batch_time,
            queue=settings.queue,
            cache=settings.cache,
            timeout=settings.timeout,
            idle=settings.idle,
            counters=self.counters,
        )
        count, threads = worker_shape(settings)
        options = WorkerOptions(threads, settings.memory * MEGABYTE, settings.device)
        self.workers = [Worker(options) for _ in range(count)]
        tasks = [asyncio.create_task(each.run()) for each in self.workers]
        tasks += [asyncio.create_task(self.scheduler.serve(each)) for each in self.workers]
        tasks.append(asyncio.create_task(self._keep_house()))
        try:
            yield
        finally:
            for task in reversed(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self.texts.close()
            self.documents.close()
            for stored in (self.corrections, self.glossaries, self.quota):
                stored.close()

    @property
    def ready(self) -> bool:
        """Whether a request would be translated now: a worker is up, there is a model, and the server stays."""
        return not self.draining and bool(self.catalogue.directions) and any(each.ready for each in self.workers)

    @property
    def gauges(self) -> dict[str, float]:
        """What is measured now, for the metrics."""
        return {
            "ready": int(self.ready),
            "models": len(self.catalogue.models),
            "loaded_model_bytes": sum(each.bytes for each in self.workers),
            "workers_up": sum(each.ready for each in self.workers),
            "worker_restarts": sum(each.restarts for each in self.workers),
            "waiting_characters": self.scheduler.waiting,
        }

    # --- translation -----------------------------------------------------------------------------------

    async def translate(
        self,
        texts: Sequence[str],
        source: str,
        target: str,
        options: RequestOptions = RequestOptions(),  # noqa: B008  # a frozen value
        client: Client = Client("local"),  # noqa: B008
    ) -> list[TextTranslation]:
        """Translate texts, which may be HTML; the results are in their order.

        The source language may be `auto`. Cancelling this call cancels the work.
        """
        self.check_open()
        self._check_limits(texts, options)
        if self.settings.log_texts:
            LOG.debug("translate from %s to %s: %r", source, target, list(texts))
        known = options.model is None
        target_code = self.catalogue.code(target) if known else short_code(target)
        detections: list[Detection | None] = [None] * len(texts)
        if source.casefold() == AUTO:
            detections = [*await self.detect_source(texts, target_code)]
            sources = [each.language if each else "" for each in detections]
        else:
            sources = [self.catalogue.code(source) if known else source] * len(texts)
        done: dict[int, TextTranslation] = {}
        async with self.deadline():
            for language in dict.fromkeys(sources):
                numbers = [number for number, each in enumerate(sources) if each == language]
                given = [texts[number] for number in numbers]
                done |= zip(numbers, await self._translate(given, language, target, options, client), strict=True)
        return [replace(done[number], detected=detections[number]) for number in range(len(texts))]

    async def _translate(
        self, texts: list[str], source: str, target: str, options: RequestOptions, client: Client
    ) -> list[TextTranslation]:
        """Translate texts of one language; corrections are exact matches of whole texts."""
        steps = self.steps(source, target, options)
        codes = short_code(source), short_code(target)
        found: list[TextTranslation | None] = []
        for text in texts:
            corrected = self.corrections.find(*codes, text) if options.model is None else None
            found.append(None if corrected is None else TextTranslation(corrected, *codes, corrected=True))
        missing = [text for text, each in zip(texts, found, strict=True) if each is None]
        if options.format != "text":
            ranked = await self.documents.translate_html(missing, source, target, options, client)
            made = [TextTranslation(best, *codes, alternatives=tuple(others)) for best, *others in ranked]
        else:
            sentences = await self._through_models(missing, steps, options, client.id)
            made = [_text_translation(each, codes, options.sentences and len(steps) == 1) for each in sentences]
        rest = iter(made)
        pivot, models = PIVOT if len(steps) > 1 else "", tuple(step.model.name for step in steps)
        return [each or replace(next(rest), pivot=pivot, models=models) for each in found]

    def steps(self, source: str, target: str, options: RequestOptions) -> list[ModelStep]:
        """The models that translate a direction, one after the other."""
        pivots = self.settings.pivot if options.pivot is None else options.pivot
        return self.catalogue.steps(source, target, pivots=pivots, model=options.model)

    async def translate_plain(
        self, texts: Sequence[str], steps: Sequence[ModelStep], options: RequestOptions, client: str
    ) -> list[Translation]:
        """Translate plain texts, model after model, sentence by sentence through the scheduler."""
        return [_joined(each) for each in await self._through_models(texts, steps, options, client)]

    async def _through_models(
        self, texts: Sequence[str], steps: Sequence[ModelStep], options: RequestOptions, client: str
    ) -> list[list[TranslatedSentence]]:
        """The sentences of texts as the last model translates them; without any model, each text as it is."""
        if options.glossary and len(steps) > 1:
            raise InvalidRequestError("a glossary cannot be used where a text is translated through another language")
        found = [[TranslatedSentence(text, "", Translation(text, 0.0))] for text in texts]
        for step in steps:
            last = step is steps[-1]
            chosen = options if last else replace(options, alternatives=0, alignments=False, prefix="")
            given = [_joined(each).text for each in found]
            if sum(map(len, given)) > LONG_TEXT:
                parts = await asyncio.to_thread(lambda given=given: [sentences_of(text) for text in given])  # type: ignore[misc]
            else:
                parts = [sentences_of(text) for text in given]
            results = await self._translate_parts(parts, step, chosen, client)
            found = [
                [
                    TranslatedSentence(part.text, part.separator, each)
                    for part, each in zip(listed, translations, strict=True)
                ]
                for listed, translations in zip(parts, results, strict=True)
            ]
        return found

    async def _translate_parts(
        self, parts: Sequence[Sequence[TextPart]], step: ModelStep, options: RequestOptions, client: str
    ) -> list[list[Translation]]:
        """Translate the sentences of texts by one model. A prefix is for the first sentence of each text."""
        usual = self._lane(step, replace(options, prefix="").search(self.settings.beam))
        first = self._lane(step, options.search(self.settings.beam))
        openings = [listed[0].text for listed in parts if listed] if options.prefix else []
        others = [part.text for listed in parts for part in listed[1 if options.prefix else 0 :]]
        results = await asyncio.gather(
            self.scheduler.translate(first, openings, client), self.scheduler.translate(usual, others, client)
        )
        begun, rest = (iter([_checked(each) for each in listed]) for listed in results)
        return [
            [next(begun if options.prefix and not number else rest) for number in range(len(listed))]
            for listed in parts
        ]

    def _lane(self, step: ModelStep, options: str, operation: str = "translate") -> Lane:
        return Lane(str(step.model.folder), step.model.version, step.source, step.target, options, operation)

    async def words(self, request: WordsRequest, client: Client = Client("local")) -> dict[str, Any]:  # noqa: B008
        """The probabilities of the words of a translation, or what else might stand in the place of one."""
        self.check_open()
        self._check_limits([request.text, request.translation], RequestOptions())
        steps = self.steps(request.source, request.target, RequestOptions(model=request.model, pivot=False))
        if len(steps) != 1:
            raise InvalidRequestError("'source' and 'target' are the same language")
        lane = self._lane(steps[0], request.options(self.settings.beam), "words")
        async with self.deadline():
            [found] = await self.scheduler.translate(lane, [request.text], client.id)
        if "invalid" in found:
            raise InvalidRequestError(found["invalid"])
        return {**found, "model": steps[0].model.name}

    # --- languages -------------------------------------------------------------------------------------

    async def detect(self, text: str) -> list[tuple[str, float]]:
        """The most probable languages of a text among those that the server knows, best first, with probabilities."""
        self.check_open()
        self._check_limits([text], RequestOptions())
        [found] = await self._detected([text], list(self.catalogue.languages))
        return list(found.probabilities.items())

    async def detect_source(self, texts: Sequence[str], target: str) -> list[Detection]:
        """The language of each text among those that can be translated, or are the target; English if undetermined."""
        languages = [each for each in self.catalogue.sources if target in self.catalogue.languages[each].targets]
        found = await self._detected(texts, list(dict.fromkeys([*languages, target])))
        if not languages:
            raise UnsupportedLanguageError(f"{target} is not available as a target language")
        usual = PIVOT if PIVOT in languages else languages[0]
        return [
            replace(each, language=next(iter(each.probabilities), usual)) if not each.determined else each
            for each in found
        ]

    async def _detected(self, texts: Sequence[str], languages: list[str]) -> list[Detection]:
        known = [each for each in languages if is_detectable(each)]
        if not known:
            return [Detection("und", 0.0) for _ in texts]
        return await asyncio.to_thread(lambda: detect(texts, languages=known))

    def suggest(self, text: str, translation: str, source: str, target: str) -> None:
        """Store a correction: from now on it answers exactly this text."""
        self.check_open()
        self._check_limits([text, translation], RequestOptions())
        self.corrections.add(self.catalogue.code(source), self.catalogue.code(target), text, translation)

    # --- limits and upkeep -----------------------------------------------------------------------------

    def check_open(self) -> None:
        """Refuse new work while the server drains."""
        if self.draining:
            raise UnavailableError("the server is stopping", retry_after=5.0)

    def _check_limits(self, texts: Sequence[str], options: RequestOptions) -> None:
        settings = self.settings
        if len(texts) > settings.batch_limit:
            raise InvalidRequestError(
                f"Invalid request: request ({len(texts)}) exceeds batch limit ({settings.batch_limit})"
            )
        size = sum(map(len, texts))
        if size > settings.char_limit:
            raise InvalidRequestError(f"Invalid request: request ({size}) exceeds text limit ({settings.char_limit})")
        if not 0 <= options.alternatives <= settings.alternatives_limit:
            raise InvalidRequestError(
                f"Invalid request: alternatives must be between 0 and {settings.alternatives_limit}"
            )
        if options.beam is not None and not 1 <= options.beam <= settings.beam_limit:
            raise InvalidRequestError(f"Invalid request: beam must be between 1 and {settings.beam_limit}")

    @contextlib.asynccontextmanager
    async def deadline(self) -> AsyncIterator[None]:
        """Give up what takes longer than a request may."""
        try:
            async with asyncio.timeout(self.settings.timeout):
                yield
        except TimeoutError:
            self.counters.refused("timeout")
            seconds = f"{self.settings.timeout:g}"
            raise UnavailableError(f"the request took longer than {seconds} seconds", retry_after=60.0) from None

    async def _keep_house(self) -> None:
        """Look at the models folder, expired files and idle models from time to time."""
        while True:
            await asyncio.sleep(LOOK_EVERY)
            try:
                self.catalogue = await asyncio.to_thread(
                    read_catalogue, self.settings.models, pivots=self.settings.pivot, known=self.catalogue
                )
                self.documents.stored.remove_expired()
                await self.texts.close_idle()
            except Exception as error:  # a folder that cannot be read for a moment must not end the upkeep
                LOG.warning("the models folder cannot be read: %s", error)


def _joined(sentences: Sequence[TranslatedSentence]) -> Translation:
    parts = [TextPart(each.source, each.separator, []) for each in sentences]
    return join_sentences(parts, [each.translation for each in sentences])


def _text_translation(
    sentences: Sequence[TranslatedSentence], codes: tuple[str, str], keep_sentences: bool
) -> TextTranslation:
    joined = _joined(sentences)
    return TextTranslation(
        joined.text,
        *codes,
        alternatives=tuple(map(str, joined.alternatives)),
        details=joined,
        sentences=tuple(sentences) if keep_sentences else (),
    )


def _checked(message: dict[str, Any]) -> Translation:
    """The translation in a worker's answer; an error if the worker could not obey the request."""
    if "invalid" in message:
        raise InvalidRequestError(message["invalid"])
    return translation_from_json(message)


def worker_shape(settings: ServeSettings) -> tuple[int, int]:
    """The number of workers and the threads of each: what the settings say, or else what suits the cores.

    Two threads per worker: one alone has 1.3 times the throughput per core, but takes 1.7 times as long for a sentence.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = settings.workers or max(1, cores // THREADS)
    return workers, settings.threads or max(1, cores // workers)

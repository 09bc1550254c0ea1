"""Translation: the loss of a batch, validation, and the scores of the finished model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from headwise.config import Recipe
from headwise.data.batch.packed_pairs import PackedBatch, PackedPairStream
from headwise.data.batch.padded_pairs import PaddedBatch, PaddedPairStream, ordered_pairs
from headwise.data.batch.token_links import PairLinks
from headwise.data.noise.noisy_texts import TERMS, WORDS, Noisemaker
from headwise.data.noise.pair_noise import PairNoise
from headwise.data.prepare.parallel_text import PairPreparation, directions, tag_languages, tested_files
from headwise.data.prepare.result import Prepared, SourceFile, ValidSet
from headwise.data.prepare.workers import available
from headwise.data.read.corpus import corpus_languages, read_corpus
from headwise.decode.engines.table import AUTO
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import ConfigError, DataError
from headwise.evaluate import Scores, compare, evaluate
from headwise.models.encoder_decoder import EncoderDecoder
from headwise.models.folder.description import LoadedModel, Task
from headwise.models.folder.weights import parameter_count
from headwise.nn.kernels import usable_on
from headwise.text.term_marks import MARK
from headwise.text.tokenizer import Ids, Keys
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Say, Scored, note_few
from headwise.train.processes.group import local_processes
from headwise.train.report.card import translation_card
from headwise.train.run_folder import DATA_KEY, data_folder, read_data_key
from headwise.train.set_names import test_set_names, validation_set_names
from headwise.train.start import first_model, given_tokenizer, presets_of, starting_point
from headwise.train.step.learner import Objective, Validate
from headwise.train.step.loss import TokenLoss, divergence, prediction_loss
from headwise.train.tasks.continued_task import check_tags, continued_task, keep_shortlists, note_new_directions
from headwise.train.tasks.guided_alignment import Guidance, check_guidable, guidance, pair_links
from headwise.train.tasks.term_pairs import term_pairs
from headwise.train.tasks.word_pairs import word_pairs

PairBatch = PaddedBatch | PackedBatch

PACKED = "-packed"
"""Suffix of the data key with packed batches: a position in them is meaningless in padded ones."""


def check(recipe: Recipe, model: nn.Module) -> None:
    """Refuse a recipe that would otherwise fail late."""
    if not isinstance(model, EncoderDecoder):
        raise ConfigError(
            f"a model of the family {recipe.model.family} cannot translate: choose an encoder_decoder, such as the "
            f"presets {presets_of('encoder_decoder')}"
        )
    if recipe.model.position_limit < recipe.data.max_tokens + 2:
        raise ConfigError(
            "model.positions.max_positions must be at least data.max_tokens + 2, for <sos>, <eos> and a tag"
        )
    for corpus in recipe.data.test:  # found now, not after days of training
        if next(iter(read_corpus(corpus, recipe.data)), None) is None:
            raise DataError(f"the test set {(corpus.pairs or corpus.source)[0]} is empty")
    if recipe.train.select_by == "bleu" and not recipe.train.validate_bleu:
        raise ConfigError('train.select_by = "bleu" needs train.validate_bleu = true')
    if recipe.train.guided_alignment:
        check_guidable(model)


def open_job(recipe: Recipe, run: Path, device: torch.device, say: Say) -> "TranslationJob":
    start = starting_point(recipe, device)
    if start is not None:
        check_tags(directions(recipe.data), start, recipe.init)
    cache, tokenizer = data_folder(recipe, run), given_tokenizer(start, recipe)
    prepared = PairPreparation.of(recipe.data, recipe.text, cache, recipe.seed, say, tokenizer).prepare()
    task = task_of(recipe, prepared)
    if start is not None:
        note_new_directions(task, start.task, recipe.init, say)
        task = continued_task(task, start.task)
        keep_shortlists(recipe.init, run, prepared.tokenizer, prepared.train)
    guided = guidance(recipe, task.alignment_head if task.aligns_given else ())
    if guided is not None:
        task = replace(task, alignment_head=(guided.layer, guided.head), aligns_given=True)
    for name, valid in zip(
        validation_set_names([valid.direction for valid in prepared.valid]), prepared.valid, strict=True
    ):
        note_few(name, len(valid.sources), "sentences", say)
    loaded = first_model(start, recipe, prepared.tokenizer, task, device)
    packed = packs(recipe, run, loaded.model, device)
    if packed and not usable_on(device):
        # With train.packed = "auto" batches are packed only if the run was started on a GPU.
        started = "this run was started with packed batches, as on a GPU, and continues with them"
        what = started if recipe.train.packed == "auto" else 'train.packed is "always"'
        say(f"note: {what}: that is slow here, because their kernel cannot run (it needs a GPU and Triton)")
    return TranslationJob(
        recipe,
        prepared,
        loaded,
        batch_stream(
            recipe,
            prepared,
            packed,
            pair_noise(recipe, prepared, device, say),
            pair_links(prepared, device, say) if guided else None,
        ),
        teacher_forcing(recipe.train.label_smoothing, recipe.train.agreement, guided),
        validator(
            loaded,
            prepared.valid,
            recipe.train.batch_tokens,
            recipe.train.validate_pairs,
            recipe.train.validate_bleu,
        )
        if prepared.valid
        else None,
    )


@dataclass(frozen=True)
class TranslationJob:
    recipe: Recipe
    prepared: Prepared
    loaded: LoadedModel
    stream: PaddedPairStream | PackedPairStream
    objective: Objective
    validate: Validate | None
    unit: str = "tokens"

    @property
    def files(self) -> list[SourceFile]:
        return self.prepared.files

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("loss", "bleu") if self.recipe.train.validate_bleu else ("loss",)

    @property
    def data_key(self) -> str:
        return self.prepared.folder.name + (PACKED if isinstance(self.stream, PackedPairStream) else "")

    def describe(self) -> str:
        pairs = sum(len(train.corpus) for train in self.prepared.train)
        parameters = parameter_count(self.loaded.model) / 1e6
        packed = ", packed" if isinstance(self.stream, PackedPairStream) else ""
        size = self.prepared.tokenizer.size
        return f"{parameters:.1f} million parameters, {size:,} tokens, {pairs:,} training pairs{packed}"

    def finish(self, say: Say) -> dict[str, Scores]:
        with torch.compiler.set_stance("force_eager"):
            return test(self.recipe, self.prepared, self.loaded, say)

    def card(self, progress: RunState, scores: Mapping[str, Scored], source: str) -> str:
        tests = tested_files(self.recipe.data, self.prepared.folder.parent, lambda text: None)
        prepared = replace(self.prepared, files=[*self.prepared.files, *tests])
        return translation_card(self.recipe, prepared, self.loaded, progress, scores, source)


def task_of(recipe: Recipe, prepared: Prepared) -> Task:
    lengths = np.concatenate([train.corpus.source.lengths for train in prepared.train])
    return Task(
        directions=tuple(directions(recipe.data)),
        tags=bool(tag_languages(recipe.data, recipe.text)),
        usual_tokens=int(np.quantile(lengths, 0.98)),
        max_tokens=int(lengths.max()),
        terms=TERMS in recipe.data.noise.shares,
    )


def packs(recipe: Recipe, run: Path, model: nn.Module, device: torch.device) -> bool:
    """Whether batches are packed: as when the run was started, else as in the recipe, else if their kernel can run."""
    wanted = recipe.train.packed
    assert isinstance(model, EncoderDecoder)
    possible = model.can_be_packed
    if wanted == "always" and not possible:
        raise ConfigError(
            "this model's attention cannot be packed (an LSTM, relative positions, or a window): leave train.packed out"
        )
    if (run / DATA_KEY).exists():
        before = read_data_key(run)[0].endswith(PACKED)
        if wanted != "auto" and before != (wanted == "always"):
            raise ConfigError(
                f"{run} was started with{'' if before else 'out'} packed batches: leave train.packed as it was, or "
                "choose another --out"
            )
        return before
    return wanted == "always" or (wanted == "auto" and possible and device.type == "cuda" and usable_on(device))


def pair_noise(recipe: Recipe, prepared: Prepared, device: torch.device, say: Say) -> PairNoise | None:
    """The noise of the recipe; None if it has none. A GPU is not to wait for it: then child processes make it."""
    shares, corpora = recipe.data.noise.shares, prepared.train
    if not shares:
        return None
    words = word_pairs(prepared.folder, prepared.tokenizer, corpora, say) if WORDS in shares else {}
    directions = tuple((each.source_language, each.target_language) for each in corpora)
    if TERMS in shares and prepared.tokenizer.unk in prepared.tokenizer.encode(MARK):
        raise ConfigError(f"data.noise.terms: the tokenizer of this model does not know {MARK}: leave it at 0")
    terms = term_pairs(prepared.folder, prepared.tokenizer, corpora, say) if TERMS in shares else {}
    maker = Noisemaker(prepared.tokenizer, directions, recipe.data.max_tokens, words, terms)
    workers = available() // local_processes() if device.type == "cuda" else 0
    return PairNoise(maker, shares, [each.corpus for each in corpora], recipe.seed, workers)


def batch_stream(
    recipe: Recipe,
    prepared: Prepared,
    packed: bool = False,
    noise: PairNoise | None = None,
    links: PairLinks | None = None,
) -> PaddedPairStream | PackedPairStream:
    text, tokenizer = recipe.text, prepared.tokenizer

    def sampler(ids: Ids, lengths: Ids, keys: Keys) -> tuple[Ids, Ids]:
        return tokenizer.sample_batch(ids, lengths, text.sampling, text.candidates, keys)

    settings = (prepared.train, tokenizer, recipe.train.batch_tokens, recipe.seed, sampler if text.sampling else None)
    if packed:
        return PackedPairStream(*settings, noise=noise, links=links, position_limit=recipe.model.position_limit)
    return PaddedPairStream(*settings, noise=noise, links=links)


def teacher_forcing(
    smoothing: float, agreement: float = 0.0, guided: Guidance | None = None
) -> Callable[[nn.Module, PairBatch], TokenLoss]:
    """The objective: all target tokens in one pass under the causal mask, each predicted from the reference tokens
    before it. With `agreement`, two passes that differ in their dropout (see config.py)."""

    def one_pass(model: EncoderDecoder, batch: PairBatch) -> tuple[Predictions, TokenLoss]:
        found = predictions(model, batch, guided)
        total = prediction_loss(found.states, model.output_projection, found.wanted, smoothing, ignore=found.ignore)
        if guided is not None and found.guided is not None:
            total = total._replace(loss=total.loss + guided.loss(found.guided))
        return found, total

    def objective(model: nn.Module, batch: PairBatch) -> TokenLoss:
        assert isinstance(model, EncoderDecoder)
        found, once = one_pass(model, batch)
        if not agreement:
            return once
        others, twice = one_pass(model, batch)
        real = None if found.ignore is None else found.wanted != found.ignore
        apart = divergence(found.states, others.states, model.output_projection, real)
        # As in the R-Drop paper, but halved: there the losses of both passes are summed.
        loss = (once.loss + twice.loss + agreement / 2 * apart) / 2
        return TokenLoss(loss, (once.nll + twice.nll) / 2)

    return objective


class Predictions(NamedTuple):
    """The output of a pass over a batch."""

    states: Tensor
    """[N, D]: hidden states."""
    wanted: Tensor
    """[N]: the tokens to be predicted from them."""
    ignore: int | None
    """The id of padding among these, if there is any."""
    guided: Tensor | None
    """[B, T]: the log-weights that a guided head gives to its links."""


def predictions(model: EncoderDecoder, batch: PairBatch, guided: Guidance | None = None) -> Predictions:
    guide = None if guided is None else guided.guide(batch)
    if isinstance(batch, PackedBatch):
        encoded = model.encode(batch.source, layout=batch.source_layout)
        decoded = model.decode(batch.shown, encoded, layout=batch.target_layout, guide=guide)
        return Predictions(decoded.hidden.squeeze(0), batch.wanted, model.pad, decoded.guided)
    shown, wanted = batch.target[:, :-1], batch.target[:, 1:]
    decoded = model.decode(shown, model.encode(batch.source), guide=guide)
    real = wanted != model.pad
    return Predictions(decoded.hidden[real], wanted[real], None, decoded.guided)


def validator(
    loaded: LoadedModel, sets: Sequence[ValidSet], batch_tokens: int, pairs: int, bleu: bool
) -> Callable[[nn.Module], dict[str, float]]:
    """Metrics over the first `pairs` pairs (0: all) of each validation set: loss per token, and BLEU of greedy search.

    With several directions the figures are means over them, beside those of each direction.
    """
    device = next(loaded.model.parameters()).device
    tokenizer = loaded.tokenizer
    assert tokenizer is not None
    objective = teacher_forcing(0.0)

    def loss_of(model: nn.Module, valid: ValidSet) -> float:
        nll, tokens = 0.0, 0
        languages = valid.target_language, valid.source_language
        for batch in ordered_pairs(valid.corpus, tokenizer, batch_tokens, languages[0], pairs, languages[1]):
            nll += objective(model, batch.to(device)).nll.item()
            tokens += batch.count
        return nll / max(tokens, 1)

    def bleu_of(translator: Translator, valid: ValidSet) -> float:
        sources, targets = valid.sources[: pairs or None], valid.targets[: pairs or None]
        source, target = valid.source_language, valid.target_language
        results = translator.translate(sources, source=source, target=target, beam=1, repair=False)
        return compare([result.text for result in results], targets).bleu

    def validate(model: nn.Module) -> dict[str, float]:
        with torch.compiler.set_stance("force_eager"):  # it would compile for each of many shapes
            metrics = {"loss": [loss_of(model, valid) for valid in sets]}
            if bleu:
                # The GPU engine would have to copy the changing weights, and use memory that training needs.
                engine = "plain" if device.type == "cuda" else AUTO
                translator = Translator(loaded, device=str(device), engine=engine)
                metrics["bleu"] = [bleu_of(translator, valid) for valid in sets]
        means = {name: sum(values) / len(values) for name, values in metrics.items()}
        if len(sets) > 1:
            for i, valid in enumerate(sets):
                direction = "-".join(valid.direction)
                means |= {f"{name} {direction}": values[i] for name, values in metrics.items()}
        return means

    return validate


def test(recipe: Recipe, prepared: Prepared, loaded: LoadedModel, say: Say) -> dict[str, Scores]:
    """Scores of beam search on the recipe's test sets, or else on the validation sets."""
    sets: list[tuple[str, list[str], list[str], tuple[str, str]]] = []
    for name, corpus in zip(test_set_names(recipe.data), recipe.data.test, strict=True):
        pairs = list(read_corpus(corpus, recipe.data))
        sources, targets = [pair.source for pair in pairs], [pair.target for pair in pairs]
        sets.append((name, sources, targets, corpus_languages(corpus, recipe.data)))
    if not sets:
        names = validation_set_names([valid.direction for valid in prepared.valid])
        limit = recipe.train.validate_pairs or None
        for name, valid in zip(names, prepared.valid, strict=True):
            sets.append((name, valid.sources[:limit], valid.targets[:limit], valid.direction))
    translator = Translator(loaded, device=recipe.train.device)
    scores = {}
    for name, sources, targets, (source, target) in sets:
        say(f"translating {name}: {len(sources):,} sentences, beam 4")
        options = TranslateOptions(beam=4)
        scores[name], _ = evaluate(translator, sources, targets, source, target, options=options)
        say(f"{name}:\n{scores[name]}")
        if recipe.data.test:  # for a validation set, the note came at the start
            note_few(name, len(sources), "sentences", say)
    return scores

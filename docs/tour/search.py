"""Greedy and beam search, step by step."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from headwise.decode.engines.plain import DecoderState, DecoderStepper
from headwise.decode.scoring import log_probabilities
from headwise.decode.search.beam import beam_search, greedy
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchOptions
from headwise.decode.translation import TranslateOptions
from headwise.models.encoder_decoder import EncoderDecoder
from tour.one_pass import REFERENCE, SENTENCE, Pass
from tour.text import number, share, table


def greedy_hypothesis(p: Pass) -> Hypothesis:
    stepper = DecoderStepper(p.model)
    return greedy(stepper, stepper.start(torch.tensor([p.source])), _limit(p), _options(p, 1))[0][0]


def greedy_steps(p: Pass) -> str:
    found = greedy_hypothesis(p)
    tokenizer = p.translator.tokenizer
    ids = [*found.tokens, *([tokenizer.eos] if found.finished else [])]
    [chosen] = log_probabilities(p.model, [p.source], [found.tokens], tokenizer.sos, tokenizer.eos)
    rows, total = [], 0.0
    for step, (piece, log_p) in enumerate(zip(p.pieces(ids), chosen[: len(ids)], strict=True), 1):
        total += log_p
        rows.append([str(step), piece, share(math.exp(log_p)), number(total)])
    shown = table(["step", "writes", "its probability", "log-probability so far"], rows)
    return f'{shown}\n\nGreedy search writes: **"{tokenizer.decode(found.tokens)}"**'


class Watched(NamedTuple):
    """A decoder's state, and what its rows have written."""

    inner: DecoderState
    written: list[list[int]]
    totals: list[float]
    log_probabilities: Tensor | None = None


class WatchingStepper:
    """A search knows no model, only a `Stepper`: so this one can stand between them and write down what it sees."""

    def __init__(self, model: EncoderDecoder) -> None:
        self.stepper = DecoderStepper(model)
        self.steps: list[Watched] = []
        """The live hypotheses before each step."""

    def start(self, source: Tensor) -> Watched:
        return Watched(self.stepper.start(source), [[]], [0.0])

    def step(self, tokens: Tensor, state: Watched) -> tuple[Tensor, Watched]:
        written, totals = state.written, state.totals
        if state.log_probabilities is not None:  # else the token is <sos>
            chosen = state.log_probabilities.gather(1, tokens[:, None])[:, 0].tolist()
            totals = [total + more for total, more in zip(totals, chosen, strict=True)]
            written = [[*row, token] for row, token in zip(written, tokens.tolist(), strict=True)]
        log_probabilities, inner = self.stepper.step(tokens, state.inner)
        self.steps.append(Watched(inner, written, totals))
        return log_probabilities, Watched(inner, written, totals, log_probabilities)

    def select(self, state: Watched, rows: Tensor) -> Watched:
        assert state.log_probabilities is not None
        index = rows.tolist()
        written, totals = [state.written[row] for row in index], [state.totals[row] for row in index]
        return Watched(self.stepper.select(state.inner, rows), written, totals, state.log_probabilities[rows])


def beam_steps(p: Pass) -> str:
    stepper, tokenizer = WatchingStepper(p.model), p.translator.tokenizer
    width = TranslateOptions().beam
    found = beam_search(stepper, stepper.start(torch.tensor([p.source])), _limit(p), _options(p, width))[0]
    best = p.translator.translate(SENTENCE)
    assert abs(best.score - found[0].score) < 1e-4, "the tour's search is not the translator's"

    rows = []
    for length in range(1, len(found[0].tokens) + 2):
        ended = [each for each in found if each.finished and len(each.tokens) + 1 == length]
        aside = "<br>".join(f"{' '.join(p.pieces(each.tokens))} {number(each.log_probability)}" for each in ended)
        live = [("the search is over", "")]
        if length < len(stepper.steps):
            step = stepper.steps[length]
            live = [
                (" ".join(p.pieces(ids)), number(total)) for ids, total in zip(step.written, step.totals, strict=True)
            ]
        rows += [[str(length), *live[0], aside], *(["", *each, ""] for each in live[1:])]
    steps = table(["tokens", "lives on", "log-probability", "put aside with `<eos>`, and its log-probability"], rows)

    one = greedy_hypothesis(p)
    reference = p.translator.reference_log_probabilities([SENTENCE], [REFERENCE])[0]
    alpha = TranslateOptions().length_penalty

    def length_of(hypothesis: Hypothesis) -> str:
        return str(len(hypothesis.tokens) + hypothesis.finished)

    candidates = [(f"beam {width}, {rank}", each) for rank, each in enumerate(found, 1)]
    compared = [
        [name, tokenizer.decode(each.tokens), number(each.log_probability), length_of(each), number(each.score, 3)]
        for name, each in [*candidates, ("greedy", one)]
    ]
    length = len(reference)
    score = number(sum(reference) / length**alpha, 3)
    compared.append(["the reference, scored", REFERENCE, number(sum(reference)), str(length), score])
    header = ["found by", "translation", "log-probability", "length", f"score, $\\alpha = {alpha:g}$"]
    return (
        f"The beam of {width}, step by step, until its best translation is complete:\n\n{steps}\n\nThe search took "
        f"{len(stepper.steps)} steps in all to be sure of the {width} best. The result, beside greedy search and "
        f"the reference:\n\n{table(header, compared)}"
    )


def _options(p: Pass, width: int) -> SearchOptions:
    """As the Translator sets them."""
    tokenizer, alpha = p.translator.tokenizer, TranslateOptions().length_penalty
    return SearchOptions(tokenizer.sos, tokenizer.eos, width, width, alpha, forbidden=tokenizer.specials)


def _limit(p: Pass) -> Tensor:
    options = TranslateOptions()
    return torch.tensor([int(len(p.source) * options.max_ratio + options.max_extra)])

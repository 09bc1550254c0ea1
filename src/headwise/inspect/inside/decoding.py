"""The decoding tree: what a beam search considered at each step, what it kept, and what it dropped.

The search is the one that translates (`headwise.decode.search`). It knows no model, only a `Stepper`: so one can stand
between them and write down what it sees.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from headwise.decode.alignment import alignment_layer
from headwise.decode.search.constraints import Constraint, SearchStep, constrain, constraints
from headwise.decode.search.options import SearchRequest
from headwise.inspect.inside.as_json import number, numbers
from headwise.inspect.inside.free_search import WholeState, WholeTargetStepper, search_one
from headwise.inspect.inside.one_translation import Question, changed_model, listed_tokens
from headwise.inspect.inside.open_inside import InsideModel
from headwise.inspect.inside.roles import predicting_head
from headwise.models.encoder_decoder import EncoderDecoder

Json = dict[str, Any]


@dataclass
class TreeNode:
    """A token that a search considered, after the tokens of its parents."""

    id: int
    parent: int | None
    token: int
    step: int
    log_probability: float
    total: float
    """The log-probability of all tokens up to this one."""
    score: float
    rank: int
    kept: bool
    finished: bool
    attention: Tensor | None = None

    def as_dict(self, piece: str) -> Json:
        return {
            "id": self.id,
            "parent": self.parent,
            "piece": piece,
            "token": self.token,
            "step": self.step,
            "log_probability": number(self.log_probability),
            "score": number(self.score),
            "kept": self.kept,
            "finished": self.finished,
            "rank": self.rank,
        }


class WatchedState(NamedTuple):
    """The state of a model, the nodes of the tree that its rows have come to, and what came of the last step."""

    inner: WholeState
    nodes: list[int | None]
    """None is the root."""
    children: Sequence[dict[int, int]] = ()
    """For each row, the nodes of the tokens that were considered after it."""


@dataclass
class DecodingTree:
    """All nodes of a search, in the order in which they were considered."""

    nodes: list[TreeNode] = field(default_factory=list)
    steps: list[list[int]] = field(default_factory=list)
    """The nodes that each step considered, best first."""

    def path(self, tokens: list[int]) -> list[int]:
        """The nodes of a sequence of tokens."""
        found: list[int] = []
        for token in tokens:
            parent = found[-1] if found else None
            found.append(next(n.id for n in self.nodes if n.parent == parent and n.token == token))
        return found


class WatchingStepper:
    """A model as a search sees it, which writes the tree of the search of one sentence."""

    def __init__(self, model: EncoderDecoder, request: SearchRequest, head: tuple[int, ...] = ()) -> None:
        self.stepper = WholeTargetStepper(model, capture=True)
        self.options, self.head = request.options, head
        self.tree = DecodingTree()
        self._rules: list[Constraint] = constraints(request.options, request.prefixes, torch.device("cpu"))

    def start(self, source: Tensor) -> WatchedState:
        """The state before the first token of the only source, [1, S]."""
        return WatchedState(self.stepper.start(source), [None])

    def step(self, tokens: Tensor, state: WatchedState) -> tuple[Tensor, WatchedState]:
        """Log-probabilities of the next tokens; those that the search will consider become nodes."""
        nodes = state.nodes
        if state.children:  # else the token is the start token
            nodes = [children.get(token) for children, token in zip(state.children, tokens.tolist(), strict=True)]
        log_probabilities, inner = self.stepper.step(tokens, state.inner)
        history = inner.tokens[:, 1:]
        rows = torch.zeros(len(tokens), dtype=torch.long)
        scores = constrain(self._rules, SearchStep(log_probabilities, history, rows))
        children = self._grow(nodes, scores, self._looks(inner))
        return log_probabilities, WatchedState(inner, nodes, children)

    def select(self, state: WatchedState, rows: Tensor) -> WatchedState:
        """The state of these rows, in this order."""
        index = rows.tolist()
        children = [state.children[row] for row in index]
        return WatchedState(self.stepper.select(state.inner, rows), [state.nodes[row] for row in index], children)

    def _grow(self, nodes: list[int | None], scores: Tensor, looks: Tensor | None) -> list[dict[int, int]]:
        """Add the likeliest twice `beam` continuations of all rows, which is how many the search ranks."""
        beam = self.options.beam
        totals = [0.0 if node is None else self.tree.nodes[node].total for node in nodes]
        sums = torch.tensor(totals)[:, None] + scores  # [R, V]
        best = sums.flatten().topk(min(2 * beam, sums.numel()))
        children: list[dict[int, int]] = [{} for _ in nodes]
        lives = 0
        listed = []
        for rank, (place, total) in enumerate(zip(best.indices.tolist(), best.values.tolist(), strict=True)):
            row, token = divmod(place, scores.size(1))
            if total == -math.inf:
                break
            ends = token in self.options.ends
            kept = rank < beam if ends else lives < beam
            lives += not ends
            step = len(self.tree.steps)
            node = TreeNode(
                id=len(self.tree.nodes),
                parent=nodes[row],
                token=token,
                step=step,
                log_probability=float(scores[row, token]),
                total=total,
                score=self.options.score(total, step + 1),
                rank=rank,
                kept=kept,
                finished=ends and kept,
                attention=looks[row] if looks is not None and kept else None,
            )
            self.tree.nodes.append(node)
            children[row][token] = node.id
            listed.append(node.id)
        self.tree.steps.append(listed)
        return children

    def _looks(self, state: WholeState) -> Tensor | None:
        """What the rows look at in the source at this step: the aligning head, or the mean of a layer, [R, S]."""
        if not state.looks:
            return None
        if self.head:
            return state.looks[self.head[0]][:, self.head[1]]
        return state.looks[alignment_layer(len(state.looks))].mean(1)


@torch.inference_mode()
def decode_json(inside: InsideModel, question: Question) -> Json:
    """A beam search as a tree, and greedy search as a path, with the model's translation by each."""
    frame = inside.framer.frame(question.source, question.target)
    source = inside.source_ids(question.text, frame)
    model = changed_model(inside, question, frame)
    tokenizer = inside.tokenizer

    def searched(beam: int) -> tuple[DecodingTree, list[int], Json]:
        request = inside.request(source, frame, beam, question.prefix)
        stepper = WatchingStepper(model, request, predicting_head(inside.translator.task))
        best = search_one(stepper, request)
        path = stepper.tree.path([*best.tokens, *([tokenizer.eos] if best.finished else [])])
        return stepper.tree, path, {"translation": tokenizer.decode(best.tokens), "score": number(best.score)}

    def listed(nodes: list[TreeNode]) -> list[Json]:
        pieces = tokenizer.pieces([node.token for node in nodes])
        return [node.as_dict(piece) for node, piece in zip(nodes, pieces, strict=True)]

    tree, best, result = searched(question.beam)
    single, path, greedy = searched(1)
    return {
        "beam": question.beam,
        "text": question.text,
        "source": frame.direction[0],
        "target": frame.direction[1],
        "source_tokens": listed_tokens(inside, source),
        "nodes": listed(tree.nodes),
        "steps": [{"step": step, "candidates": nodes} for step, nodes in enumerate(tree.steps)],
        "best": best,
        **result,
        "attention": {str(node.id): numbers(node.attention) for node in tree.nodes if node.attention is not None},
        "greedy": {"nodes": listed([single.nodes[node] for node in path]), **greedy},
        "changed_by": question.switches.as_dict(),
    }

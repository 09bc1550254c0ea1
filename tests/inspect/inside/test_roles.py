"""Heads whose behaviour is known get the role that names it."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from headwise.inspect.inside.recording import CROSS, DECODER, ENCODER
from headwise.inspect.inside.roles import Sentence, head_roles, measure, opening, predicting_head
from headwise.inspect.inside.switches import Head
from headwise.inspect.inside.translation_trace import roles_json, trace_json
from headwise.models.folder.description import Task
from tests.inspect.inside.models import taught_inside, translated

PIECES = ["▁The", "▁cat", "▁sees", "▁it", ".", "<eos>"]
SENTENCE = Sentence(
    PIECES, ["<sos>", *PIECES[:-1]], [0, 1, 2, 3, 3, -1], [0, 1, 2, 3, 3, -1], [(3, 0), (2, 1), (1, 2), (0, 3)]
)
SIZE = len(PIECES)
LAST = torch.zeros(SIZE, SIZE).index_fill_(1, torch.tensor([SIZE - 1]), 1.0)


def diagonal(offset: int) -> Tensor:
    """All attention to the token so far away; to itself where there is none."""
    weights = torch.zeros(SIZE, SIZE)
    for row in range(SIZE):
        weights[row, min(max(row + offset, 0), SIZE - 1)] = 1
    return weights


def aligned() -> Tensor:
    weights = LAST.clone()
    for row, word in enumerate(SENTENCE.target_words):
        source = {target: source for source, target in SENTENCE.alignment}.get(word)
        if source is not None:
            weights[row] = torch.tensor([float(each == source) for each in SENTENCE.source_words])
            weights[row] /= weights[row].sum()
    return weights


EQUAL = torch.full((SIZE, SIZE), 1 / SIZE)
KNOWN = [
    (ENCODER, diagonal(-1), "previous"),
    (ENCODER, diagonal(1), "next"),
    (ENCODER, diagonal(0), "same"),
    (ENCODER, diagonal(-SIZE), "first"),
    (ENCODER, LAST, "punctuation"),
    (ENCODER, EQUAL, "broad"),
    (DECODER, diagonal(-1), "previous"),
    (DECODER, EQUAL.tril() / EQUAL.tril().sum(-1, keepdim=True), "broad"),
    (CROSS, aligned(), "aligns"),
    (CROSS, LAST, "punctuation"),
    (CROSS, EQUAL, "broad"),
]


@pytest.mark.parametrize(("kind", "weights", "role"), KNOWN, ids=lambda value: value if isinstance(value, str) else "")
def test_a_role_is_found_by_what_the_head_looks_at(kind: str, weights: Tensor, role: str) -> None:
    [found] = head_roles([measure({kind: [weights[None]]}, SENTENCE)])
    assert (found.place, found.role) == (Head(kind, 0, 0), role)
    assert found.strength == pytest.approx(1, abs=1e-5)


def test_a_head_that_looks_at_a_mark_at_the_start_looks_at_the_first_token() -> None:
    marked = SENTENCE._replace(source_pieces=["<2de>", *PIECES[1:]])
    [found] = head_roles([measure({ENCODER: [diagonal(-SIZE)[None]]}, marked)])
    assert (found.role, found.strength) == ("first", pytest.approx(1, abs=1e-5))


def test_a_view_opens_on_the_head_that_aligns_best() -> None:
    half = (aligned() + EQUAL) / 2
    roles = head_roles([measure({ENCODER: [diagonal(-1)[None]], CROSS: [torch.stack([half, aligned()])]}, SENTENCE)])
    assert opening(roles) == Head(CROSS, 0, 1)
    assert opening(roles, (0, 0)) == Head(CROSS, 0, 0)  # the one that was trained to
    assert opening(head_roles([measure({ENCODER: [torch.stack([EQUAL, diagonal(1)])]}, SENTENCE)])) == Head(
        ENCODER, 0, 1
    )


def test_a_head_that_aligns_the_given_token_is_not_opened_on() -> None:
    trained = Task(alignment_head=(0, 1))
    assert predicting_head(trained) == ()
    assert predicting_head(replace(trained, aligns_given=False)) == (0, 1)


def test_roles_over_several_sentences_are_their_mean() -> None:
    one, other = translated(), translated(number=4)
    both = roles_json([one, other])
    assert both["sentences"] == 2
    assert roles_json([one])["roles"] == trace_json(one)["roles"]
    model = taught_inside().model
    assert len(both["roles"]) == 4 * (model.encoder.depth + 2 * model.decoder.depth)


def test_a_single_token_has_roles_too() -> None:
    tiny = Sentence(["<eos>"], ["<sos>"], [-1], [-1], [])
    weights = torch.ones(1, 1, 1)
    found = head_roles([measure({ENCODER: [weights], DECODER: [weights], CROSS: [weights]}, tiny)])
    assert [each.role for each in found] == ["punctuation", "other", "punctuation"]

"""Guided attention: the log-weights of one head at its links are those of the explicit attention."""

import pytest
import torch
import torch.nn.functional as F

from headwise.nn import packing
from headwise.nn.attention import Guide, MultiHeadAttention, guided_log_weights
from headwise.nn.lora import LoraLinear
from headwise.nn.masks import padding_mask
from headwise.nn.packing import packed_guided_log_weights

LENGTHS = [(5, 7), (1, 3), (9, 1), (4, 4), (12, 20), (3, 2)]
"""Target and source lengths of each sentence."""


def attention(**changes: int) -> MultiHeadAttention:
    torch.manual_seed(0)
    return MultiHeadAttention(16, 4, memory_width=24, dropout=0.5, **changes).double()


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Queries, memory, mask and links of padded sentences."""
    generator = torch.Generator().manual_seed(1)
    T, S = (max(each) for each in zip(*LENGTHS, strict=True))
    x, memory = (torch.randn(len(LENGTHS), n, d, generator=generator).double() for n, d in ((T, 16), (S, 24)))
    tokens, links = torch.zeros(len(LENGTHS), S, dtype=torch.long), torch.full((len(LENGTHS), T), -1)
    for row, (target, source) in enumerate(LENGTHS):
        tokens[row, :source] = 5
        links[row, :target] = torch.randint(-1, source, (target,), generator=generator)
    mask = padding_mask(tokens, 0)
    assert mask is not None
    return x, memory, mask, links


@pytest.mark.parametrize("lora", [False, True], ids=["plain", "lora"])
@pytest.mark.parametrize("groups", [4, 2])
def test_they_are_those_of_the_explicit_path(groups: int, lora: bool) -> None:
    part = attention(key_value_heads=groups)
    if lora:
        part.query = LoraLinear(part.query, 2, 4.0, 0.0)
        torch.nn.init.normal_(part.query.lora_up)
    x, memory, mask, links = batch()
    for head in range(4):
        found = guided_log_weights(part, x, memory, mask, Guide(0, head, links))
        weights = part(x, part.keys_values(memory), mask=mask, capture=True).weights[:, head]
        wanted = weights.gather(-1, links.clamp(min=0)[..., None])[..., 0].log()
        torch.testing.assert_close(found, wanted.where(links >= 0, 0.0).float(), check_dtype=False)
        assert (found < 0).sum() == (links >= 0).sum() - (links[2] == 0).sum()  # the log of a single weight is 0


@pytest.mark.parametrize("block", [4, 8, 128])
def test_packed_sentences_have_those_of_padded_ones(monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """With rows after the last sentence, and slots without one; gradients too."""
    monkeypatch.setattr(packing, "GUIDED_BLOCK", block)
    part = attention()
    x, memory, mask, links = batch()
    guide = Guide(0, 3, links)
    x.requires_grad_()
    memory.requires_grad_()
    padded = guided_log_weights(part, x, memory, mask, guide)
    wanted = torch.cat([row[:target] for row, (target, _) in zip(padded, LENGTHS, strict=True)])
    slopes = torch.autograd.grad(wanted.sum(), (x, memory))

    rows = [
        torch.cat([row[: pair[side]] for row, pair in zip(each, LENGTHS, strict=True)])
        for side, each in enumerate((x, memory))
    ]
    packed = [F.pad(each, (0, 0, 0, more))[None] for each, more in zip(rows, (3, 5), strict=True)]
    starts = [
        torch.tensor(
            [0, *torch.tensor([pair[side] for pair in LENGTHS]).cumsum(0).tolist()] + [len(rows[side])] * 2
        ).int()
        for side in (0, 1)
    ]
    flat = torch.cat([row[:target] for row, (target, _) in zip(links, LENGTHS, strict=True)])
    own = Guide(0, 3, F.pad(flat, (0, 3), value=-1)[None])
    found = packed_guided_log_weights(part, *packed, *starts, 20, own)
    assert found.shape == (1, packed[0].size(1))
    assert (found[0, len(wanted) :] == 0).all()
    torch.testing.assert_close(found[0, : len(wanted)], wanted)
    for one, other in zip(torch.autograd.grad(found.sum(), (x, memory)), slopes, strict=True):
        torch.testing.assert_close(one, other)


def test_what_a_window_does_not_hold_is_not_linked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Targets of one token with sources of 20: a window has room for the first ones only, and those are exact."""
    monkeypatch.setattr(packing, "GUIDED_BLOCK", 8)
    part, count = attention(), 8
    x, memory = torch.randn(1, count, 16).double(), torch.randn(1, count * 20, 24).double()
    starts = torch.arange(count + 1).int(), torch.arange(count + 1).int() * 20
    found = packed_guided_log_weights(part, x, memory, *starts, 20, Guide(0, 0, torch.full((1, count), 7)))[0]
    alone = guided_log_weights(
        part, x[0, :, None], memory[0].view(count, 20, 24), None, Guide(0, 0, torch.full((count, 1), 7))
    )[:, 0]
    held = 2 * (8 + 20) // 20
    torch.testing.assert_close(found[:held], alone[:held])
    assert (found[held:] == 0).all()

"""LSTM stacks behind the interface of the others: their state is passed, padding changes nothing."""

import pytest
import torch
from torch import Tensor

from headwise.nn.attention import MultiHeadAttention
from headwise.nn.cache import LayerCache
from headwise.nn.context import Context
from headwise.nn.masks import padding_mask
from headwise.nn.recurrent import RecurrentStack
from tests.shapes import max_difference, random_model, sentences, small

WIDTH, TIGHT = 12, 1e-5


def reader() -> RecurrentStack:
    return RecurrentStack(WIDTH, 2, backwards=True).eval()


def writer(attends: bool = True) -> RecurrentStack:
    attention = MultiHeadAttention(WIDTH, 1) if attends else None
    return RecurrentStack(WIDTH, 2, cross_attention=attention).eval()


def memory_of(lengths: list[int]) -> tuple[Tensor, Tensor]:
    tokens = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    for row, length in enumerate(lengths):
        tokens[row, :length] = 7
    return torch.randn(*tokens.shape, WIDTH), padding_mask(tokens, 0)


@pytest.mark.parametrize("attends", [True, False])
@pytest.mark.parametrize("chunk", [1, 3])
def test_steps_with_a_state_equal_the_parallel_pass(attends: bool, chunk: int) -> None:
    stack, x = writer(attends), torch.randn(3, 7, WIDTH)
    memory, mask = memory_of([5, 2, 4])
    context = Context(memory=memory, memory_mask=mask) if attends else Context()
    parallel = stack(x, context).hidden
    cache: tuple[LayerCache, ...] = ()
    steps = []
    for start in range(0, 7, chunk):
        output = stack(x[:, start : start + chunk], context, cache)
        cache = output.cache
        steps.append(output.hidden)
    assert max_difference(torch.cat(steps, 1), parallel) < TIGHT


def test_rows_of_a_state_can_be_reordered_repeated_and_dropped() -> None:
    stack, x = writer(), torch.randn(3, 4, WIDTH)
    memory, mask = memory_of([5, 2, 4])
    cache = stack(x, Context(memory=memory, memory_mask=mask)).cache
    rows, following = torch.tensor([2, 0, 0]), torch.randn(3, 1, WIDTH)
    chosen = tuple(layer.select(rows) for layer in cache)
    found = stack(following, Context(memory_mask=mask[rows]), chosen).hidden
    whole = torch.cat((x[rows], following), 1)
    expected = stack(whole, Context(memory=memory[rows], memory_mask=mask[rows])).hidden[:, -1:]
    assert max_difference(found, expected) < TIGHT


def test_padding_at_the_end_changes_nothing() -> None:
    stack, lengths = reader(), [6, 2, 4]
    x, mask = memory_of(lengths)
    together = stack(x, Context(mask=mask)).hidden
    assert together.shape == x.shape
    for row, length in enumerate(lengths):
        alone = stack(x[row : row + 1, :length], Context()).hidden[0]
        assert max_difference(together[row, :length], alone) < TIGHT


def test_what_is_padded_in_the_memory_is_not_attended_to() -> None:
    stack, x = writer(), torch.randn(2, 3, WIDTH)
    memory, mask = memory_of([5, 2])
    changed = memory.clone()
    changed[1, 2:] += 3
    context = Context(memory=memory, memory_mask=mask, capture=True)
    output = stack(x, context)
    other = stack(x, context._replace(memory=changed))
    assert max_difference(output.hidden, other.hidden) < TIGHT
    (weights,) = output.cross_weights
    assert (weights[1, ..., 2:] == 0).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones_like(weights[..., 0]))


def test_a_reader_sees_both_ways_and_a_writer_only_back() -> None:
    x = torch.randn(1, 5, WIDTH)
    changed = x.clone()
    changed[0, 2] += 1
    for stack, sees_ahead in ((reader(), True), (writer(attends=False), False)):
        moved = (stack(x, Context()).hidden - stack(changed, Context()).hidden).abs().amax(-1)[0]
        assert (moved[:2] > TIGHT).all() == sees_ahead
        assert (moved[2:] > TIGHT).all()


def test_wrong_use() -> None:
    with pytest.raises(ValueError, match="even width, not 7"):
        RecurrentStack(7, 1, backwards=True)
    with pytest.raises(ValueError, match="needs a memory"):
        writer()(torch.randn(1, 2, WIDTH), Context())


def test_a_whole_translator_of_them_decodes_as_in_training() -> None:
    """Cached, and in a batch with padding: what one pass over each sentence alone gives."""
    model = random_model(small(stack="lstm", positions__kind="none", attention__heads=1))
    source, target = sentences(3, 6, shortest=2), sentences(3, 5)
    encoded, cache, steps = model.encode(source), (), []
    for t in range(5):
        output = model.decode(target[:, t : t + 1], encoded, cache)
        cache = output.cache
        steps.append(model.output_projection(output.hidden))
    together = torch.cat(steps, 1)
    for row in range(3):
        length = int((source[row] != model.pad).sum())
        alone = model(source[row : row + 1, :length], target[row : row + 1])[0]
        assert max_difference(together[row], alone) < TIGHT

"""The kernels of a search's step against the obvious way; without a GPU they run in Triton's interpreter."""

import pytest
import torch

from headwise.nn.kernels import cached_attention
from headwise.nn.kernels.cached_attention import Heads, attend_memory, attend_past
from tests.kernels import DEVICE, needs_kernels

SHAPES = {"plain": Heads(4, 4, 16, 0.25), "grouped": Heads(4, 2, 16, 0.3), "odd": Heads(3, 3, 10, 0.5)}

pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array")  # of Triton's interpreter


def oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cached_attention, "usable", lambda tensor: False)


@needs_kernels
@pytest.mark.parametrize("heads", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("length", [5, 70])
def test_the_past(heads: Heads, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 6
    qkv = torch.randn(rows, (heads.heads + 2 * heads.key_heads) * heads.width, device=DEVICE)
    keys, values = (torch.randn(rows, length, heads.key_heads, heads.width, device=DEVICE) for _ in range(2))
    stems = torch.randint(rows, (rows, length), dtype=torch.int32, device=DEVICE)
    places = torch.tensor([0, length - 1, length // 2, 1, 3, 4], device=DEVICE)
    stems[torch.arange(rows), places] = torch.arange(rows, dtype=torch.int32, device=DEVICE)
    # What a row reads of another must not be what that one writes in this step.
    own = torch.arange(rows, device=DEVICE)[:, None]
    written = places[stems.long()] == torch.arange(length, device=DEVICE)
    stems = torch.where(written, own, stems).int()
    caches = keys.clone(), values.clone()
    found = attend_past(qkv, keys, values, stems, places, heads)
    oracle(monkeypatch)
    wanted = attend_past(qkv, *caches, stems, places, heads)
    assert torch.allclose(found, wanted, atol=1e-5)
    assert torch.equal(keys, caches[0])
    assert torch.equal(values, caches[1])


@needs_kernels
def test_a_past_that_is_the_rows_own(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = SHAPES["plain"]
    qkv, keys, values = (torch.randn(shape, device=DEVICE) for shape in ((3, 192), (3, 40, 4, 16), (3, 40, 4, 16)))
    places = torch.tensor([17], device=DEVICE).expand(3)  # a view, all of one number
    stems = torch.arange(3, dtype=torch.int32, device=DEVICE)[:, None].repeat(1, 40)
    found = attend_past(qkv, keys, values, None, places, heads)
    assert torch.equal(found, attend_past(qkv, keys, values, stems, places, heads))
    oracle(monkeypatch)
    assert torch.allclose(found, attend_past(qkv, keys, values, None, places, heads), atol=1e-5)


@needs_kernels
@pytest.mark.parametrize("heads", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("width", [1, 3])
def test_the_memory(heads: Heads, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    query = torch.randn(4 * width, heads.heads * heads.width, device=DEVICE)
    keys, values = torch.randn(4, 40, 2, heads.key_heads, heads.width, device=DEVICE).unbind(2)  # views
    lengths = torch.tensor([1, 40, 33, 7], dtype=torch.int32, device=DEVICE)
    found = attend_memory(query, keys, values, lengths, heads)
    oracle(monkeypatch)
    assert torch.allclose(found, attend_memory(query, keys, values, lengths, heads), atol=1e-5)


def test_rows_of_a_beam_read_what_their_stems_wrote() -> None:
    """Three steps of two rows that change places, against attention over what each has seen."""
    heads, length = Heads(2, 2, 4, 0.5), 3
    keys, values = (torch.zeros(2, length, 2, 4) for _ in range(2))
    made = [torch.randn(2, 6 * 4) for _ in range(length)]
    pasts: list[list[int]] = [[], []]  # of each row, the rows that wrote its positions
    for step, (qkv, parents) in enumerate(zip(made, ([0, 1], [1, 0], [1, 1]), strict=True)):
        pasts = [[*pasts[parent]] for parent in parents] if step else pasts
        pasts = [[*past, row] for row, past in enumerate(pasts)]
        stems = torch.tensor([[*past, *[0] * (length - len(past))] for past in pasts], dtype=torch.int32)
        out = attend_past(qkv, keys, values, stems, torch.full((2,), step), heads)
    for row, past in enumerate(pasts):
        seen = torch.stack([made[place][writer].view(6, 4) for place, writer in enumerate(past)])
        query, key, value = made[-1][row].view(6, 4)[:2], seen[:, 2:4], seen[:, 4:]
        weights = (torch.einsum("hk,lhk->hl", query, key) * 0.5).softmax(-1)
        assert torch.allclose(out[row], torch.einsum("hl,lhk->hk", weights, value).flatten(), atol=1e-6)

"""The GPU kernels against their oracles: on a GPU as they are, elsewhere in Triton's interpreter."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy
import pytest
import torch
from torch import Tensor

from headwise.nn import kernels
from headwise.nn.kernels.linear_relu import linear_relu
from headwise.nn.kernels.residual_norm import residual_norm, residual_norm_reference
from headwise.nn.kernels.short_attention import (
    packed_attention,
    packed_attention_reference,
    packed_cross_attention,
    packed_self_attention,
)
from headwise.train.step import loss as loss_module
from headwise.train.step.loss import TokenLoss, plain_cross_entropy, projected_cross_entropy

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
HALF = torch.bfloat16 if ON_GPU else torch.float16  # the interpreter multiplies no matrices of bfloat16
OLD_NUMPY = tuple(map(int, numpy.__version__.split(".")[:2])) < (2, 4)
"""The interpreter of Triton 3.6 takes arrays of one element for numbers, which later ones are not."""

pytestmark = pytest.mark.filterwarnings("ignore:Conversion of an array with ndim:DeprecationWarning")

needs_kernels = pytest.mark.skipif(
    not (kernels.INSTALLED and (ON_GPU or kernels.INTERPRETED)),
    reason="without a GPU these run in Triton's interpreter, if it is there: see test_in_the_interpreter",
)


@pytest.mark.slow
@pytest.mark.skipif(ON_GPU or kernels.INTERPRETED, reason="the kernels are tested in this process")
@pytest.mark.skipif(not OLD_NUMPY, reason="Triton's interpreter needs NumPy below 2.4")
@pytest.mark.skipif(not kernels.INSTALLED, reason="Triton is not installed")
def test_in_the_interpreter() -> None:
    """In a process of its own: whether kernels are interpreted is decided once, when Triton is imported."""
    names = ("kernels", "cached_attention", "likeliest", "row_product")
    files = [str(Path(__file__).with_name(f"test_{name}.py")) for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files]
    done = subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def starts(lengths: Sequence[int]) -> Tensor:
    return torch.tensor([0, *lengths], device=DEVICE).cumsum(0).to(torch.int32)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, device=DEVICE).to(dtype).requires_grad_()


def assert_same(ours: Tensor, oracle: Tensor, inputs: Sequence[Tensor], precise: bool = True) -> None:
    """Outputs, and gradients for a random one from above."""
    forward, backward = (1e-5, 1e-4) if precise else (0.03, 0.05)
    assert (ours - oracle).abs().max() <= forward * (1 + oracle.abs().max())
    above = torch.randn_like(oracle)
    gradients = torch.autograd.grad(ours, inputs, above.to(ours.dtype))
    for found, expected in zip(gradients, torch.autograd.grad(oracle, inputs, above), strict=True):
        assert found.dtype == inputs[0].dtype
        assert (found - expected).abs().max() <= backward * (1 + expected.abs().max())


LENGTHS = {
    "one": [1],
    "around 16": [15, 16, 17],
    "around 32": [31, 32, 33],
    "around 64": [63, 64, 65],
    "around 128": [127, 128, 129, 130],
    "long": [300, 7],
    "empty ones between and behind": [0, 20, 0, 0, 40, 3, 0, 0],
    "nothing": [0, 0],
}


@needs_kernels
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("lengths", LENGTHS.values(), ids=LENGTHS)
def test_self_attention_is_the_reference(lengths: list[int], causal: bool) -> None:
    """From one joint projection, with rows behind the last sentence."""
    rows = sum(lengths) + 37
    qkv, where = random(rows, 3, 2, 32), starts(lengths)
    ours = packed_self_attention(qkv, where, causal=causal)
    assert not ours[sum(lengths) :].any()
    gradient = torch.autograd.grad(ours.sum(), qkv, retain_graph=True)[0]
    assert not gradient[sum(lengths) :].any()
    assert_same(ours, packed_attention_reference(*qkv.unbind(1), where, where, causal=causal), [qkv])


SIDES = {
    "short": ([5, 30, 1, 16], [30, 5, 16, 1]),
    "of two tiles": ([5, 40, 33], [50, 5, 64]),
    "of all tiles": ([3, 40, 70, 140, 9], [127, 128, 5, 20, 200]),
    "one side empty": ([0, 9, 20], [9, 0, 40]),
    "one side empty and long": ([0, 150], [150, 0]),
}


@needs_kernels
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize(("queries", "keys"), SIDES.values(), ids=SIDES)
def test_both_sides_may_differ_in_length(queries: list[int], keys: list[int], causal: bool) -> None:
    q, k, v = random(sum(queries) + 3, 2, 32), random(sum(keys) + 50, 2, 32), random(sum(keys) + 50, 2, 32)
    where = starts(queries), starts(keys)
    ours = packed_attention(q, k, v, *where, causal=causal, scale=0.3)
    assert_same(ours, packed_attention_reference(q, k, v, *where, causal=causal, scale=0.3), [q, k, v])


@needs_kernels
@pytest.mark.parametrize("width", [8, 24, 32, 64, 128])
def test_head_widths(width: int) -> None:
    queries, keys = starts([17, 40, 66, 130]), starts([20, 10, 64, 131])
    q, kv = random(260, 3, width), random(230, 2, 3, width)
    ours = packed_cross_attention(q, kv, queries, keys)
    assert_same(ours, packed_attention_reference(q, *kv.unbind(1), queries, keys, causal=False), [q, kv])


@needs_kernels
@pytest.mark.parametrize("longest", [20, 32, 33, 64, 100, 128, 129])
def test_what_is_known_of_the_longest_changes_nothing(longest: int) -> None:
    where = starts([longest, 1, 20])
    qkv = random(longest + 21, 3, 2, 32)
    ours = packed_self_attention(qkv, where, causal=True, longest=longest)
    assert_same(ours, packed_attention_reference(*qkv.unbind(1), where, where, causal=True), [qkv])


@needs_kernels
@pytest.mark.parametrize("width", [32, 64, 128])
def test_half_precision(width: int) -> None:
    """Numbers of two bytes have larger tiles than float32."""
    queries, keys = starts([17, 40, 66, 128, 150]), starts([20, 10, 128, 131, 33])
    q, k, v = (random(rows, 2, width, dtype=HALF) for rows in (410, 330, 330))
    for causal in (False, True):
        ours = packed_attention(q, k, v, queries, keys, causal=causal)
        oracle = packed_attention_reference(q.float(), k.float(), v.float(), queries, keys, causal=causal)
        assert ours.dtype == HALF
        assert_same(ours, oracle, [q, k, v], precise=False)


@needs_kernels
def test_strides_of_every_kind() -> None:
    """Slices of a wider projection, heads before rows, and a gradient that is one number everywhere."""
    where = starts([9, 33])
    base = random(2, 42, 100)
    q = base[:, :, :32].transpose(0, 1)
    k, v = base[:, :, 32:64].transpose(0, 1), base[:, :, 68:100].transpose(0, 1)
    functions = (packed_attention, packed_attention_reference)
    ours, oracle = (function(q, k, v, where, where, causal=True) for function in functions)
    found, expected = (torch.autograd.grad(out.sum(), base, retain_graph=True)[0] for out in (ours, oracle))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert_same(ours, oracle, [base])


def dropped(lengths: list[int], seed: int, p: float) -> tuple[Tensor, Tensor]:
    """Which weights survived, read off an attention to an identity: [N, 2, longest], and where there are any."""
    where, longest = starts(lengths), 256
    rows = sum(lengths)
    q = torch.zeros(rows, 2, longest, device=DEVICE)
    v = torch.zeros_like(q)
    real = torch.zeros_like(q, dtype=torch.bool)
    for first, length in zip(where.tolist(), lengths, strict=False):
        v[first : first + length] = torch.eye(length, longest, device=DEVICE)[:, None]
        real[first : first + length, :, :length] = True
    given = torch.tensor([seed], device=DEVICE)
    out = packed_attention(q, q, v, where, where, causal=False, dropout=p, seed=given)
    return out > 0, real


@needs_kernels
def test_dropout_drops_its_share_and_each_seed_differently() -> None:
    lengths = [30, 60, 150]
    kept, real = dropped(lengths, seed=1, p=0.3)
    assert abs(kept[real].float().mean().item() - 0.7) < 0.01
    assert not kept[~real].any()
    again, other = dropped(lengths, seed=1, p=0.3)[0], dropped(lengths, seed=2, p=0.3)[0]
    assert torch.equal(kept, again)
    # Independent of another seed, of the other head, of the next query, of the next key: 0.7 * 0.7 + 0.3 * 0.3 agree.
    pairs = [
        (kept[real], other[real]),
        (kept[:, 0][real[:, 0]], kept[:, 1][real[:, 1]]),
        (kept[90:239, :, :150], kept[91:240, :, :150]),
        (kept[90:, :, :149], kept[90:, :, 1:150]),
    ]
    for one, two in pairs:
        assert abs((one == two).float().mean().item() - 0.58) < 0.02


@needs_kernels
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("lengths", [[20, 32], [50, 3], [150]], ids=["one tile", "two tiles", "long"])
def test_the_backward_pass_drops_what_the_forward_pass_dropped(lengths: list[int], causal: bool) -> None:
    p, where = 0.4, starts(lengths)
    kept, _ = dropped(lengths, seed=5, p=p)
    q, k, v = (random(sum(lengths), 2, 32) for _ in range(3))
    seed = torch.tensor([5], device=DEVICE)
    ours = packed_attention(q, k, v, where, where, causal=causal, dropout=p, seed=seed)
    parts = []
    for first, length in zip(where.tolist(), lengths, strict=False):
        part = slice(first, first + length)
        scores = torch.einsum("nhk,mhk->hnm", q[part], k[part]) / 32**0.5
        if causal:
            ahead = torch.ones(length, length, dtype=torch.bool, device=DEVICE).triu(1)
            scores = scores.masked_fill(ahead, float("-inf"))
        weights = scores.softmax(-1) * kept[part, :, :length].transpose(0, 1) / (1 - p)
        parts.append(torch.einsum("hnm,mhk->nhk", weights, v[part]))
    assert_same(ours, torch.cat(parts), [q, k, v])


@needs_kernels
def test_a_seed_is_drawn_where_none_is_given() -> None:
    where, q = starts([30]), random(30, 2, 32)
    outputs = []
    for seed in (1, 2, 1):
        torch.manual_seed(seed)
        outputs.append(packed_attention(q, q, q, where, where, causal=False, dropout=0.5))
    assert torch.equal(outputs[0], outputs[2])
    assert not torch.equal(outputs[0], outputs[1])


@needs_kernels
@pytest.mark.parametrize("longest", [0, 64])
@pytest.mark.filterwarnings("default")
def test_it_compiles_without_a_break(longest: int) -> None:
    where, seed = starts([5, 17, 33, 0, 0]), torch.tensor([7], device=DEVICE)

    def layer(x: Tensor, weight: Tensor) -> Tensor:
        qkv = (x @ weight).view(-1, 3, 2, 16)
        out = packed_self_attention(qkv, where, causal=True, dropout=0.1, seed=seed, longest=longest)
        return torch.relu(out.flatten(1))

    x, weight = random(60, 32), random(32, 96)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    plain, fast = layer(x, weight), compiled(x, weight)
    torch.testing.assert_close(fast, plain)
    above = torch.randn_like(plain)
    for one, two in zip(
        torch.autograd.grad(plain, (x, weight), above), torch.autograd.grad(fast, (x, weight), above), strict=True
    ):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-4)


@needs_kernels
@pytest.mark.filterwarnings("default")
def test_the_operation_keeps_torchs_rules() -> None:
    qkv = random(60, 3, 2, 16)
    where = starts([5, 17, 33, 0, 0])
    for seed, dropout, longest in ((None, 0.0, 0), (torch.tensor([4], device=DEVICE), 0.2, 64)):
        torch.library.opcheck(
            torch.ops.headwise.packed_attention.default,
            ([qkv], where, where, seed, True, 0.25, dropout, longest),
            test_utils=("test_schema", "test_faketensor", "test_autograd_registration"),
        )


# The oracle, which is also what runs without the kernels.


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_the_reference_is_an_attention_for_each_sentence(causal: bool) -> None:
    lengths, keys = [4, 0, 7, 1, 0], [6, 3, 7, 2, 0]
    q, k, v = random(15, 2, 8), random(20, 2, 8), random(20, 2, 8)
    found = packed_attention_reference(q, k, v, starts(lengths), starts(keys), causal=causal)
    row = column = 0
    for queries, own in zip(lengths, keys, strict=True):
        for i in range(queries):
            seen = own - queries + i + 1 if causal else own
            for head in range(2):
                scores = k[column : column + seen, head] @ q[row + i, head] / 8**0.5
                expected = scores.softmax(0) @ v[column : column + seen, head]
                torch.testing.assert_close(found[row + i, head], expected, rtol=1e-4, atol=1e-5)
        row, column = row + queries, column + own
    assert not found[row:].any()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(found.sum(), (q, k, v)))


def test_without_kernels_the_reference_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "INSTALLED", False)
    qkv, where = random(20, 3, 2, 8), starts([9, 0, 8])
    expected = packed_attention_reference(*qkv.unbind(1), where, where, causal=True)
    assert torch.equal(packed_self_attention(qkv, where, causal=True), expected)


# The loss over the vocabulary.


def loss_gradients(loss: TokenLoss, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
    return torch.autograd.grad(loss.loss * -0.5, inputs)


@pytest.mark.parametrize("ignore", [None, -100, 3], ids="ignore {0}".format)
@pytest.mark.parametrize("bias", [False, True], ids=["no bias", "bias"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("vocabulary", [29, 1024, 8192 + 77])
def test_the_loss_is_the_plain_one(
    vocabulary: int, smoothing: float, bias: bool, ignore: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where kernels can run, theirs; in chunks that leave a rest, with rows that do not count."""
    monkeypatch.setattr(loss_module, "KERNEL_CHUNK_BYTES", 4 * 128 * vocabulary)
    monkeypatch.setattr(loss_module, "CHUNK_BYTES", 4 * 100 * vocabulary)
    hidden, weight = random(200, 12), random(vocabulary, 12)
    targets = torch.randint(vocabulary, (200,), device=DEVICE)
    if ignore is not None:
        targets[::3] = ignore
    inputs = [hidden, weight]
    offsets = random(vocabulary) if bias else None
    if offsets is not None:
        inputs.append(offsets)
    ours = projected_cross_entropy(hidden, weight, targets, smoothing, offsets, ignore=ignore)
    plain = plain_cross_entropy(hidden, weight, targets, smoothing, offsets, ignore=ignore)
    torch.testing.assert_close(ours.loss, plain.loss)
    torch.testing.assert_close(ours.nll, plain.nll)
    gradients = loss_gradients(ours, inputs)
    for found, expected in zip(gradients, loss_gradients(plain, inputs), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    if ignore is not None:
        assert not gradients[0][::3].any()


@pytest.mark.parametrize("rows", [0, 5])
def test_the_loss_of_nothing_is_nothing(rows: int) -> None:
    hidden, weight = random(rows, 12), random(29, 12)
    targets = torch.full((rows,), -1, device=DEVICE)
    found = projected_cross_entropy(hidden, weight, targets, 0.1, ignore=-1)
    assert found.loss.item() == found.nll.item() == 0
    assert not any(gradient.any() for gradient in loss_gradients(found, [hidden, weight]))


@needs_kernels
@pytest.mark.parametrize("states", [torch.float32, torch.bfloat16], ids=str)
def test_the_loss_under_autocast(states: torch.dtype) -> None:
    hidden, weight = random(300, 64, dtype=states), random(5001, 64)
    targets = torch.randint(5001, (300,), device=DEVICE)
    with torch.autocast(DEVICE, torch.bfloat16):
        ours = projected_cross_entropy(hidden, weight, targets, 0.1)
    exact = plain_cross_entropy(hidden.float(), weight, targets, 0.1)
    assert ours.loss.dtype == torch.float32
    torch.testing.assert_close(ours.loss, exact.loss, rtol=0.01, atol=0.1)
    found, expected = loss_gradients(ours, [hidden, weight]), loss_gradients(exact, [hidden, weight])
    for one, two, source in zip(found, expected, (hidden, weight), strict=True):
        assert one.dtype == source.dtype
        assert (one - two).norm() < 0.03 * two.norm()


@needs_kernels
def test_without_gradients_the_loss_is_the_same() -> None:
    hidden, weight, targets = random(50, 12), random(300, 12), torch.randint(300, (50,), device=DEVICE)
    expected = projected_cross_entropy(hidden, weight, targets, 0.1)
    with torch.no_grad():
        found = projected_cross_entropy(hidden, weight, targets, 0.1)
    assert torch.equal(found.loss, expected.loss)
    assert torch.equal(found.nll, expected.nll)
    assert not found.loss.requires_grad


@needs_kernels
def test_a_target_outside_the_vocabulary_shows() -> None:
    targets = torch.tensor([4, 300], device=DEVICE)
    assert projected_cross_entropy(random(2, 12), random(300, 12), targets, 0.1).loss.isnan()


@needs_kernels
@pytest.mark.parametrize("width", [16, 48, 512])
@pytest.mark.parametrize("rows", [1, 37])
@pytest.mark.parametrize("centred", [True, False], ids=["layer", "rms"])
@pytest.mark.parametrize("added", [True, False], ids=["sum", "alone"])
def test_norm_of_a_sum(width: int, rows: int, centred: bool, added: bool) -> None:
    torch.manual_seed(0)
    x, y, gain, offset = random(2, rows, width), random(2, rows, width), random(width), random(width)
    inputs = [x, *([y] if added else []), gain, *([offset] if centred else [])]
    arguments = (x, y if added else None, gain, offset if centred else None, 1e-5, 0.0, centred)
    assert_same(residual_norm(*arguments), residual_norm_reference(*arguments), inputs)


@needs_kernels
def test_norm_of_a_sum_drops_the_same_values_in_both_passes() -> None:
    """With a gain of 1 and a large y, what was dropped shows in the output, and must have no gradient."""
    torch.manual_seed(0)
    x = torch.zeros(64, 256, device=DEVICE, requires_grad=True)
    y = torch.full((64, 256), 3.0, device=DEVICE, requires_grad=True)
    gain = torch.ones(256, device=DEVICE)
    out = residual_norm(x, y, gain, None, 1e-6, 0.25, False)
    kept = out != 0
    assert abs(kept.float().mean().item() - 0.75) < 0.02
    assert abs(kept.float().mean(0).std().item() - (0.25 * 0.75 / 64) ** 0.5) < 0.02  # no column is favoured
    above = torch.randn_like(out)
    d_x, d_y = torch.autograd.grad(out, (x, y), above)
    torch.testing.assert_close(d_y, torch.where(kept, d_x / 0.75, 0.0))
    dropped = torch.where(kept, y / 0.75, 0.0).detach().requires_grad_()
    oracle = residual_norm_reference(x, dropped, gain, None, 1e-6, 0.0, False)
    torch.testing.assert_close(out, oracle, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(d_x, torch.autograd.grad(oracle, dropped, above)[0], rtol=1e-4, atol=1e-5)
    assert not torch.equal(out, residual_norm(x, y, gain, None, 1e-6, 0.25, False))


@needs_kernels
def test_norm_of_a_sum_in_half_precision() -> None:
    torch.manual_seed(0)
    x, y = (random(50, 512, dtype=HALF) for _ in range(2))
    gain, offset = random(512), random(512)
    out = residual_norm(x, y, gain, offset, 1e-5, 0.0, True)
    assert out.dtype == HALF
    oracle = residual_norm_reference(x.float(), y.float(), gain, offset, 1e-5, 0.0, True)
    assert (out - oracle).abs().max() < 0.03 * oracle.abs().max()


@needs_kernels
@pytest.mark.parametrize(("rows", "width"), [(1, 32), (50, 300), (300, 64)])
def test_linear_relu(rows: int, width: int) -> None:
    torch.manual_seed(0)
    x, weight, bias = random(2, rows, 16), random(width, 16), random(width)
    oracle = torch.relu(torch.nn.functional.linear(x, weight, bias))
    assert_same(linear_relu(x, weight, bias), oracle, [x, weight, bias])

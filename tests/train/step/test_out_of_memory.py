"""Batches that do not fit in memory are computed in parts, with the result of the whole."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from headwise.data.batch.image_batches import ImageBatch
from headwise.data.batch.labelled_batches import LabelledBatch
from headwise.data.batch.masked import MaskedBatch
from headwise.data.batch.text_rows import TextBatch
from headwise.errors import TrainingError
from headwise.train.step.backward import Plain
from headwise.train.step.loss import TokenLoss
from headwise.train.step.out_of_memory import Surviving, halves, is_out_of_memory, surviving
from headwise.train.tasks.translation_task import teacher_forcing
from tests.train.small_runs import (
    batch,
    run_fit,
    silent,
    tiny_model,
    weights,
)

CUDA = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU of NVIDIA's")


class Small:
    """The loss of a translation on a device whose memory holds a few rows: more, and it raises what CUDA does."""

    def __init__(self, rows: int, backward: bool = False) -> None:
        self.rows = rows
        self.backward = backward
        self.failures = 0
        self.largest = 0
        self.armed = False

    def __call__(self, model: nn.Module, rows: Any) -> TokenLoss:
        self.largest = max(self.largest, len(rows.source))
        loss = teacher_forcing(0.1)(model, rows)
        if len(rows.source) > self.rows:
            if not self.backward:
                self.fail()
            middle: Any = model.encoder.layers[0]  # reached when the gradients of the decoder are done
            middle.register_full_backward_pre_hook(lambda *_: self.fail() if self.armed else None)
            self.armed = True
            return TokenLoss(teacher_forcing(0.1)(model, rows).loss, loss.nll)
        self.armed = False
        return loss

    def fail(self) -> None:
        self.failures += 1
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


def plain_gradients(model: nn.Module, batches: list[Any], count: int) -> tuple[dict[str, Tensor], Tensor]:
    model.zero_grad()
    backward = Plain(model, teacher_forcing(0.1), None)
    losses = [backward(each, count).loss for each in batches]
    gradients = {name: weight.grad.clone() for name, weight in model.named_parameters() if weight.grad is not None}
    model.zero_grad()
    return gradients, torch.stack(losses).sum()


def assert_gradients(model: nn.Module, expected: dict[str, Tensor]) -> None:
    found = {name: weight.grad for name, weight in model.named_parameters() if weight.grad is not None}
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        torch.testing.assert_close(found[name], gradient, msg=name)


def lines(rows: Any) -> list[str]:
    return [f"corpus.tsv:{index + 1}" for _, index in rows.examples]


@pytest.mark.parametrize("in_backward", [False, True], ids=["forward", "backward"])
def test_a_batch_that_does_not_fit_gives_the_same_loss_and_gradient_in_parts(in_backward: bool) -> None:
    model = tiny_model().train()
    first, second = batch([3, 2]), batch([5, 3, 2, 4, 4, 1, 2])
    count = first.count + second.count
    expected, loss = plain_gradients(model, [first, second], count)
    objective, notes = Small(2, in_backward), list[str]()
    backward = Surviving(Plain(model, objective, None), lines, notes.append)
    parts = [backward(first, count), backward(second, count)]
    assert objective.failures == 3  # of 7, of 4 and of 3 rows
    assert objective.largest == 7
    torch.testing.assert_close(torch.stack([part.loss for part in parts]).sum(), loss)
    assert_gradients(model, expected)
    assert len(notes) == 1
    assert "7 rows did not fit" in notes[0]


def test_what_did_not_fit_once_is_not_tried_again() -> None:
    model = tiny_model().train()
    objective, notes = Small(3), list[str]()
    backward = Surviving(Plain(model, objective, None), lines, notes.append)
    for _ in range(5):
        large = batch([4] * 6)
        expected, _ = plain_gradients(model, [large], large.count)
        backward(large, large.count)
        assert_gradients(model, expected)
        backward.clear_gradients()
    assert objective.failures == 1
    assert len(notes) == 1


def test_a_row_that_does_not_fit_alone_is_left_out_and_named() -> None:
    model = tiny_model().train()
    rows = batch([2, 9, 3, 1], first=40)
    count = rows.count

    def objective(model: nn.Module, part: Any) -> TokenLoss:
        if (part.source[:, 8] > 0).any():  # the long one is among them
            raise torch.OutOfMemoryError("CUDA out of memory")
        return teacher_forcing(0.1)(model, part)

    others = [halves(halves(rows)[0])[0], halves(rows)[1]]
    expected, loss = plain_gradients(model, others, count)
    notes: list[str] = []
    found = Surviving(Plain(model, objective, None), lines, notes.append)(rows, count)
    torch.testing.assert_close(found.loss, loss)
    assert_gradients(model, expected)
    assert notes[-1].endswith("Its line: corpus.tsv:42")


def test_a_model_that_does_not_fit_at_all_ends_the_run_soon() -> None:
    objective = Small(0)
    backward = Surviving(Plain(tiny_model(), objective, None), lines, silent)
    with pytest.raises(TrainingError, match=r"not even one row fits in memory \(corpus.tsv:"):
        backward(batch([3] * 64), 100)
    assert objective.failures < 20


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    def broken(model: nn.Module, part: Any) -> TokenLoss:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    with pytest.raises(RuntimeError, match="mat1"):
        Surviving(Plain(tiny_model(), broken, None), lines, silent)(batch([3, 3]), 8)
    assert not is_out_of_memory(RuntimeError("no"))
    assert not is_out_of_memory(ValueError("out of memory"))
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory")
    )


def test_with_several_processes_it_ends_with_advice() -> None:
    backward = surviving(Plain(tiny_model(), Small(1), None), lines, silent, together=True)
    with pytest.raises(TrainingError, match=r"CUDA out of memory.*Lower train.batch_tokens"):
        backward(batch([3, 3]), 8)


def test_a_run_ends_with_the_weights_of_one_that_had_memory(tmp_path: Path) -> None:
    models = [tiny_model(), tiny_model()]
    models[1].load_state_dict(models[0].state_dict())
    undisturbed, _, model = run_fit(tmp_path / "one", model=models[0], steps=4, accumulate=2)
    survived, reporter, other = run_fit(tmp_path / "two", model=models[1], objective=Small(2), steps=4, accumulate=2)
    assert survived.tokens == undisturbed.tokens
    for name, weight in weights(model).items():
        if not name.endswith("key.bias"):  # which changes no attention: its gradient is rounding alone
            torch.testing.assert_close(weights(other)[name], weight, atol=1e-5, rtol=1e-4, msg=name)
    assert sum("did not fit" in note for note in reporter.notes) == 1


@pytest.mark.parametrize(
    "whole",
    [
        batch([3, 1, 4]),
        LabelledBatch(
            torch.arange(12).view(3, 4), torch.zeros(3, 4, dtype=torch.int64), torch.tensor([1, 0, 1]), [7, 8, 9]
        ),
        TextBatch(torch.arange(15).view(3, 5), np.array([0, 5, 10])),
        ImageBatch(torch.rand(3, 1, 2, 2), torch.rand(3, 4), np.arange(3)),
    ],
    ids=lambda whole: type(whole).__name__,
)
def test_halves_have_all_rows(whole: Any) -> None:
    first, second = halves(whole)
    assert (len(whole), len(first), len(second)) == (3, 2, 1)
    for name, value in vars(whole).items():
        if isinstance(value, Tensor):
            assert torch.equal(torch.cat([getattr(first, name), getattr(second, name)]), value)
        elif not isinstance(value, int | None):
            assert [*getattr(first, name), *getattr(second, name)] == list(value)


def test_halves_of_masked_rows_know_where_their_blanks_are() -> None:
    tokens = torch.arange(20).view(4, 5)
    places = torch.tensor([1, 7, 8, 16, 19])
    whole = MaskedBatch(tokens, torch.zeros_like(tokens), places, tokens.reshape(-1)[places], None, np.arange(4))
    found = []
    for part in halves(whole):
        assert torch.equal(part.tokens.reshape(-1)[part.places], part.targets)
        found += part.targets.tolist()
    assert found == whole.targets.tolist()


LIMITED = """
import resource, sys
import torch
from headwise.data.batch.padded_pairs import PaddedBatch
from headwise.models.build import build
from headwise.recipe import model_config
from headwise.train.step.backward import Plain
from headwise.train.step.out_of_memory import surviving
from headwise.train.tasks.translation_task import teacher_forcing

torch.set_num_threads(1)
torch.manual_seed(0)
shape = {"width": 32, "attention.heads": 4, "feed_forward.hidden": 64, "layers": 2, "dropout": 0.0}
model = build(model_config(shape), 50, 0)
source, target = torch.randint(4, 50, (256, 96)), torch.randint(4, 50, (256, 97))
batch = PaddedBatch(source, target, [(0, i) for i in range(256)], 256 * 96, 256 * 96)
whole = Plain(model, teacher_forcing(0.1), None)(batch, batch.count)
expected = [weight.grad.clone() for weight in model.parameters()]
model.zero_grad()
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (40 << 20), resource.RLIM_INFINITY))
notes = []
passes = surviving(Plain(model, teacher_forcing(0.1), None), lambda rows: [], notes.append)
try:
    Plain(model, teacher_forcing(0.1), None)(batch, batch.count)
    sys.exit("it fits: the limit is too high")
except (RuntimeError, MemoryError) as error:
    print(type(error).__name__, str(error).splitlines()[0][:200])
model.zero_grad()
loss = passes(batch, batch.count)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
torch.testing.assert_close(loss.loss, whole.loss)
for weight, gradient in zip(model.parameters(), expected):
    torch.testing.assert_close(weight.grad, gradient, atol=1e-6, rtol=1e-3)
print("survived", notes, passes.limit)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS") or sys.platform != "linux", reason="needs limits of Linux")
def test_a_real_lack_of_memory_is_survived() -> None:
    environment = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "survived ['a batch of 256 rows did not fit" in done.stdout


@pytest.fixture
def limited() -> Any:
    """A GPU of which this process may use one gigabyte."""
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(2**30 / total)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)


@CUDA
def test_a_gpu_that_is_too_small_is_survived(limited: Callable[[], None]) -> None:
    model = tiny_model(width=256, feed_forward__hidden=1024).cuda().train()
    rows = batch([255] * 4)
    part = rows.to(torch.device("cuda"))
    expected, loss = plain_gradients(model, [part] * 40, 40 * rows.count)
    tiled = type(rows)(rows.source.repeat(40, 1), rows.target.repeat(40, 1), rows.examples * 40, 1, 40 * rows.count)
    notes: list[str] = []
    found = Surviving(Plain(model, teacher_forcing(0.1), None), lines, notes.append)(
        tiled.to(torch.device("cuda")), tiled.count
    )
    torch.testing.assert_close(found.loss, loss, atol=1e-2, rtol=1e-4)
    for name, weight in model.named_parameters():
        if weight.grad is not None:
            torch.testing.assert_close(weight.grad, expected[name], atol=1e-5, rtol=1e-3, msg=name)
    assert notes

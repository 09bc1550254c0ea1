"""Damage to files of a run, and whether the run that goes on notices it."""

import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import torch

from headwise.files.tensors import load_tensors
from headwise.models.folder.run_layout import checkpoints
from tests.system.faults import At, Undisturbed, names, newest_step, start
from tests.system.runs import write_recipe


def flip(content: bytes, rng: random.Random) -> bytes:
    """One bit, as a failing disk or memory does."""
    changed = bytearray(content)
    changed[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def empty(content: bytes, rng: random.Random) -> bytes:
    return b""


def zeros(content: bytes, rng: random.Random) -> bytes:
    """A block that was never written, as after a power cut on some file systems."""
    at = rng.randrange(len(content)) // 512 * 512
    return content[:at] + bytes(min(512, len(content) - at)) + content[at + 512 :]


def garbage(content: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(len(content))


def delete(content: bytes, rng: random.Random) -> None:
    return None


KINDS: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    each.__name__: each for each in (flip, truncate, empty, zeros, garbage, delete)
}


def half_way(whole: Undisturbed) -> Path:
    """A run that was killed two steps before its end, with all that a folder can hold by then."""
    recipe = write_recipe(whole.folder.parent, whole.tables, "half-way")
    last = start(recipe, fault=At("writing a checkpoint", whole.events["writing a checkpoint"] - 3))
    assert last.wait(60) == -signal.SIGKILL, last.said()
    run = recipe.with_suffix("")
    assert 0 < newest_step(run) < newest_step(whole.folder)
    return run


def damageable(run: Path) -> list[str]:
    """All files but the lock, which holds nothing, and what was being written, which is thrown away."""
    return sorted(name for name in names(run) if ".writing" not in name and name != ".lock")


def go_on_damaged(whole: Undisturbed, run: Path, file: str, kind: str, seed: int = 0) -> str:
    """Damage a file of a copy of the run, and let that go on; what came of it, or an AssertionError:

    equal     it ended with the weights of the undisturbed run
    refused   it ended with a line that names the file, or its folder
    told      it ended with other weights, because a checkpoint that its end depends on is lost for good, and said so
    """
    copy = run.with_name(f"{run.name}-{kind}-{file.replace('/', '-')}")
    shutil.copytree(run, copy)
    path = copy / file
    content = path.read_bytes()
    damaged = KINDS[kind](content, random.Random(f"{file} {kind} {seed}")) if content else b"x"
    if damaged is None:
        path.unlink()
    else:
        path.write_bytes(damaged)
    child = start(write_recipe(run.parent, whole.tables, copy.name))
    status, said = child.wait(60), child.said()
    assert "Traceback" not in said, said
    if status in (1, 2):
        last = said.strip().splitlines()[-1]
        assert last.startswith("headwise: "), said
        assert str(path) in said or f"{path.parent}:" in said, f"{path} is not named: {last}"
        outcome = "refused"
    else:
        assert status == 0, f"{status}: {said}"
        equal = same_weights(whole.folder, copy)
        if not equal:
            assert str(path.parent) in said, f"{kind} of {file}: other weights, and not a word of it: {said}"
            assert "is lost" in said, said
        outcome = "equal" if equal else "told"
    shutil.rmtree(copy)
    return outcome


def same_weights(one: Path, other: Path) -> bool:
    """Of the model, and all of the last checkpoint, bit for bit."""
    last = [checkpoints(run)[-1].relative_to(run) for run in (one, other)]
    assert last[0] == last[1]
    files = [Path("model.safetensors"), *(path.relative_to(one) for path in (one / last[0]).glob("*.safetensors"))]
    for file in files:
        left, right = load_tensors(one / file), load_tensors(other / file)
        if left.keys() != right.keys() or not all(torch.equal(left[name], right[name]) for name in left):
            return False
    return True

"""A run that is killed, again and again, loses nothing but the steps since its last checkpoint."""

import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from headwise.models.folder import load, load_weights
from headwise.presets import resolve
from headwise.train.checkpoint import checkpoints, read_progress

from .runs import recipe_tables, sequences, write_tsv

KILLS = 20
STEPS = 40


def tables(folder: Path, out: str, steps: int = STEPS) -> dict[str, Any]:
    """Dropout on, a checkpoint every other step and few kept, so that many kills fall into saving."""
    corpus = recipe_tables(
        folder, steps=steps, batch_tokens=128, checkpoint_every=2, validate_every=5, log_every=1, keep=2, warmup=5
    )
    model = {**corpus["model"], "width": 32, "hidden": 32, "dropout": 0.1}
    return {**corpus, "model": model, "out": str(folder / out)}


def corpus(folder: Path) -> None:
    found = sequences(400, seed=2)
    write_tsv(folder / "train.tsv", [(each, each[::-1]) for each in found[20:]])
    write_tsv(folder / "valid.tsv", [(each, each[::-1]) for each in found[:20]])


def run_quietly(recipe: dict[str, Any]) -> None:
    """In a child process, which has everything imported already: a start costs milliseconds, not seconds."""
    from headwise.train.run import train

    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115
    torch.set_num_threads(1)
    train(resolve(recipe), say=lambda text: None)


def start(recipe: dict[str, Any]) -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["torch", "headwise.train.run", "headwise.train.curves", __name__])
    process = context.Process(target=run_quietly, args=(recipe,))
    process.start()
    return process


def steps_of(run: Path, kind: str) -> list[int]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [line["step"] for line in lines if line["kind"] == kind]


def check_folder_is_whole(run: Path) -> int:
    """Every checkpoint that shows can be read, and so can the model; returns the newest step."""
    found = checkpoints(run)
    for path in found:
        assert load_weights(path)
        assert read_progress(path).step == int(path.name.removeprefix("step-"))
    if found:
        load(run)
    return int(found[-1].name.removeprefix("step-")) if found else 0


@pytest.mark.slow
def test_kill_9_at_twenty_moments(tmp_path: Path) -> None:
    corpus(tmp_path)
    whole = start(tables(tmp_path, "whole"))
    began = time.monotonic()
    whole.join()
    duration = time.monotonic() - began
    assert whole.exitcode == 0

    rng = random.Random(4)
    run = tmp_path / "killed"
    newest = kills = 0
    for _ in range(10 * KILLS):
        process = start(tables(tmp_path, "killed"))
        # A third falls into the start, the preparation and the first steps; the others shortly after them.
        process.join(rng.uniform(0, 0.35 * duration) if rng.random() < 0.7 else rng.uniform(0, 0.8 * duration))
        if process.exitcode is not None:
            assert process.exitcode == 0
            run = restarted(tmp_path, run, kills)
            newest = 0
            continue
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kills += 1
        reached = check_folder_is_whole(run) if run.exists() else 0
        assert reached >= newest  # nothing that was saved is lost
        newest = reached
        if kills == KILLS:
            break
    assert kills == KILLS
    last = start(tables(tmp_path, "killed"))
    last.join()
    assert last.exitcode == 0
    check_same(tmp_path / "whole", run)


def restarted(folder: Path, run: Path, kills: int) -> Path:
    """A run that ended before it was killed often enough: it is compared, put aside, and begun anew."""
    check_same(folder / "whole", run)
    run.rename(folder / f"ended-{kills}-{time.monotonic_ns()}")
    return run


def check_same(whole: Path, killed: Path) -> None:
    """The same weights, bit for bit, and a log that names each step once."""
    expected, found = load_weights(whole), load_weights(killed)
    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    last = [load_weights(checkpoints(run)[-1]) for run in (whole, killed)]
    assert all(torch.equal(last[0][name], last[1][name]) for name in last[0])
    assert steps_of(killed, "train") == list(range(1, STEPS + 1))
    assert steps_of(killed, "valid") == steps_of(whole, "valid")
    for name in ("model.safetensors", "README.md", "scores.json", "config.json", "tokenizer.json", "recipe.json"):
        assert (killed / name).is_file()
    assert (killed / "scores.json").read_text() == (whole / "scores.json").read_text()


def test_a_kill_while_an_old_checkpoint_is_removed(tmp_path: Path) -> None:
    """The one moment that chance seldom finds: half of an old checkpoint is gone."""
    corpus(tmp_path)
    process = multiprocessing.get_context("forkserver").Process(
        target=die_while_removing, args=(tables(tmp_path, "run", steps=12),)
    )
    process.start()
    process.join()
    assert process.exitcode == 9
    assert check_folder_is_whole(tmp_path / "run") > 0
    again = start(tables(tmp_path, "run", steps=12))
    again.join()
    assert again.exitcode == 0
    assert check_folder_is_whole(tmp_path / "run") == 12
    assert not [path for path in (tmp_path / "run" / "checkpoints").iterdir() if path.name.startswith(".")]


def die_while_removing(recipe: dict[str, Any]) -> None:
    import shutil

    def remove_one_file_and_die(path: Any, *_: Any, **__: Any) -> None:
        if "step-" in str(path) and Path(path).exists():
            for file in sorted(Path(path).iterdir())[:2]:
                file.unlink()
            os._exit(9)

    shutil.rmtree = remove_one_file_and_die  # type: ignore[assignment]
    run_quietly(recipe)


def test_ctrl_c_saves_and_says_how_to_go_on(tmp_path: Path) -> None:
    corpus(tmp_path)
    recipe = tables(tmp_path, "run", steps=100_000)
    path = tmp_path / "recipe.toml"
    path.write_text(toml(recipe))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "headwise", "train", str(path)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    run = tmp_path / "run"
    deadline = time.monotonic() + 120
    while not checkpoints(run) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    stopped = check_folder_is_whole(run)
    assert f"stopped at step {stopped:,}" in errors
    assert "the same command goes on" in errors
    assert steps_of(run, "train") == list(range(1, stopped + 1))

    # The same command, with an end that is near.
    end = stopped + 3
    done = subprocess.run(
        [*command, "--steps", str(end)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert f"going on from step {stopped:,}" in done.stderr
    assert check_folder_is_whole(run) == end
    assert steps_of(run, "train") == list(range(1, end + 1))
    assert (run / "model.safetensors").is_file()


def toml(recipe: dict[str, Any]) -> str:
    """JSON values are TOML values, but for tables; those become dotted keys and inline tables."""

    def value(each: Any) -> str:
        if isinstance(each, dict):
            return "{" + ", ".join(f"{key} = {value(item)}" for key, item in each.items()) + "}"
        if isinstance(each, list):
            return "[" + ", ".join(map(value, each)) + "]"
        return json.dumps(each)

    return "\n".join(f"{key} = {value(each)}" for key, each in recipe.items())

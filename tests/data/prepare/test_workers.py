"""Several processes give what one gives: the same results in the same order, the same errors, the same files."""

import hashlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwise.config import CorpusConfig, DataConfig, TextConfig
from headwise.data.prepare import clean, spool, workers
from headwise.data.prepare import passes as build
from headwise.data.prepare.parallel_text import PairPreparation
from headwise.data.prepare.workers import Workers
from headwise.errors import DataError


def doubled(shared: int, task: int) -> tuple[int, int]:
    if task == 13:
        raise DataError("thirteen")
    print("a library talks")
    return shared * task, os.getpid()


def fatal(shared: Path, task: int) -> int:
    """The process that is asked for 5 dies of it, once."""
    if task == 5 and not shared.exists():
        shared.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * task


def unsendable(shared: None, task: int) -> Any:
    return lambda: task


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FEW", 0)


def test_results_come_in_order_from_several_processes() -> None:
    with Workers(2) as helpers:
        found = list(helpers.map(doubled, 3, range(12)))
        again = list(helpers.map(doubled, 5, range(3)))
    assert [(task, result[0]) for task, result in found] == [(task, 3 * task) for task in range(12)]
    assert [result[0] for _, result in again] == [0, 5, 10]
    assert os.getpid() not in {pid for _, (_, pid) in found}


def test_none_are_started_for_a_little_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "FEW", 4)
    with Workers(2) as helpers:
        assert {pid for _, (_, pid) in helpers.map(doubled, 1, range(4))} == {os.getpid()}
        assert helpers._children == []
    with Workers(0) as helpers:
        assert {pid for _, (_, pid) in helpers.map(doubled, 1, range(9))} == {os.getpid()}


def test_an_error_comes_out_where_its_result_would_have() -> None:
    with Workers(2) as helpers:
        results = helpers.map(doubled, 1, range(20))
        assert [task for task, _ in (next(results) for _ in range(13))] == list(range(13))
        with pytest.raises(DataError, match="thirteen"):
            next(results)


def test_what_cannot_be_sent_is_an_error() -> None:
    with Workers(1) as helpers, pytest.raises(RuntimeError, match="cannot be sent"):
        list(helpers.map(unsendable, None, [1]))


def test_one_that_is_killed_is_done_without(tmp_path: Path) -> None:
    said: list[str] = []
    with Workers(2, said.append) as helpers:
        found = [result for _, result in helpers.map(fatal, tmp_path / "fallen", range(20))]
    assert found == [2 * task for task in range(20)]
    assert len(said) == 1


def test_all_that_are_killed_are_done_without() -> None:
    with Workers(2) as helpers:
        results = helpers.map(doubled, 1, range(14, 50))
        found = [next(results)]
        for child in helpers._children:
            child.process.kill()
        found += results
    assert [result[0] for _, result in found] == list(range(14, 50))


def test_nobody_is_left_when_it_ends_early() -> None:
    with Workers(2) as helpers:
        next(helpers.map(doubled, 1, range(14, 50)))
        children = [child.process for child in helpers._children]
    assert children
    assert all(child.returncode is not None for child in children)


PARENT = """
import signal, sys, time
from headwise.data.prepare import workers
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background, where tests may run, ignores it
workers.FEW = 0
sys.path.insert(0, {folder!r})
from sleeper import sleep
with workers.Workers(2) as helpers:
    results = helpers.map(sleep, 0.1, range(10_000))
    next(results)
    print(*[child.process.pid for child in helpers._children], flush=True)
    for _ in results:
        pass
"""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_helpers_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    (tmp_path / "sleeper.py").write_text("import time\ndef sleep(shared, task):\n    time.sleep(shared)\n")
    command = [sys.executable, "-c", PARENT.format(folder=str(tmp_path))]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        helpers = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(helpers) == 2
        if how == signal.SIGINT:
            os.killpg(parent.pid, how)  # as a terminal does: to all of them
        else:
            os.kill(parent.pid, how)
        parent.wait(timeout=30)
        errors = parent.stderr.read()
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}/cmdline").exists() for pid in helpers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}/cmdline").exists() for pid in helpers)
    if how == signal.SIGINT:
        assert errors.count("KeyboardInterrupt") >= 1
        assert errors.count("Traceback") == 1  # the parent's alone


def messy_pairs() -> Iterator[tuple[str, str]]:
    for i in range(900):
        yield f"sentence number {i} of  this\u00a0corpus", f"Satz Nummer {i} dieses Korpus"
        if i % 7 == 0:
            yield f"sentence number {i // 2} of this corpus", f"Satz Nummer {i // 2} dieses Korpus"
        if i % 11 == 0:
            yield "", "leer"
            yield "bell \x07", "Glocke"
            yield f"cafe\u0301 {i}", f"Caf\u00e9 {i} ist offen"
        if i % 13 == 0:
            yield f"long {i} " + "and on " * 30, f"lang {i} " + "und so weiter " * 30


def digests(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("kind", ["unigram", "bpe", "words", "byte_bpe"])
def test_prepared_data_is_the_same_bit_for_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.setattr(clean, "CHUNK", 64)
    monkeypatch.setattr(spool, "CHUNK", 50)
    for side, name in enumerate(("en", "de")):
        lines = [pair[side] for pair in messy_pairs()]
        (tmp_path / f"pairs.{name}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    corpus = CorpusConfig(source=(str(tmp_path / "pairs.en"),), target=(str(tmp_path / "pairs.de"),))
    data = DataConfig(source_language="en", target_language="de", train=(corpus, corpus), held_out=40, max_tokens=80)
    found, said = [], list[str]()
    for count in (0, 3):
        monkeypatch.setattr(build, "available", lambda count=count: count)
        text, folder = TextConfig(kind=kind, vocabulary=400), tmp_path / f"cache-{count}"
        prepared = PairPreparation.of(data, text, folder, 1, said.append).prepare()
        found.append(digests(prepared.folder))
    assert found[0] == found[1]
    assert len(found[0]) > 10
    report = prepared.reports[0]
    assert report.held_out
    assert {"empty", "control", "duplicate", "tokens"} <= report.dropped.keys()
    assert not [text for text in said if "has ended" in text]

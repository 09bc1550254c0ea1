"""`headwise translate` from file to file: stopped, killed or shared, it gives the same file to the byte."""

import gzip
import itertools
import json
import lzma
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from headwise.cli import main
from headwise.cli.shard import own_device
from headwise.decode.bulk import grouping, line_job
from headwise.decode.bulk.partial import partial_path, state_path
from headwise.decode.bulk.share import Share
from headwise.models.folder.load import save_model
from tests.commands import SAVING_OFTEN, Capture, contents, lines_file, ok, shell, wrong
from tests.taught import SOURCES, TARGETS, taught

LINES = [*SOURCES, "", "The dog.", " ".join(SOURCES[:3]), *SOURCES]
random.Random(0).shuffle(LINES)
FORMATS = {
    "plain": [],
    "n-best": ["--candidates", 3, "--scores", "--alignments"],
    "json": ["--json", "--candidates", 2],
    "drawn": ["--sample", "--temperature", 2, "--candidates", 2, "--scores"],
    "prefix": ["--prefix", "Ein", "--beam", 1, "--no-repeat", 3],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(lines_file(tmp_path / "in.en", LINES))


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short file has many."""
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 60)
    monkeypatch.setattr(grouping, "WINDOW_LINES", 25)


def command(model: Path, source: Path, out: Path, *more: object) -> list[object]:
    return ["translate", "--model", model, "--device", "cpu", "--input", source, "--output", out, *more]


def stop_after(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    """A request to stop that is seen at the so many-th look."""
    counts = itertools.count(1)
    monkeypatch.setattr("headwise.interrupt.StopRequest.__bool__", lambda self: next(counts) > looks)


def remains(out: Path) -> set[str]:
    return {path.name for path in out.parent.glob(f"{out.name}*")}


# --- going on ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("options", FORMATS.values(), ids=FORMATS)
def test_every_format_is_exact_after_stops(
    options: list[object], model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    ok(capsys, *command(model, source, whole, *options))
    assert remains(whole) == {"whole", "whole.made.json"}
    for looks in (3, 5, 4):
        with monkeypatch.context() as patch:
            stop_after(patch, looks)
            assert main([str(each) for each in command(model, source, out, *options)]) != 0
        assert "everything is saved: run the same command again to continue" in capsys.readouterr().err
        assert remains(out) == {"out.partial", "out.partial.json", "out.partial.lock"}
    lines = json.loads(state_path(out).read_text())["saved"]["lines"]
    assert 0 < lines < len(LINES)
    assert main([str(each) for each in command(model, source, out, *options)]) == 0
    assert f"{lines} of {len(LINES)} lines are done already" in capsys.readouterr().err
    assert out.read_bytes() == whole.read_bytes()
    assert remains(out) == {"out", "out.made.json"}


def test_the_same_lines_as_through_a_pipe(model: Path, source: Path, tmp_path: Path, capsys: Capture) -> None:
    """Up to the rounding of what is computed in other batches."""
    expected = ok(capsys, "translate", "--model", model, "--device", "cpu", "--input", source)
    ok(capsys, *command(model, source, tmp_path / "out"))
    assert (tmp_path / "out").read_text() == expected
    assert (tmp_path / "out").read_text().splitlines()[LINES.index(SOURCES[3])] == TARGETS[3]


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed_input_goes_on_too(
    suffix: str, model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = source.read_bytes()
    packed = tmp_path / f"in.en{suffix}"
    if suffix == ".zst":
        zstd = pytest.importorskip("backports.zstd" if sys.version_info < (3, 14) else "compression.zstd")
        packed.write_bytes(zstd.compress(content))
    else:
        packed.write_bytes(gzip.compress(content) if suffix == ".gz" else lzma.compress(content))
    ok(capsys, *command(model, source, tmp_path / "whole"))
    with monkeypatch.context() as patch:
        stop_after(patch, 9)
        main([str(each) for each in command(model, packed, tmp_path / "out")])
    ok(capsys, *command(model, packed, tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.usefixtures("small_groups")
def test_what_has_changed_is_refused(
    model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        stop_after(patch, 9)
        main([str(each) for each in command(model, source, out)])
    capsys.readouterr()
    before = contents(tmp_path)
    assert "begun with beam 4, not 1" in wrong(capsys, *command(model, source, out, "--beam", 1))
    assert "begun with json off, not on" in wrong(capsys, *command(model, source, out, "--json"))
    assert "begun with prefix unset, not Der" in wrong(capsys, *command(model, source, out, "--prefix", "Der"))
    assert "without .gz" in wrong(capsys, *command(model, source, tmp_path / "out.gz"))
    assert "begun in 1 part, not 2" in wrong(capsys, *command(model, source, out, "--shard", "1/2"))
    other = tmp_path / "other"
    save_model(other, taught(steps=0))
    assert "begun with another model" in wrong(capsys, *command(other, source, out))
    lines_file(source, [*LINES[:-1], LINES[0]])
    assert "begun with another input, or it has changed" in wrong(capsys, *command(model, source, out))
    lines_file(source, LINES)
    assert {name: each for name, each in contents(tmp_path).items() if not name.startswith("other")} == before
    # The same text, written anew, is the same; so is what the command would have taken by itself.
    ok(capsys, *command(model, source, out, "--engine", "plain", "--from", "en", "--to", "de", "--seed", 7))


def test_the_same_command_again_has_nothing_to_do(
    model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    ok(capsys, *command(model, source, out))
    before = contents(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(line_job, "translate_lines", lambda *_, **__: pytest.fail("translated again"))
        for shard in ([], ["--shard", "2/3"]):
            assert main([str(each) for each in command(model, source, out, *shard)]) == 0
            assert "is complete already: same input, model and options" in capsys.readouterr().err
        assert contents(tmp_path) == before
        with pytest.raises(pytest.fail.Exception, match="translated again"):
            main([str(each) for each in command(model, source, out, "--beam", 1)])
        assert f"{out} exists already; it is replaced when" in capsys.readouterr().err
        assert out.read_bytes() == before["out"]
    ok(capsys, *command(model, source, out, "--beam", 1, "--scores"))
    assert out.read_bytes() != before["out"]
    assert main([str(each) for each in command(model, source, out)]) == 0
    assert "complete already" not in capsys.readouterr().err
    assert contents(tmp_path) == before
    out.unlink()
    ok(capsys, *command(model, source, out))
    assert contents(tmp_path) == before


def test_what_a_person_has_corrected_is_left_alone(model: Path, source: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    ok(capsys, *command(model, source, out))
    with out.open("a", encoding="utf-8") as file:
        file.write("corrected\n")
    before = contents(tmp_path)
    for options in ([], ["--beam", 1]):
        assert f"{out} was changed since it was translated" in wrong(capsys, *command(model, source, out, *options))
        assert contents(tmp_path) == before


def test_input_that_changes_meanwhile(
    model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = line_job.translate_lines

    def disturbed(*arguments: object, **named: object) -> bool:
        done = real(*arguments, **named)  # type: ignore[arg-type]
        lines_file(source, LINES[::-1])
        return done

    monkeypatch.setattr(line_job, "translate_lines", disturbed)
    assert main([str(each) for each in command(model, source, tmp_path / "out")]) == 2
    assert "it was changed while it was translated" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_an_older_file_stays_until_the_new_one_is_whole(
    model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, link = tmp_path / "real", tmp_path / "out"
    real.write_text("precious")
    link.symlink_to(real)
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        assert main([str(each) for each in command(model, source, link)]) != 0
    assert real.read_text() == "precious"
    ok(capsys, *command(model, source, link))
    assert link.is_symlink()
    assert len(real.read_text().splitlines()) == len(LINES)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no /dev")
def test_pipes_and_devices_are_written_as_they_come(small_folder: Path, source: Path) -> None:
    languages = ("--from", "en", "--to", "de")
    for place in ("-", "/dev/stdout"):
        done = shell(*command(small_folder, source, Path(place), *languages))
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.decode().splitlines()) == len(LINES)
    given = shell(*command(small_folder, Path("/dev/stdin"), Path("-"), *languages), given=source.read_bytes())
    assert given.stdout == done.stdout


def test_what_was_cut_off_is_counted(tmp_path: Path, source: Path, capsys: Capture) -> None:
    save_model(tmp_path / "random", taught(steps=0))  # which never finds an end
    assert main([str(each) for each in command(tmp_path / "random", source, tmp_path / "out", "--beam", 1)]) == 0
    assert f"{len(LINES) - 1} lines were cut off at the length limit" in capsys.readouterr().err


def test_progress(model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwise.cli.console.Countdown.EVERY", 0.0)
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 160)
    assert main([str(each) for each in command(model, source, tmp_path / "out")]) == 0
    lines = capsys.readouterr().err.splitlines()
    shape = re.compile(r"([\d,]+)/57 lines  [\d,.]+ lines/s  [\d,]+ tokens/s  left \d+:\d\d:\d\d")
    done = [int(shape.fullmatch(line)[1]) for line in lines]  # type: ignore[index]
    assert len(done) > 3
    assert done == sorted(done)
    assert done[-1] == len(LINES) == 57


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_a_bar_on_a_terminal(small_folder: Path, source: Path, tmp_path: Path) -> None:
    mine, its = os.openpty()
    languages = ("--from", "en", "--to", "de")
    arguments = [str(each) for each in command(small_folder, source, tmp_path / "out", *languages)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TERM": "xterm", "COLUMNS": "120"}
    process = subprocess.Popen([sys.executable, "-m", "headwise", *arguments], stderr=its, env=environment)
    os.close(its)
    shown = b""
    while True:
        try:
            shown += os.read(mine, 1 << 16)
        except OSError:  # how Linux tells that the other end is closed
            break
    os.close(mine)
    assert process.wait(60) == 0
    assert b"57/57 lines" in shown
    assert b"tokens/s" in shown


# --- several processes ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("name", ["n-best", "drawn"])
def test_parts_of_the_work(name: str, model: Path, source: Path, tmp_path: Path, capsys: Capture) -> None:
    options = FORMATS[name]
    whole, out = tmp_path / "whole", tmp_path / "out"
    ok(capsys, *command(model, source, whole, *options))
    for number in (3, 1):
        assert main([str(each) for each in command(model, source, out, *options, "--shard", f"{number}/3")]) == 0
        assert f"part {number} of 3 is done; the last part to finish writes" in capsys.readouterr().err
    assert not out.exists()
    assert "begun in 3 parts, not 2" in wrong(capsys, *command(model, source, out, *options, "--shard", "2/2"))
    ok(capsys, *command(model, source, out, *options, "--shard", "2/3"))
    assert out.read_bytes() == whole.read_bytes()
    assert remains(out) == {"out", "out.made.json"}
    assert main([str(each) for each in command(model, source, out, *options, "--shard", "2/3")]) == 0
    assert "is complete already" in capsys.readouterr().err


@pytest.mark.usefixtures("small_groups")
def test_the_progress_of_a_part_is_its_own(
    model: Path, source: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwise.cli.console.Countdown.EVERY", 0.0)
    totals = []
    for number in (2, 1):
        assert main([str(each) for each in command(model, source, tmp_path / "out", "--shard", f"{number}/2")]) == 0
        said = capsys.readouterr().err
        [(total, everything)] = re.findall(rf"part {number} of 2: (\d+) of (\d+) lines", said)
        shown = re.findall(r"^(\d+)/(\d+) lines ", said, re.MULTILINE)
        assert {of for _, of in shown} == {total}
        assert shown[-1] == (total, total), "it ends at its end"
        assert everything == str(len(LINES))
        totals.append(int(total))
    assert sum(totals) == len(LINES)
    assert min(totals) > 0


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/b", "1/2/3", "/2", "-1/2"])
def test_parts_that_there_are_not(shard: str, model: Path, source: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "not K/N" in wrong(capsys, *command(model, source, tmp_path / "out", f"--shard={shard}"))


def test_parts_need_files(model: Path, source: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "give --input FILE" in wrong(capsys, "translate", "--model", model, "x", "--shard", "1/2")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert "give --input FILE" in wrong(capsys, "translate", "--model", model, "x")
    monkeypatch.setenv("RANK", "1")
    assert "leave out --shard" in wrong(capsys, *command(model, source, source.with_name("out"), "--shard", "1/2"))


def torchrun(arguments: list[object]) -> list[str]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return [*start, "-m", "headwise", *map(str, arguments)]


def test_torchrun(model: Path, tmp_path: Path, capsys: Capture) -> None:
    source = Path(lines_file(tmp_path / "in.en", LINES * 8))  # several groups of the usual size
    whole, out = tmp_path / "whole", tmp_path / "out"
    ok(capsys, *command(model, source, whole, "--sample"))
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        torchrun(command(model, source, out, "--sample")),
        capture_output=True,
        env=environment,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert out.read_bytes() == whole.read_bytes()
    assert remains(out) == {"out", "out.made.json"}


# --- signals and kills ---------------------------------------------------------------------------------


def started(arguments: list[object]) -> subprocess.Popen[bytes]:
    # As many threads as here, where what is expected is made: on some CPUs sums differ in their last digit with them.
    environment = {**os.environ, "OMP_NUM_THREADS": str(torch.get_num_threads())}
    return subprocess.Popen([*SAVING_OFTEN, *map(str, arguments)], env=environment, stderr=subprocess.PIPE)


def states(out: Path) -> Iterator[str]:
    """What is saved, as often as one looks."""
    while True:
        path = state_path(out)
        yield path.read_text() if path.exists() else ""
        time.sleep(0.005)


@pytest.fixture(scope="module")
def long(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes]:
    """A file that takes some seconds, and its translation, with alignments to make it take longer."""
    folder = tmp_path_factory.mktemp("long")
    source = Path(lines_file(folder / "in.en", LINES * 40))
    assert main([str(each) for each in command(model, source, folder / "out", "--json")]) == 0
    return source, (folder / "out").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="Windows ends a process that another one signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_a_signal_saves_within_seconds(
    number: signal.Signals, long: tuple[Path, bytes], model: Path, tmp_path: Path, capsys: Capture
) -> None:
    source, expected = long
    out = tmp_path / "out"
    process = started(command(model, source, out, "--json"))
    for _ in zip(states(out), range(10_000), strict=False):
        if partial_path(out).exists() and state_path(out).exists():
            break
    time.sleep(0.1)
    asked = time.monotonic()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 128 + number, errors.decode()
    assert time.monotonic() - asked < line_job.STOP_WITHIN + 5, "a group or so"
    assert b"everything is saved: run the same command again to continue" in errors
    assert b"Traceback" not in errors
    ok(capsys, *command(model, source, out, "--json"))
    assert out.read_bytes() == expected


def test_kill_9(long: tuple[Path, bytes], model: Path, tmp_path: Path) -> None:
    """`python -m tests.system --translations 100` is the same with more of them."""
    source, expected = long
    out, kills, before = tmp_path / "out", 0, ""
    deadline = time.monotonic() + 240
    while not out.exists() and time.monotonic() < deadline:
        process = started(command(model, source, out, "--json"))
        for state in states(out):
            if process.poll() is not None or time.monotonic() > deadline:
                break
            if kills < 3 and state and state != before:
                time.sleep(random.Random(kills).uniform(0, 0.2))
                process.kill()
                before = state
                kills += 1
                break
        process.communicate()
    assert kills >= 2
    assert out.read_bytes() == expected
    assert remains(out) == {"out", "out.made.json"}


def test_a_killed_part_goes_on(long: tuple[Path, bytes], model: Path, tmp_path: Path, capsys: Capture) -> None:
    source, expected = long
    out = tmp_path / "out"
    first = Share(0, 2)
    process = started(command(model, source, out, "--json", "--shard", "1/2"))
    while process.poll() is None and not state_path(out, first).exists():
        time.sleep(0.005)
    process.kill()
    process.communicate()
    for shard in ("2/2", "1/2"):
        ok(capsys, *command(model, source, out, "--json", "--shard", shard))
    assert out.read_bytes() == expected


def test_a_model_in_int8_stays_on_the_cpu_where_several_processes_have_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, precision in (("whole", None), ("rounded", "int8")):
        (tmp_path / name).mkdir()
        described = {"format": 1} | ({"precision": precision} if precision else {})
        (tmp_path / name / "config.json").write_text(json.dumps(described))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert own_device("auto", str(tmp_path / "whole")) == "cuda:1"
    assert own_device("auto", str(tmp_path / "rounded")) == "auto"
    assert own_device("cpu", str(tmp_path / "whole")) == "cpu"

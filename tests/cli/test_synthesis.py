"""`headwise back-translate` and `headwise distill`: pairs that a model makes, and a small model made of them."""

import json
import lzma
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

from headwise.cli import main
from headwise.data.prepare.synthetic import note_path
from headwise.decode.bulk import grouping
from headwise.decode.bulk.partial import state_path
from headwise.files.lock import locked
from headwise.models.folder.load import save_model
from headwise.train.report.console import read_log
from tests.commands import SAVING_OFTEN, Capture, lines_file, ok, wrong
from tests.taught import PAIRS, SOURCES, TARGETS, taught

HEADER = "source\ttarget"
TINY = ["model.width=16", "model.feed_forward.hidden=16", "model.attention.heads=2", "model.layers=1"]
SHORT = ["train.batch_tokens=256", "train.device=cpu", "train.log_every=1", "text.vocabulary=350"]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English to German and back."""
    folder = tmp_path_factory.mktemp("models") / "both"
    save_model(folder, taught(both_directions=True))
    return folder


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """English to German."""
    folder = tmp_path_factory.mktemp("models") / "en-de"
    save_model(folder, taught())
    return folder


def back(model: Path, text: object, out: Path, *more: object) -> list[object]:
    return ["back-translate", model, "--from", "de", "--to", "en", "--text", text, "--out", out, *more]


def pairs_of(path: Path) -> list[tuple[str, str]]:
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    assert header == HEADER
    return [(source, target) for source, target in (line.split("\t") for line in lines)]


# --- back-translation ------------------------------------------------------------------------------------------------


def test_back_translation(both: Path, tmp_path: Path, capsys: Capture) -> None:
    """The target is the text as it was; with a beam, the source is what the model learned."""
    text = tmp_path / "text.de.xz"
    lines = [*TARGETS[:4], "", f"  {TARGETS[4]}\t", TARGETS[0]]
    text.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))
    out = tmp_path / "synthetic.tsv"
    assert main([str(each) for each in back(both, text, out, "--beam", 2)]) == 0
    assert pairs_of(out) == PAIRS[:5], "without the empty line and the duplicate"
    said = capsys.readouterr().err
    assert "7 pairs read, 5 kept" in said
    assert "wrote 5 pairs" in said
    assert {path.name for path in tmp_path.iterdir()} == {"text.de.xz", "synthetic.tsv", "synthetic.tsv.json"}
    note = json.loads((tmp_path / "synthetic.tsv.json").read_text())
    assert note["pairs"]["kept"] == 5
    assert note["search"]["beam"] == 2
    assert main([str(each) for each in back(both, text, out, "--beam", 2)]) == 0
    assert "is complete already" in capsys.readouterr().err
    assert "begun with beam 2, not 3" in wrong(capsys, *back(both, text, out, "--beam", 3))


def test_sources_are_drawn_unless_a_beam_is_asked_for(both: Path, tmp_path: Path, capsys: Capture) -> None:
    text = lines_file(tmp_path / "text", TARGETS)
    found = []
    for number, options in enumerate([["--seed", 1], ["--seed", 1], ["--seed", 2], ["--top-k", 1], ["--beam", 1]]):
        out = tmp_path / f"{number}.tsv"
        ok(
            capsys,
            *back(both, text, out, "--temperature", 3, *options) if number < 3 else back(both, text, out, *options),
        )
        found.append(out.read_bytes())
    assert found[0] == found[1] != found[2]
    assert found[3] == found[4], "one candidate is the likeliest"


def test_tags_and_the_first_lines(both: Path, tmp_path: Path, capsys: Capture) -> None:
    text, out = lines_file(tmp_path / "text", TARGETS), tmp_path / "out.tsv"
    ok(capsys, *back(both, text, out, "--beam", 1, "--tag", " <BT> ", "--max-lines", 3))
    assert pairs_of(out) == [(f"<BT> {source}", target) for source, target in PAIRS[:3]]


def test_what_was_made_can_be_trained_on(both: Path, tmp_path: Path, capsys: Capture) -> None:
    text, out = lines_file(tmp_path / "text", TARGETS), tmp_path / "out.tsv"
    ok(capsys, *back(both, text, out))
    train = ["train", "--pairs", out, "--from", "en", "--to", "de", "--out", tmp_path / "run", "--preset", "tiny",
             "--steps", 2, "--set", *TINY, *SHORT]  # fmt: skip
    assert main([str(each) for each in train]) == 0
    assert (tmp_path / "run" / "model.safetensors").exists()
    assert "all pairs of en-de are back-translations" in capsys.readouterr().err


def test_a_killed_back_translation_goes_on(both: Path, tmp_path: Path, capsys: Capture) -> None:
    """kill -9, three times."""
    text = lines_file(tmp_path / "text", TARGETS * 120)
    whole, killed = tmp_path / "whole.tsv", tmp_path / "killed.tsv"
    ok(capsys, *back(both, text, whole))
    command = [*SAVING_OFTEN, *map(str, back(both, text, killed))]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    kills, deadline = 0, time.monotonic() + 300
    while not killed.exists() and time.monotonic() < deadline:
        before = state_path(killed).read_text() if state_path(killed).exists() else ""
        process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        while kills < 3 and process.poll() is None and time.monotonic() < deadline:
            state = state_path(killed)
            if state.exists() and state.read_text() != before and json.loads(state.read_text())["saved"]["lines"]:
                process.kill()
                kills += 1
                break
            time.sleep(0.005)
        process.wait()
    assert kills >= 2
    assert killed.read_bytes() == whole.read_bytes()


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short file has many."""
    monkeypatch.setattr(grouping, "CPU_GROUP_TOKENS", 60)
    monkeypatch.setattr(grouping, "WINDOW_LINES", 25)


@pytest.mark.usefixtures("small_groups")
def test_parts_of_a_back_translation(both: Path, tmp_path: Path, capsys: Capture) -> None:
    """Drawn at random, tagged and cleaned: the pairs of one process, to the byte."""
    text = lines_file(tmp_path / "text", [*TARGETS, "", *TARGETS[:3], " ".join(TARGETS[:2])])
    whole, out = tmp_path / "whole.tsv", tmp_path / "out.tsv"
    ok(capsys, *back(both, text, whole, "--tag", "<BT>"))
    for number in (3, 1):
        assert main([str(each) for each in back(both, text, out, "--tag", "<BT>", "--shard", f"{number}/3")]) == 0
        said = capsys.readouterr().err
        assert f"part {number} of 3 is done; the last part to finish writes {out}" in said
        assert re.search(rf"part {number} of 3: \d+ of {len(TARGETS) + 5} lines", said)
    assert not out.exists()
    assert "begun in 3 parts, not 1" in wrong(capsys, *back(both, text, out, "--tag", "<BT>"))
    assert main([str(each) for each in back(both, text, out, "--tag", "<BT>", "--shard", "2/3")]) == 0
    assert "wrote" in capsys.readouterr().err
    assert out.read_bytes() == whole.read_bytes()
    assert note_path(out).read_bytes() == note_path(whole).read_bytes()
    assert not list(tmp_path.glob("*partial*"))
    assert main([str(each) for each in back(both, text, out, "--tag", "<BT>", "--shard", "1/3")]) == 0
    assert "is complete already" in capsys.readouterr().err
    assert "not K/N" in wrong(capsys, *back(both, text, out, "--shard", "4/3"))


def test_a_kill_between_the_pairs_and_what_is_said_of_them(
    both: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, whole, out = lines_file(tmp_path / "text", TARGETS), tmp_path / "whole.tsv", tmp_path / "out.tsv"
    ok(capsys, *back(both, text, whole))
    for dies in ("headwise.synthesis.back_translate.write_json", "headwise.decode.bulk.merge._remove_partial"):
        with monkeypatch.context() as patch:
            patch.setattr(dies, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            assert main([str(each) for each in back(both, text, out)]) == 130
        assert out.exists()
        assert list(tmp_path.glob("out.tsv.partial*"))
        ok(capsys, *back(both, text, out))
        assert {path.name for path in tmp_path.glob("out*")} == {"out.tsv", "out.tsv.json"}
        assert out.read_bytes() == whole.read_bytes()
        assert note_path(out).read_bytes() == note_path(whole).read_bytes()
        out.unlink()
        note_path(out).unlink()


def torchrun(arguments: list[object]) -> subprocess.CompletedProcess[bytes]:
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "headwise"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [*start, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, env=environment, check=False, timeout=480)


def test_torchrun_back_translates(both: Path, tmp_path: Path, capsys: Capture) -> None:
    text = lines_file(tmp_path / "text", TARGETS * 60)
    whole, out = tmp_path / "whole.tsv", tmp_path / "out.tsv"
    ok(capsys, *back(both, text, whole, "--device", "cpu"))
    done = torchrun(back(both, text, out, "--device", "cpu"))
    assert done.returncode == 0, done.stderr.decode()
    assert out.read_bytes() == whole.read_bytes()
    assert done.stderr.decode().count("wrote ") == 1
    assert not list(tmp_path.glob("*partial*"))


def test_back_translation_refuses(both: Path, teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    text, out = lines_file(tmp_path / "text", TARGETS), tmp_path / "out.tsv"
    assert "give one of them" in wrong(capsys, *back(both, text, out, "--beam", 4, "--sample"))
    assert "--seed is for sampling" in wrong(capsys, *back(both, text, out, "--beam", 4, "--seed", 0))
    assert "only white space" in wrong(capsys, *back(both, text, out, "--tag", " \t"))
    assert "written as .tsv" in wrong(capsys, *back(both, text, tmp_path / "out.txt"))
    assert "there is no folder" in wrong(capsys, *back(both, text, tmp_path / "nowhere" / "out.tsv"))
    assert "no such file" in wrong(capsys, *back(both, tmp_path / "nothing.de", out))
    assert "give --text F" in wrong(capsys, "back-translate", both, "--out", out)
    assert "cannot be read again" in wrong(capsys, *back(both, "-", out))
    assert "does not translate from de to en" in wrong(capsys, *back(teacher, text, out))
    assert "no such model" in wrong(capsys, *back(tmp_path / "nothing", text, out))
    assert not list(tmp_path.glob("out*")), "what was refused leaves nothing"
    out.write_text("mine")
    assert "back-translation did not write it" in wrong(capsys, *back(both, text, out))
    assert out.read_text() == "mine"


# --- distillation ----------------------------------------------------------------------------------------------------


def student(teacher: Path, out: Path, *more: object) -> list[str]:
    command = ["distill", teacher, "--out", out, "--preset", "tiny", "--steps", 2, "--beam", 1, *more, "--set"]
    return [str(each) for each in [*command, *TINY, *SHORT]]


def noisy(folder: Path) -> str:
    """References that the teacher would never write, so that what was learned from shows; a source twice."""
    lines = [f"{source}\t{target} !" for source, target in PAIRS] + [f"{SOURCES[0]}\tEtwas anderes."]
    return lines_file(folder / "pairs.tsv", lines)


def test_distillation(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    pairs, out = noisy(tmp_path), tmp_path / "out"
    test = lines_file(tmp_path / "test.tsv", [f"{source}\t{target}" for source, target in PAIRS[:6]])
    assert main(student(teacher, out, "--pairs", pairs, "--test-pairs", test)) == 0
    captured = capsys.readouterr()
    rows = {line.split("  ")[0]: line.split() for line in captured.out.splitlines()}
    assert rows["BLEU, test set"][3] == "100.00", "the teacher knows these by heart"
    assert "sentences/s, beam 4" in rows
    assert rows["engine"][1:] == ["plain", "plain"]
    recipe = json.loads((out / "recipe.json").read_text())
    assert (recipe["data"]["source_language"], recipe["data"]["target_language"]) == ("en", "de"), "the teacher's"
    [corpus] = recipe["data"]["train"]
    [path] = corpus["pairs"]
    learned = [tuple(line.split("\t")) for line in Path(path).read_text().splitlines()]
    [held_out] = pairs_of(Path(recipe["data"]["valid"][0]["pairs"][0]))
    assert set(learned) <= set(PAIRS), "the teacher's words, not the references'"
    assert len(learned) == len(set(learned)) == len(PAIRS) - 1, "each source once, but for the one held out"
    assert held_out[1].endswith(" !"), "validation is on what people wrote"
    assert held_out[0] not in dict(learned)
    result = json.loads((out / "distillation.json").read_text())
    assert result["teacher"]["parameters"] > result["student"]["parameters"] > 0
    assert result["scores"]["test set"]["teacher"]["bleu"] == pytest.approx(100)
    assert "## Distilled" in (out / "README.md").read_text()
    ok(capsys, "translate", "--model", out, "--device", "cpu", "The cat.")


def test_a_distillation_that_was_begun_translates_nothing_twice(
    teacher: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, out = noisy(tmp_path), tmp_path / "out"
    assert main(student(teacher, out, "--pairs", pairs)) == 0
    saved = {path: path.read_bytes() for path in (out / "distilled").rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        patch.setattr("headwise.decode.bulk.line_job.translate_lines", lambda *_, **__: pytest.fail("translated again"))
        assert main(student(teacher, out, "--pairs", pairs, "--steps", 4)) == 0
    assert {path: path.read_bytes() for path in (out / "distilled").rglob("*") if path.is_file()} == saved
    assert (out / "checkpoints" / "step-00000004").is_dir()
    assert (out / "README.md").read_text().count("## Distilled") == 1
    capsys.readouterr()


def test_a_student_that_is_trained_on_keeps_what_its_card_says(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert main(student(teacher, out, "--pairs", noisy(tmp_path))) == 0
    section = (out / "README.md").read_text().partition("## Distilled")[2]
    assert str(teacher) in section
    assert "has been trained on since" not in section
    ok(capsys, "train", "--out", out, "--steps", 3)
    card = (out / "README.md").read_text()
    assert card.partition("## Distilled")[2].startswith(section.rstrip())
    assert "compared at step 2 and has been trained on since" in card
    assert "3 steps" in card
    (out / "distillation.json").unlink()
    ok(capsys, "train", "--out", out, "--steps", 4)
    assert "## Distilled" not in (out / "README.md").read_text()


def test_translations_that_are_of_no_more_use_are_named(
    teacher: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stopped while it translates, and begun again in another way: nothing is refused, as nothing is trained yet."""
    pairs, out = noisy(tmp_path), tmp_path / "out"
    monkeypatch.setattr("headwise.interrupt.StopRequest.__bool__", lambda self: True)
    assert main(student(teacher, out, "--pairs", pairs)) == 130
    assert "translated again" not in capsys.readouterr().err
    assert main(student(teacher, out, "--pairs", pairs, "--keep-references")) == 130
    assert "all sources are translated again" in capsys.readouterr().err


def test_a_recipes_vocabulary_beside_the_teachers_tokenizer(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    recipe = tmp_path / "recipe.toml"
    recipe.write_text(f'[text]\nvocabulary = 300\n[[data.train]]\npairs = ["{noisy(tmp_path)}"]\n')
    command = student(teacher, tmp_path / "out", "--teacher-tokenizer")
    command.insert(2, str(recipe))
    command.remove("text.vocabulary=350")
    assert main(command) == 0
    assert "ignoring text.vocabulary of the recipe" in capsys.readouterr().err


def translations_of(out: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted((out / "distilled").glob("translations-*.tsv"))]


@pytest.mark.usefixtures("small_groups")
def test_parts_of_a_distillation(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    """Two corpora, translated in parts; whichever ends last trains, and ends as one alone would."""
    data = ["--pairs", noisy(tmp_path), "--text", lines_file(tmp_path / "more.en", [f"{each} !" for each in SOURCES])]
    alone, out = tmp_path / "alone", tmp_path / "out"
    assert main(student(teacher, alone, *data)) == 0
    assert len(translations_of(alone)) == 2
    capsys.readouterr()
    for number in (2, 3):
        assert main(student(teacher, out, *data, "--shard", f"{number}/3")) == 0
        said = capsys.readouterr().err
        assert f"part {number} of 3 is done; the last part to finish trains the student" in said
        assert re.search(rf"part {number} of 3: \d+ of \d+ lines", said)
    assert translations_of(out) == []
    assert main(student(teacher, out, *data, "--shard", "1/3")) == 0
    assert "million parameters" in capsys.readouterr().out
    assert translations_of(out) == translations_of(alone)
    assert not list((out / "distilled").glob("*.partial*"))
    assert load_file(out / "model.safetensors").keys() == load_file(alone / "model.safetensors").keys()
    with locked(out / ".lock"):
        assert main(student(teacher, out, *data, "--shard", "2/3")) == 0, "another part trains already"
        assert "part 2 of 3 is done" in capsys.readouterr().err
        assert main(student(teacher, out, *data)) == 2
        assert "is being trained by another process" in capsys.readouterr().err


def test_torchrun_distills(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    """Together they translate, and together they train."""
    text = lines_file(tmp_path / "text.en", [f"{each} {number}" for number in range(6) for each in SOURCES])
    alone, out = tmp_path / "alone", tmp_path / "out"
    same = "model.dropout=0.0"  # which each process would draw for itself
    assert main([*student(teacher, alone, "--text", text), same]) == 0
    expected = capsys.readouterr().out.splitlines()
    done = torchrun([*student(teacher, out, "--text", text), same])
    assert done.returncode == 0, done.stderr.decode()
    assert translations_of(out) == translations_of(alone)
    assert b"2 processes" in done.stderr
    shown = done.stdout.decode().splitlines()
    assert [line.split("  ")[0] for line in shown] == [line.split("  ")[0] for line in expected], "one table"
    assert (out / "distillation.json").exists()
    losses = [[record["nll"] for record in read_log(folder) if record["kind"] == "train"] for folder in (alone, out)]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert len(losses[0]) == 2


def test_references_beside_the_translations(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out"
    assert main(student(teacher, out, "--pairs", noisy(tmp_path), "--keep-references")) == 0
    recipe = json.loads((out / "recipe.json").read_text())
    translated, references = (Path(corpus["pairs"][0]) for corpus in recipe["data"]["train"])
    [held_out] = pairs_of(Path(recipe["data"]["valid"][0]["pairs"][0]))
    assert len(translated.read_text().splitlines()) == len(PAIRS) - 1
    kept = pairs_of(references)
    assert kept
    assert all(target.endswith(" !") or target == "Etwas anderes." for _, target in kept)
    assert held_out[0] not in dict(kept)
    capsys.readouterr()


def test_text_alone_and_the_teachers_tokenizer(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    text, out = lines_file(tmp_path / "text.en", [*SOURCES, "", SOURCES[0]]), tmp_path / "out"
    command = student(teacher, out, "--text", text, "--teacher-tokenizer")
    command.remove("text.vocabulary=350")
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "there are no references, or too few" in captured.err
    assert "BLEU" not in captured.out, "there is nothing to measure the two with"
    assert "million parameters" in captured.out
    [corpus] = json.loads((out / "recipe.json").read_text())["data"]["train"]
    assert dict(line.split("\t") for line in Path(corpus["pairs"][0]).read_text().splitlines()) == dict(PAIRS)
    assert (out / "tokenizer.model").read_bytes() == (teacher / "tokenizer.model").read_bytes()


def test_stopping_between_two_chunks(
    teacher: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headwise.interrupt.StopRequest.__bool__", lambda self: True)
    pairs, out = noisy(tmp_path), tmp_path / "out"
    assert main(student(teacher, out, "--pairs", pairs)) == 130
    assert "run the same command again to continue" in capsys.readouterr().err
    monkeypatch.undo()
    assert main(student(teacher, out, "--pairs", pairs)) == 0
    capsys.readouterr()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "nothing to translate"),
        (["--pairs", "x.tsv", "--from", "fr", "--to", "de"], "does not translate from fr to de"),
        (["--pairs", "x.tsv"], "x.tsv: no such file"),
        (["--source", "x"], "belong together"),
        (["--pairs", "x.tsv", "--test-source", "x"], "belong together"),
        (["--pairs", "x.tsv", "--preset", "gpt"], "cannot translate"),
        (["--pairs", "x.tsv", "--set", "data.both_directions=true"], "distill in one direction"),
        (["--pairs", "x.tsv", "--set", "train.steps=0"], "train.steps must be at least 1"),
        (["--text", "x.en", "--keep-references"], "--keep-references: there are none"),
        (["--pairs", "x.tsv", "--teacher-tokenizer", "--vocabulary", "9"], "leave out --vocabulary"),
        (["--pairs", "x.tsv", "--teacher-tokenizer", "--set", "text.kind=bpe"], "leave out --set text.kind"),
    ],
)
def test_distillation_refuses(teacher: Path, arguments: list[str], says: str, tmp_path: Path, capsys: Capture) -> None:
    assert says in wrong(capsys, "distill", teacher, "--out", tmp_path / "out", "--device", "cpu", *arguments)


def test_distillation_needs_a_folder_and_a_translator(teacher: Path, tmp_path: Path, capsys: Capture) -> None:
    assert "give --out DIR" in wrong(capsys, "distill", teacher, "--pairs", "x.tsv")
    assert "no such model" in wrong(capsys, "distill", tmp_path / "x", "--pairs", "x.tsv", "--out", tmp_path / "out")


def test_a_folder_of_something_else_is_refused_before_anything_is_translated(
    teacher: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs, out = noisy(tmp_path), tmp_path / "out"
    assert main(student(teacher, out, "--pairs", pairs)) == 0
    monkeypatch.setattr("headwise.decode.bulk.line_job.translate_lines", lambda *_, **__: pytest.fail("translated"))
    capsys.readouterr()
    assert main(student(teacher, out, "--pairs", pairs, "--beam", 3)) == 2
    assert "was started with another recipe" in capsys.readouterr().err
    assert main(student(teacher, teacher, "--pairs", pairs)) == 2
    assert "is the teacher's folder" in capsys.readouterr().err

"""Big files: whatever stops the work, and however many share it, the result is the same to the byte."""

import copy
import itertools
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwise.decode.bulk import grouping, line_job, merge, partial
from headwise.decode.bulk.grouping import Plan
from headwise.decode.bulk.line_job import BulkControl, LineJob
from headwise.decode.bulk.partial import Saved
from headwise.decode.bulk.share import WHOLE, Share
from headwise.decode.search.options import SamplingOptions
from headwise.decode.translation import TranslateOptions, Translation
from headwise.decode.translator import Translator
from headwise.errors import CheckpointError, ConfigError
from tests.taught import SOURCES, taught, translator

LINES = [*SOURCES[:5], "", *SOURCES[5:12], "The dog.", *SOURCES[:3]]
SAMPLED = TranslateOptions(sampling=SamplingOptions(), seed=3)
SETTINGS = {"model": "x", "beam": 1}
SMALL = Plan(window_lines=6, window_characters=1000, group_tokens=20)
"""Three windows, each of several groups."""


def row(number: int, text: str, found: Translation) -> str:
    return f"{number}\t{text}\t{found.text}\t{found.score!r}"


def job(out: Path, **how: Any) -> LineJob:
    settings: dict[str, Any] = {"lines": lambda: iter(LINES), "settings": SETTINGS, "options": SAMPLED, "row": row}
    return LineJob(out=out, **(settings | how))


def work(out: Path, **how: Any) -> bool:
    control = BulkControl(share=how.pop("share", WHOLE), stop=how.pop("stop", bool))
    settings = {"plan": how.pop("plan", SMALL), "save_every": how.pop("save_every", 0)}
    report = how.pop("progress", lambda saved: None)
    return line_job.translate_lines(translator(), job(out, **how), control, report, **settings)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The result of work that nothing happened to."""
    folder = tmp_path_factory.mktemp("whole")
    return made_in(folder / "whole.tsv")


def made_in(out: Path, **how: Any) -> bytes:
    assert work(out, **how)
    assert merge.merge(out)
    assert {path.name for path in out.parent.iterdir()} == {out.name, f"{out.name}.made.json"}
    return out.read_bytes()


class After:
    """Asks to stop after so many groups: `progress` is called once before them, `stop` after each."""

    def __init__(self, groups: int) -> None:
        self.left = groups + 1

    def progress(self, saved: Saved) -> None:
        self.left -= 1

    def stop(self) -> bool:
        return self.left <= 0


def stopped(out: Path, groups: int, **how: Any) -> None:
    after = After(groups)
    assert not work(out, progress=after.progress, stop=after.stop, **how)


GROUPS = sum(1 for _ in grouping.groups(iter(LINES), SMALL, 1))


def test_there_is_something_to_interrupt() -> None:
    assert GROUPS >= 8
    assert len(list(grouping.windows(iter(LINES), SMALL))) == 3


def test_a_line_each_in_order(expected: bytes) -> None:
    lines = expected.decode().split("\n")
    assert lines.pop() == ""
    columns = [line.split("\t") for line in lines]
    assert [text for _, text, *_ in columns] == LINES
    assert [int(number) for number, *_ in columns] == list(range(1, len(LINES) + 1))
    assert columns[5][2] == "", "an empty line stays one"


@pytest.mark.parametrize("groups", range(1, GROUPS, 2))
def test_stopping_and_going_on(expected: bytes, tmp_path: Path, groups: int) -> None:
    out, seen = tmp_path / "out.tsv", list[Saved]()
    stopped(out, groups)
    assert not out.exists()
    assert not merge.merge(out), "some lines are missing"
    assert work(out, progress=seen.append)
    assert len(seen) == GROUPS - groups + 1
    assert 0 < seen[0].lines < len(LINES), "what was done before is told first"
    assert seen[-1].lines == len(LINES)
    assert seen[-1].source_bytes == sum(map(len, LINES))
    assert merge.merge(out)
    assert out.read_bytes() == expected, "drawn at random, and yet the same"


class KilledError(Exception):
    pass


def dying(real: Any, calls: Iterator[int], call: int) -> Any:
    def maybe(*arguments: Any, **named: Any) -> Any:
        if next(calls) == call:
            raise KilledError
        return real(*arguments, **named)

    return maybe


@pytest.mark.parametrize("call", range(1, 40, 4))
def test_a_kill_between_any_two_writes(
    expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """What is on the disk at each moment is enough to go on."""
    out = tmp_path / "out.tsv"
    calls = itertools.count(1)
    with monkeypatch.context() as patch:
        patch.setattr(partial, "save_state", dying(partial.save_state, calls, call))
        patch.setattr(os, "fsync", dying(os.fsync, calls, call))
        with pytest.raises(KilledError):
            work(out)
    assert work(out)
    assert merge.merge(out)
    assert out.read_bytes() == expected


@pytest.mark.parametrize("call", range(1, 9))
@pytest.mark.parametrize("share", [WHOLE, Share(0, 2)], ids=["one", "two"])
def test_a_kill_while_it_is_finished(
    expected: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int, share: Share
) -> None:
    """Before the file is there it is made again; after that nothing but remains are removed."""
    out = tmp_path / "out.tsv"
    for each in share.all():
        assert work(out, share=each)
    calls = itertools.count(1)
    with monkeypatch.context() as patch:
        for holder, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
            patch.setattr(holder, name, dying(getattr(holder, name), calls, call))
        with pytest.raises(KilledError):
            merge.merge(out, share=share)
    for each in share.all():
        if not merge.is_finished(out, SETTINGS):
            assert work(out, share=each)
            merge.merge(out, share=each)
    assert out.read_bytes() == expected
    left = {path.name for path in tmp_path.glob("out*")}
    assert left == {"out.tsv", "out.tsv.made.json"}


@pytest.mark.parametrize("torn", [b"half a li", b'{"first":0}\nrow\n', b"\0" * 50])
def test_what_came_after_the_last_certain_byte_is_cut_off(expected: bytes, tmp_path: Path, torn: bytes) -> None:
    out = tmp_path / "out.tsv"
    stopped(out, 3)
    with partial.partial_path(out).open("ab") as file:
        file.write(torn)
    assert work(out)
    assert merge.merge(out)
    assert out.read_bytes() == expected


def test_saving_now_and_then_loses_only_what_came_after(expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"

    def dies(number: int, text: str, found: Translation) -> str:
        if number == len(LINES):
            raise KilledError
        return row(number, text, found)

    with pytest.raises(KilledError):
        work(out, row=dies, save_every=1000)
    assert partial.saved_by_all(out, WHOLE).lines == 0
    with pytest.raises(KilledError):
        work(out, row=dies)
    assert partial.saved_by_all(out, WHOLE).lines >= 6
    assert work(out, save_every=1000)
    assert merge.merge(out)
    assert out.read_bytes() == expected


def test_a_group_is_given_up_when_it_takes_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of several batches, the one at hand is searched to its end."""
    monkeypatch.setattr(line_job, "STOP_WITHIN", 0.0)
    options = TranslateOptions(beam=1, batch_tokens=1)  # a sentence each
    out, calls = tmp_path / "out.tsv", itertools.count()
    large = Plan(1000, 10_000, 10_000)
    assert not work(out, options=options, plan=large, stop=lambda: next(calls) > 2)
    assert partial.saved_by_all(out, WHOLE).lines == 0
    monkeypatch.setattr(line_job, "STOP_WITHIN", 1000.0)
    assert not work(out, options=options, plan=large, stop=lambda: True)
    assert partial.saved_by_all(out, WHOLE).lines == len(LINES)


# --- several processes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [2, 3, 40])
def test_the_number_of_processes_changes_nothing(expected: bytes, tmp_path: Path, count: int) -> None:
    """Not even what is drawn at random. With more processes than groups, some have nothing to do."""
    out = tmp_path / "out.tsv"
    shares = Share(0, count).all()
    random.Random(count).shuffle(shares)
    for share in shares[:-1]:
        assert work(out, share=share)
        assert not merge.merge(out, share=share)
    assert not out.exists()
    stopped_once = After(1)
    if not work(out, share=shares[-1], progress=stopped_once.progress, stop=stopped_once.stop):
        assert not merge.merge(out, share=shares[-1])
        assert work(out, share=shares[-1])
    assert partial.saved_by_all(out, shares[0]).lines == len(LINES)
    assert merge.merge(out, share=shares[-1])
    assert out.read_bytes() == expected
    for _ in shares:
        assert merge.is_finished(out, SETTINGS), "one that starts late has nothing to do"
    assert not merge.is_finished(out, {**SETTINGS, "beam": 2})
    assert not merge.is_finished(out, SETTINGS), "and something else was begun since"


@pytest.mark.parametrize("count", [1, 2])
def test_a_finished_file_that_was_changed_is_made_again(tmp_path: Path, count: int) -> None:
    out = tmp_path / "out.tsv"
    for share in Share(0, count).all():
        assert work(out, share=share)
    assert merge.merge(out, share=share)
    assert merge.is_finished(out, SETTINGS)
    out.write_text("mine")
    assert not merge.is_finished(out, SETTINGS)
    assert work(out, share=share), "nothing of the old work is in its way"


def test_a_record_that_is_damaged_says_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    made_in(out)
    merge.record_path(out).write_text(merge.record_path(out).read_text().replace('"beam": 1', '"beam": 4'))
    assert not merge.is_finished(out, {**SETTINGS, "beam": 4})


def test_work_that_was_begun_anew_is_not_taken_for_what_is_left_of_the_old(tmp_path: Path) -> None:
    """The file is gone, its record is not, and several processes start at the same moment."""
    out = tmp_path / "out.tsv"
    made_in(out)
    record = merge.record_path(out).read_bytes()
    out.unlink()
    assert not merge.is_finished(out, SETTINGS)
    stopped(out, 1, share=Share(0, 2))
    merge.record_path(out).write_bytes(record)  # as another process has read it a moment before
    assert not merge.is_finished(out, SETTINGS)
    assert partial.partial_path(out, Share(0, 2)).exists()


def test_processes_that_work_together_tell_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_job, "LOOK_EVERY", 0.0)
    out, told = tmp_path / "out.tsv", dict[int, list[Saved]]()
    for number in (1, 0):
        assert work(out, share=Share(number, 2, together=True), progress=told.setdefault(number, []).append)
    assert not told[1], "the first talks"
    assert 0 < told[0][0].lines < told[0][-1].lines <= len(LINES)
    assert partial.saved_by_all(out, Share(0, 2)).lines == len(LINES)


@pytest.mark.parametrize("count", [1, 3, 40])
def test_the_size_of_a_share(tmp_path: Path, count: int) -> None:
    out, found = tmp_path / "out.tsv", list[tuple[int, int]]()
    for share in Share(0, count).all():
        seen = list[Saved]()
        assert work(out, share=share, progress=seen.append)
        # By the plan that it was begun with.
        found.append(line_job.share_size(translator(), job(out), share))
        assert found[-1] == (seen[-1].lines, seen[-1].source_bytes)
    assert sum(lines for lines, _ in found) == len(LINES)
    assert sum(size for _, size in found) == sum(len(line.encode()) for line in LINES)


def test_shares_of_different_work_are_refused(expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    assert work(out, share=Share(0, 2))
    with pytest.raises(ConfigError, match="begun in 2 parts, not 3"):
        work(out, share=Share(1, 3))
    with pytest.raises(ConfigError, match="begun in 2 parts, not 1"):
        work(out)
    with pytest.raises(ConfigError, match="begun with beam 1, not 4"):
        work(out, share=Share(1, 2), settings={**SETTINGS, "beam": 4})
    assert work(out, share=Share(1, 2), plan=Plan(1, 1, 1)), "the plan that was begun with is used"
    assert merge.merge(out, share=Share(1, 2))
    assert out.read_bytes() == expected


def test_shares_begun_at_the_same_moment_with_other_settings_are_not_merged(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    one, other = Share(0, 2).all()
    assert work(out, share=one)
    state = partial.state_path(out, one)
    content = state.read_text()
    state.unlink()
    assert work(out, share=other, settings={**SETTINGS, "beam": 4})
    state.write_text(content)
    with pytest.raises(ConfigError, match="begun with beam 4, not 1"):
        merge.merge(out, share=other)
    assert not out.exists()


def test_a_part_that_is_done_writes_nothing_when_it_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others may be making the file of all parts meanwhile, and remove what they find."""
    out, one = tmp_path / "out.tsv", Share(0, 2)
    assert work(out, share=one)

    def refuse(*given: object) -> None:
        raise AssertionError("written")

    monkeypatch.setattr(partial, "save_state", refuse)
    assert work(out, share=one, lines=lambda: iter(()))


def test_what_killed_processes_were_writing_is_removed_when_nobody_writes_any_more(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    written = [tmp_path / f".{name}.7.writing" for name in ("out.tsv.partial-1-of-2.json", "out.tsv.made.json")]
    for share in Share(0, 2).all():
        assert work(out, share=share)
    for path in written:
        path.touch()
    assert merge.merge(out, share=Share(0, 2))
    assert not any(path.exists() for path in written)
    written[0].touch()
    assert not merge.is_finished(out, {**SETTINGS, "beam": 2})
    assert written[0].exists(), "by one who has just begun"


# --- what is refused -----------------------------------------------------------------------------------


def test_other_settings_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    stopped(out, 1)
    with pytest.raises(ConfigError, match="begun with beam 1, not 4"):
        work(out, settings={**SETTINGS, "beam": 4})


def test_settings_within_settings_are_named_one_by_one() -> None:
    before = {"beam": 1, "search": {"sampling": {"top_p": 0.9, "seed": 1}, "prefix": ""}}
    now = {"beam": 4, "search": {"sampling": {"top_p": 0.8, "seed": 1}, "prefix": "So"}}
    with pytest.raises(ConfigError, match=r"begun with beam 1, not 4, top p 0\.9, not 0\.8, prefix unset, not So"):
        partial.refuse_changes(Path("out.partial.json"), before, now)
    with pytest.raises(ConfigError, match=r"begun with sampling unset, not \(top p 0\.9, seed 1\): use"):
        partial.refuse_changes(Path("out.partial.json"), {"sampling": None}, {"sampling": {"top_p": 0.9, "seed": 1}})


def test_smaller_batches_may_go_on(tmp_path: Path) -> None:
    """After one that was too large for the memory."""
    out = tmp_path / "out.tsv"
    stopped(out, 3)
    options = TranslateOptions(sampling=SamplingOptions(), seed=3, batch_tokens=20)
    assert work(out, options=options, plan=Plan(7, 1000, 50))
    assert merge.merge(out)
    assert [line.split("\t")[1] for line in out.read_text().splitlines()] == LINES


def test_damage_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    stopped(out, 2)
    path, state = partial.partial_path(out), partial.state_path(out)
    content, before = path.read_bytes(), state.read_text()
    path.write_bytes(content[:10])
    with pytest.raises(CheckpointError, match="10 bytes, but"):
        work(out)
    path.unlink()
    with pytest.raises(CheckpointError, match="0 bytes, but"):
        work(out)
    path.write_bytes(content)
    old = json.dumps({"lines": 4, "bytes": 10, "chunk": 1024, "made": SETTINGS})
    for damaged in ("[]", "{}", old, '{"format": 2, "made": 3, "plan": {}, "done": {}}', '{"li', before[:-30] + "}"):
        state.write_text(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            work(out)
    state.write_text(re.sub(r'"bytes": \d+', '"bytes": 3', before))
    with pytest.raises(CheckpointError, match=r"damaged, or of another version: remove .* to start anew"):
        work(out)
    state.unlink()
    with pytest.raises(CheckpointError, match=r"its state file out.tsv.partial.json is missing: remove it"):
        work(out)
    path.unlink()
    assert work(out)


def test_no_byte_of_a_partial_result_can_change_unseen(expected: bytes, tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    assert work(out)
    path = partial.partial_path(out)
    content = path.read_bytes()
    rng = random.Random(0)
    for place in rng.sample(range(len(content)), 60):
        path.write_bytes(content[:place] + bytes([content[place] ^ 1 << rng.randrange(7)]) + content[place + 1 :])
        with pytest.raises(CheckpointError, match=r"damaged at byte|lines are missing"):
            merge.merge(out)
    assert not out.exists()
    path.write_bytes(content)
    assert merge.merge(out)
    assert out.read_bytes() == expected


def test_a_state_that_appears_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process writes its first state between a failed read and the look whether there is one."""
    path = tmp_path / "out.tsv.partial-1-of-2.json"
    state = partial.PartialState({}, Plan(4, 400, 100), Saved())
    read = partial.read_table

    def late(asked: Path) -> dict[str, Any]:
        try:
            return read(asked)
        finally:
            partial.save_state(path, state)

    monkeypatch.setattr(partial, "read_table", late)
    assert partial.read_if_there(path) is None
    assert partial.read_if_there(path) == state


def test_one_process_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"

    def lines() -> Iterator[str]:
        yield LINES[0]
        with pytest.raises(ConfigError, match="another process is writing it"):
            work(out)
        yield LINES[1]

    assert work(out, lines=lines, plan=Plan(1, 1000, 20))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        work(tmp_path / "nowhere" / "out.tsv")


def test_nothing_to_translate(tmp_path: Path) -> None:
    assert made_in(tmp_path / "out", lines=lambda: iter([])) == b""


# --- how lines are grouped -----------------------------------------------------------------------------


def test_groups_have_similar_lengths_and_costs() -> None:
    rng = random.Random(1)
    lines = ["x" * rng.choice([*range(400), 20_000]) + "é" for _ in range(3000)]
    plan = Plan(1000, 2_000_000, 2000)
    found = list(grouping.groups(iter(lines), plan, 4))
    assert [group.number for group in found] == list(range(len(found)))
    placed = [group.first_line + place for group in found for place in group.lines]
    assert sorted(placed) == list(range(len(lines)))
    for group in found:
        assert [lines[group.first_line + place] for place in group.lines] == group.texts
        cost = sum(len(text.encode()) // 4 + 2 for text in group.texts)
        assert len(group.texts) == 1 or cost <= 500
    padding = sum(len(group.texts) * len(group.texts[0]) - sum(map(len, group.texts)) for group in found)
    assert padding < 0.05 * sum(map(len, lines))
    middle = found[len(found) // 2]
    there = grouping.groups(iter(lines), plan, 4, first_line=middle.first_line, first_group=middle.first_group)
    again = [group for group in there if group.number >= middle.number]
    assert again == found[middle.number :]


def test_a_window_is_bounded_by_its_text() -> None:
    lines = ["x" * 600, "y" * 600, "z" * 100, "", *["w"] * 20]
    found = list(grouping.windows(iter(lines), Plan(8, 1000, 1)))
    assert [line for window in found for line in window] == lines
    assert [len(window) for window in found] == [1, 8, 8, 7]


def test_the_digest_names_weights_and_tokenizer() -> None:
    one, again, other = translator(), translator(), translator(both_directions=True)
    assert one.model_digest() == again.model_digest() != other.model_digest()
    changed = Translator(copy.deepcopy(taught(steps=0)), device="cpu")
    before = changed.model_digest()
    next(changed.model.parameters()).data[0] += 1e-3
    assert changed.model_digest() != before


def test_the_state_can_be_read(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    stopped(out, 2)
    state = json.loads(partial.state_path(out).read_text())
    assert 0 < state["saved"]["lines"] < len(LINES)
    assert state["saved"]["bytes"] == partial.partial_path(out).stat().st_size
    assert state["settings"] == SETTINGS

"""Big files: whatever stops the work, the result is the same to the byte, with no line lost or doubled."""

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwise.decode import bulk
from headwise.decode.sampling import SamplingOptions
from headwise.decode.translator import TranslateOptions, Translation, Translator
from headwise.errors import CheckpointError, ConfigError
from tests.taught import SOURCES, taught, translator

LINES = [*SOURCES[:5], "", *SOURCES[5:12], "The dog.", *SOURCES[:3]]
SAMPLED = TranslateOptions(sampling=SamplingOptions(), seed=3, alignments=False)
MADE = {"model": "x", "beam": 1}


def row(text: str, found: Translation) -> str:
    return f"{text}\t{found.text}"


def work(out: Path, **how: Any) -> bool:
    settings: dict[str, Any] = {"options": SAMPLED, "made": MADE, "languages": (None, None), "row": row, "chunk": 4}
    return bulk.translate_lines(translator(), iter(LINES), out, **(settings | how))


def whole(folder: Path) -> bytes:
    out = folder / "whole.tsv"
    assert work(out)
    bulk.finish(out)
    assert sorted(path.name for path in folder.iterdir()) == ["whole.tsv"]
    return out.read_bytes()


def test_a_line_each_in_order(tmp_path: Path) -> None:
    lines = whole(tmp_path).decode().split("\n")
    assert [line.split("\t")[0] for line in lines] == [*LINES, ""]
    assert lines[5] == "\t", "an empty line stays one"


@pytest.mark.parametrize("chunks", [1, 2, 4])
def test_stopping_and_going_on(tmp_path: Path, chunks: int) -> None:
    expected = whole(tmp_path)
    out, seen = tmp_path / "out.tsv", []
    left = iter([False] * (chunks - 1) + [True])
    assert not work(out, stop=lambda: next(left))
    assert not out.exists()
    assert work(out, progress=seen.append)
    assert seen[0] == 4 * chunks, "what was done before is told first"
    assert seen[-1] == len(LINES)
    bulk.finish(out)
    assert out.read_bytes() == expected, "drawn at random, and yet the same"


class KilledError(Exception):
    pass


@pytest.mark.parametrize("call", range(1, 12))
def test_a_kill_between_any_two_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """What is on the disk at each moment is enough to go on."""
    expected = whole(tmp_path)
    out = tmp_path / "out.tsv"
    calls = iter(range(1, 1000))

    def dying(real: Any) -> Any:
        def maybe(*arguments: Any, **named: Any) -> Any:
            if next(calls) == call:
                raise KilledError
            return real(*arguments, **named)

        return maybe

    with monkeypatch.context() as patch:
        patch.setattr(bulk, "_save", dying(bulk._save))
        patch.setattr(os, "fsync", dying(os.fsync))
        with pytest.raises(KilledError):
            work(out)
    assert work(out)
    bulk.finish(out)
    assert out.read_bytes() == expected


@pytest.mark.parametrize("torn", [b"half a li", b"one\tline\ntwo\tlines\n", b"\0" * 50])
def test_what_came_after_the_last_certain_byte_is_cut_off(tmp_path: Path, torn: bytes) -> None:
    expected = whole(tmp_path)
    out = tmp_path / "out.tsv"
    assert not work(out, stop=lambda: True)
    with bulk.partial_path(out).open("ab") as file:
        file.write(torn)
    assert work(out)
    bulk.finish(out)
    assert out.read_bytes() == expected


def test_other_settings_are_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    work(out, stop=lambda: True)
    with pytest.raises(ConfigError, match="begun with beam 1, not 4"):
        work(out, made={**MADE, "beam": 4})
    with pytest.raises(ConfigError, match="begun with chunk 4, not 5"):
        work(out, chunk=5)


def test_damage_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    work(out, stop=lambda: True)
    partial, state = bulk.partial_path(out), bulk.state_path(out)
    content = partial.read_bytes()
    partial.write_bytes(content[:10])
    with pytest.raises(CheckpointError, match="10 bytes, but"):
        work(out)
    partial.write_bytes(content)
    for damaged in ("[]", "{}", '{"lines": null}', '{"lines": 3, "bytes": 5, "made": 3, "chunk": 4}', '{"li'):
        state.write_text(damaged)
        with pytest.raises(CheckpointError, match="damaged"):
            work(out)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"

    def lines() -> Iterator[str]:
        yield LINES[0]
        with pytest.raises(ConfigError, match="another process is writing it"):
            work(out)
        yield LINES[1]

    assert bulk.translate_lines(
        translator(), lines(), out, languages=(None, None), options=SAMPLED, made=MADE, row=row, chunk=1
    )


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        work(tmp_path / "nowhere" / "out.tsv")


def test_the_digest_names_weights_and_tokenizer() -> None:
    one, again, other = translator(), translator(), translator(both_directions=True)
    assert bulk.model_digest(one) == bulk.model_digest(again) != bulk.model_digest(other)
    changed = Translator(copy.deepcopy(taught(steps=0)), "cpu")
    before = bulk.model_digest(changed)
    next(changed.model.parameters()).data[0] += 1e-3
    assert bulk.model_digest(changed) != before


def test_the_state_can_be_read(tmp_path: Path) -> None:
    out = tmp_path / "out.tsv"
    work(out, stop=lambda: True)
    state = json.loads(bulk.state_path(out).read_text())
    assert state["lines"] == 4
    assert state["bytes"] == bulk.partial_path(out).stat().st_size

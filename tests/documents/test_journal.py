"""The journal of a translation: what was stored comes back, and what a kill cut off does not."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from headwise.documents.journal import Journal, Stored, journal_path
from headwise.documents.marked_text import MarkedText
from tests.documents.marked_texts import marked_texts

IDENTITY = {"input": "digest", "target": "de"}


def stored(path: Path, segments: list[MarkedText]) -> Path:
    """A journal in which each segment is its own translation, one line each."""
    journal = Journal(path, IDENTITY, segments)
    for number, segment in enumerate(segments):
        journal.add([Stored(segment, [f"note {number}"])])
    journal.close()
    return path


@settings(deadline=None, max_examples=25)
@given(st.lists(marked_texts(), min_size=1, max_size=5), st.integers(0, 60))
def test_whole_lines_come_back_and_the_rest_is_written_again(segments: list[MarkedText], cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = stored(journal_path(Path(folder) / "out.docx"), segments)
        data = path.read_bytes()
        path.write_bytes(data[: len(data) - cut])
        journal = Journal(path, IDENTITY, segments)
        done = len(journal.done)
        assert journal.done == [Stored(segment, [f"note {number}"]) for number, segment in enumerate(segments[:done])]
        assert done == len(segments) if cut == 0 else done < len(segments)
        journal.add([Stored(segment, [f"note {number + done}"]) for number, segment in enumerate(segments[done:])])
        journal.close()
        again = Journal(path, IDENTITY, segments)
        assert [each.text for each in again.done] == segments
        again.remove()
        assert not path.exists()


def test_other_work_starts_anew(tmp_path: Path) -> None:
    path = stored(tmp_path / "journal", [MarkedText(["one"])])
    journal = Journal(path, IDENTITY | {"target": "fr"}, [MarkedText(["one"])])
    assert journal.done == []
    journal.close()

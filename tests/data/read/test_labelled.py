"""Labelled text: every format gives the same examples, errors name the line, batches are whole and resumable."""

import itertools
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headwise.config import ClassifyConfig, CorpusConfig, DataConfig
from headwise.data.batch.labelled_batches import LabelledSet, LabelledStream, encode_labelled, joined, shortened
from headwise.data.batch.stream import Position, batches_from
from headwise.data.read.labelled import Example, class_names, class_numbers, read_labelled, value
from headwise.errors import ConfigError, DataError
from tests.data.conftest import Write

ROWS = [('He said "no', "never, ever", "1"), ("second", 'a "quoted" word', "0"), ("third's", "tab-free", "1")]


def read(path: Path, **columns: Any) -> list[Example]:
    return list(read_labelled(CorpusConfig(labelled=(str(path),)), DataConfig(), ClassifyConfig(**columns)))


def quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


TSV = "\n".join("\t".join(row) for row in ROWS) + "\n"
CSV = "\n".join(",".join(map(quoted, row)) for row in ROWS) + "\n"
JSON = "\n".join(json.dumps(dict(zip(("a", "b", "label"), row, strict=True))) for row in ROWS)
NAMED = {"text": "a", "pair": "b"}
NUMBERED = {"text": "0", "pair": "1", "label": "2", "header": False}


@pytest.mark.parametrize(
    ("name", "content", "columns", "first_line"),
    [
        ("x.tsv", "a\tb\tlabel\n" + TSV, NAMED, 2),
        ("x.tsv", TSV, NUMBERED, 1),
        ("x.txt", "a\tb\tlabel\r\n" + TSV.replace("\n", "\r\n"), NAMED, 2),
        ("x.csv", "a,b,label\n" + CSV, NAMED, 2),
        ("x.csv", CSV, NUMBERED, 1),
        ("x.jsonl", JSON, NAMED, 1),
        ("x.tsv.xz", lzma.compress(TSV.encode()), NUMBERED, 1),
    ],
)
def test_every_format_gives_the_same_examples(
    write: Write, name: str, content: str | bytes, columns: dict[str, Any], first_line: int
) -> None:
    path = write(name, content)
    examples = read(path, **columns)
    assert [example[:3] for example in examples] == ROWS
    assert [example.where for example in examples] == [f"{path}:{first_line + i}" for i in range(3)]


def test_a_csv_field_may_hold_lines_and_the_numbers_go_on(write: Write) -> None:
    path = write("x.csv", 'sentence,label\n"one\ntwo",1\n\nthree,0\n')
    assert [(e.first, e.line) for e in read(path)] == [("one\ntwo", 2), ("three", 5)]


def test_further_columns_do_not_matter_and_one_text_has_no_second(write: Write) -> None:
    path = write("x.tsv", "id\tsentence\tlabel\n1\tyes\ta\tmore\tand more\n")
    assert read(path) == [Example("yes", None, "a", str(path), 2)]


@pytest.mark.parametrize("columns", [{}, {"text": "text"}, {"text": "1"}, {"text": "1", "label": "0"}])
def test_a_column_is_found_by_its_usual_name_by_name_and_by_number(write: Write, columns: dict[str, Any]) -> None:
    path = write("x.tsv", "label\ttext\n1\tgood\n0\tbad\n")
    assert [example[:3] for example in read(path, **columns)] == [("good", None, "1"), ("bad", None, "0")]


def test_labels_of_json_may_be_numbers(write: Write) -> None:
    path = write("x.jsonl", '{"sentence": "a", "label": 1}\n\n{"sentence": "b", "label": 2.5}\n')
    assert [(e.label, e.line) for e in read(path)] == [("1", 1), ("2.5", 3)]


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("x.tsv", "words\tlabel\na\t1\n", "x.tsv:2: no column 'sentence'; there are: 'words', 'label'. Choose with"),
        ("x.tsv", "sentence\tlabel\na\t1\nb\n", "x.tsv:3: no column 'label'"),
        ("x.tsv", "sentence\tlabel\na\t1\n  \t1\n", "x.tsv:3: the text in column 'sentence' is empty"),
        ("x.tsv", "sentence\tlabel\na\t \n", "x.tsv:2: the label in column 'label' is empty"),
        ("x.csv", 'sentence,label\na,1\n"b,1\n', "x.csv:3: not valid CSV"),
        ("x.jsonl", '{"sentence": "a", "label": 1}\nnonsense', "x.jsonl:2: not a JSON object"),
        ("x.jsonl", '{"sentence": 5, "label": 1}', "x.jsonl:1: column 'sentence' is not text"),
        ("x.jsonl", '{"sentence": "a", "label": null}', "x.jsonl:1: the label"),
        ("x.parquet", "", "unknown extension"),
    ],
)
def test_errors_name_the_file_and_the_line(write: Write, name: str, content: str, problem: str) -> None:
    with pytest.raises(DataError, match=problem.replace("(", r"\(")):
        read(write(name, content))


def test_a_corpus_without_files_is_an_error() -> None:
    with pytest.raises(DataError, match="give `labelled`"):
        list(read_labelled(CorpusConfig(), DataConfig(), ClassifyConfig()))


def examples(labels: Sequence[str], texts: Sequence[str] | None = None) -> list[Example]:
    texts = texts or [f"text {i}" for i in range(len(labels))]
    return [Example(text, None, label, "f", i) for i, (text, label) in enumerate(zip(texts, labels, strict=True))]


def test_classes_are_sorted_numbers_by_value() -> None:
    assert class_names(examples(["10", "9", "-1", "10"])) == ("-1", "9", "10")
    assert class_names(examples(["b", "a", "10"])) == ("10", "a", "b")
    number = class_numbers(("a", "b"))
    assert [number(example) for example in examples(["b", "a"])] == [1, 0]
    with pytest.raises(DataError, match="f:0: the label 'c' is not in the training data"):
        number(examples(["c"])[0])
    with pytest.raises(DataError, match="two classes"):
        class_names(examples(["a", "a"]))


def test_values_of_a_regression_are_numbers() -> None:
    assert [value(example) for example in examples(["1.5", "-2e1"])] == [1.5, -20]
    for label in ("much", "nan", "inf"):
        with pytest.raises(DataError, match=f"f:0: the label '{label}' is not a number"):
            value(examples([label])[0])


def test_the_longer_text_is_cut_first() -> None:
    for first, second, room in itertools.product(range(8), range(8), range(1, 12)):
        left, right = first, second
        while left + right > room:
            left, right = (left - 1, right) if left > right else (left, right - 1)
        assert shortened(first, second, room) == (left, right), (first, second, room)


class Letters:
    """A token a letter; the texts are framed as BERT's are."""

    pad = 0

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        return [[ord(letter) for letter in text] for text in texts]

    def frame(self, first: list[int], second: list[int] | None = None) -> tuple[list[int], list[int]]:
        more = [] if second is None else [*second, 2]
        return [1, *first, 2, *more], [0] * (len(first) + 2) + [1] * len(more)


def encoded(count: int, seed: int = 0, **settings: Any) -> LabelledSet:
    rng = np.random.default_rng(seed)
    texts = ["x" * int(n) for n in rng.integers(1, 30, count)]
    settings = {"max_tokens": 100, "regression": False, "number": class_numbers(("a", "b")), **settings}
    return encode_labelled(examples(["a", "b"] * (count // 2), texts), Letters(), **settings)


def test_rows_are_framed_cut_and_counted() -> None:
    pair = [Example("abcdef", "xyz", "1", "f", 1), Example("ab", "x", "0", "f", 2)]
    whole = encode_labelled(pair, Letters(), value, 12, True)
    assert whole.truncated == 0
    assert whole.labels.dtype == np.float32
    cut = encode_labelled(pair, Letters(), value, 8, True)
    assert cut.truncated == 1
    assert cut.ids[0].tolist() == [1, *map(ord, "abc"), 2, *map(ord, "xy"), 2]
    assert cut.segments[0].tolist() == [0] * 5 + [1] * 3
    assert cut.digest != whole.digest
    batch = cut.batch(np.array([0, 1]))
    assert batch.tokens[1].tolist() == [1, *map(ord, "ab"), 2, ord("x"), 2, 0, 0]
    assert batch.segments[1].tolist() == [0, 0, 0, 0, 1, 1, 0, 0]
    assert batch.count == 2
    with pytest.raises(ConfigError, match="no room"):
        encode_labelled(pair, Letters(), value, 4, True)


def test_validation_sees_every_example_once() -> None:
    data = encoded(50)
    seen = [i for batch in data.in_order(60) for i in batch.examples]
    assert sorted(seen) == list(range(50))
    assert sorted(i for batch in data.in_order(60, 7) for i in batch.examples) == list(range(7))
    for batch in data.in_order(60):
        assert batch.tokens.numel() <= 60
        for row, i in enumerate(batch.examples):
            assert batch.tokens[row, : len(data.ids[i])].tolist() == data.ids[i].tolist()
            assert (batch.tokens[row, len(data.ids[i]) :] == 0).all()
            assert batch.labels[row] == data.labels[i]


@pytest.mark.parametrize("settings", [{"batch_tokens": 64}, {"batch_tokens": 64, "examples": 7}])
def test_an_epoch_is_every_example_in_a_seeded_order_that_resumes(settings: dict[str, int]) -> None:
    sets = [encoded(30), encoded(24, seed=1)]
    stream = LabelledStream(sets, [1.0, 2.0], 3, **settings, pool=20)
    length = len(list(stream.epoch(0)))
    taken = list(itertools.islice(batches_from(stream), length + 3))
    first = [i for batch, _ in taken[:length] for i in batch.examples]
    assert sorted(first) == sorted([*range(30), *range(30, 54), *range(30, 54)])
    assert taken[length - 1][1] == Position(1, 0)
    for start in (0, 2, length - 1):
        again = LabelledStream(sets, [1.0, 2.0], 3, **settings, pool=20)
        follow = list(itertools.islice(batches_from(again, taken[start][1]), 3))
        for (batch, position), (other, other_position) in zip(follow, taken[start + 1 :], strict=False):
            assert torch.equal(batch.tokens, other.tokens)
            assert torch.equal(batch.labels, other.labels)
            assert position == other_position
    other_seed = LabelledStream(sets, [1.0, 2.0], 4, **settings, pool=20)
    assert [b.examples for b, _ in itertools.islice(batches_from(other_seed), length)] != [b.examples for b, _ in taken]
    for batch, _ in taken:
        assert len(batch.examples) <= 7 if "examples" in settings else batch.tokens.numel() <= 64
    assert stream.lines(taken[0][0]) == [joined(sets).where[i] for i in taken[0][0].examples]


def test_a_stream_of_nothing_is_an_error() -> None:
    with pytest.raises(DataError, match="no training examples"):
        LabelledStream([encoded(4)], [0.0], 1, batch_tokens=64)
    with pytest.raises(DataError, match="negative"):
        LabelledStream([encoded(4)], [-1.0], 1, batch_tokens=64)

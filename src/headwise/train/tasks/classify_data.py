"""Labelled examples of a recipe: read, split into training and validation, and encoded."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headwise.config import CorpusConfig, Recipe
from headwise.data.batch.labelled_batches import LabelledSet, encode_labelled
from headwise.data.prepare.fingerprint import hash_files
from headwise.data.prepare.held_out import hold_out_examples
from headwise.data.prepare.result import SourceFile
from headwise.data.read.labelled import Example, class_numbers, read_labelled, value
from headwise.data.read.paths import recipe_path
from headwise.errors import DataError
from headwise.models.folder.config_file import CONFIG
from headwise.text.kinds import load_tokenizer, train_tokenizer
from headwise.text.tokenizer import Tokenizer
from headwise.train.job import Say
from headwise.train.run_folder import data_folder


@dataclass(frozen=True)
class Texts:
    """Examples as read, one list per corpus; `valid` is one set, and may be empty."""

    train: list[list[Example]]
    valid: list[Example]
    test: list[list[Example]]


def read_texts(recipe: Recipe, say: Say) -> Texts:
    def read(corpora: Sequence[CorpusConfig]) -> list[list[Example]]:
        return [list(read_labelled(corpus, recipe.data, recipe.classify)) for corpus in corpora]

    if not recipe.data.train:
        raise DataError("no training data: give [[data.train]] with `labelled`")
    train, test = read(recipe.data.train), read(recipe.data.test)
    valid = [example for corpus in read(recipe.data.valid) for example in corpus]
    if not recipe.data.valid:
        _, valid = hold_out_examples(
            [example for corpus in train for example in corpus], recipe.data.held_out, recipe.seed
        )
        held_out = {example[:2] for example in valid}
        train = [[example for example in corpus if example[:2] not in held_out] for corpus in train]
        say(f"{len(valid):,} examples are held out of the training data for validation")
    return Texts(train, valid, test)


def own_tokenizer(recipe: Recipe, train: Sequence[Sequence[Example]], run: Path, say: Say) -> Tokenizer:
    """The tokenizer that is trained on the texts; a run that is continued has it already."""
    if (run / CONFIG).exists():
        return load_tokenizer(run)
    say("training the tokenizer")
    texts = (text for corpus in train for example in corpus for text in example[:2] if text)
    return train_tokenizer(recipe.text, texts, ())


@dataclass(frozen=True)
class Data:
    """Encoded examples."""

    train: list[LabelledSet]
    valid: LabelledSet | None
    test: list[LabelledSet]


def encode(recipe: Recipe, texts: Texts, tokenizer: Tokenizer, classes: tuple[str, ...], say: Say) -> Data:
    number = class_numbers(classes) if classes else value
    room = recipe.data.max_tokens
    if recipe.model.positions.kind == "learned":
        room = min(room or recipe.model.positions.max_positions, recipe.model.positions.max_positions)

    def encoded(examples: list[Example]) -> LabelledSet:
        return encode_labelled(examples, tokenizer, number, room, recipe.classify.regression)

    valid = encoded(texts.valid) if texts.valid else None
    data = Data([encoded(each) for each in texts.train], valid, [encoded(each) for each in texts.test])
    every = [*data.train, *data.test, *([valid] if valid else [])]
    if truncated := sum(each.truncated for each in every):
        say(f"{truncated:,} of {sum(map(len, every)):,} examples were cut to {room:,} tokens")
    return data


def files(recipe: Recipe, texts: Texts, run: Path, say: Say) -> list[SourceFile]:
    """The files that the examples were read from, for the model card."""
    counts: dict[str, int] = {}
    for examples in (*texts.train, *([texts.valid] if recipe.data.valid else []), *texts.test):
        for example in examples:
            counts[example.file] = counts.get(example.file, 0) + 1
    parts = (("train", recipe.data.train), ("valid", recipe.data.valid), ("test", recipe.data.test))
    named = [
        (recipe_path(recipe.data.folder, name), corpus.licence, role)
        for role, corpora in parts
        for corpus in corpora
        for name in corpus.labelled
    ]
    cache = data_folder(recipe, run)
    hashes = hash_files([path for path, *_ in named], cache, say)
    return [SourceFile(str(path), hashes[path], counts.get(str(path), 0), *rest) for path, *rest in named]

"""Files beside the weights of an exported model, so that it can be used without Headwise."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from headwise.errors import ConfigError
from headwise.files.atomic import write_json, write_text
from headwise.models.folder.description import LoadedModel
from headwise.text.published.hf_tokenizer import DESCRIPTION, HfTokenizer, parse
from headwise.text.published.mapped import SOURCE, TABLE, TARGET, TARGET_TABLE, Mapped
from headwise.text.stored import MODEL_NAME
from headwise.text.tokenizer import Tokenizer
from headwise.text.trained.subwords import Bpe, Unigram

FACTS, PROGRAM, README = "translation.json", "translate.py", "README.md"
PROGRAMS = Path(__file__).parent / "programs"


def write_sidecar(loaded: LoadedModel, folder: Path, precision: str, name: str) -> None:
    """Write tokenizer and README and, for a translator, the tokens around texts and a program that uses it."""
    assert loaded.tokenizer is not None
    write_tokenizer(loaded.tokenizer, folder)
    how = text_facts(loaded.tokenizer)
    if loaded.task.kind != "translation":
        write_text(folder / README, _generator_readme(name, precision, how))
        return
    write_json(folder / FACTS, {"precision": precision, "text": how, **_direction_facts(loaded)})
    shutil.copyfile(PROGRAMS / PROGRAM, folder / PROGRAM)
    write_text(folder / README, _readme(loaded, name, precision, how))


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the tokenizer in its published files, or in ours if it has none."""
    if isinstance(tokenizer, HfTokenizer | Mapped):
        tokenizer.save_published(folder)
    else:
        tokenizer.save(folder)


def text_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """Which package tokenises text, from which files, and how text is preprocessed."""
    facts: dict[str, Any] = {"normalised": not tokenizer.keeps_text, "escaped": False}
    if isinstance(tokenizer, Unigram | Bpe):
        return {"by": "sentencepiece", "source": MODEL_NAME, "target": MODEL_NAME, **facts, "escaped": True}
    if isinstance(tokenizer, Mapped):
        published: dict[str, str] = tokenizer.parts.settings["published"]
        source = published[SOURCE]
        return {"by": "sentencepiece", "source": source, "target": published.get(TARGET, source), **facts}
    if isinstance(tokenizer, HfTokenizer):
        return {"by": "tokenizers", "source": "tokenizer.json", "plain": not tokenizer.finds_specials, **facts}
    return {"by": "headwise", **facts, "normalised": False}


def _directions(loaded: LoadedModel) -> list[dict[str, Any]]:
    """For each direction, the ids before and after a source, and those that a translation starts with."""
    tokenizer, task = loaded.tokenizer, loaded.task
    assert tokenizer is not None
    found = []
    for source, target in task.directions:
        languages = (source or (*task.sources, "")[0], target) if task.tags else ("", "")
        before, after = tokenizer.source_frame(*languages)
        start = [tokenizer.decoder_start(languages[1]), *tokenizer.target_start(languages[1])]
        found.append({"source": source, "target": target, "before": before, "after": after, "start": start})
    return found


def _sources(loaded: LoadedModel) -> list[dict[str, Any]]:
    """For each source language, the ids before and after a source; empty if every direction names its source."""
    tokenizer, task = loaded.tokenizer, loaded.task
    assert tokenizer is not None
    if all(source for source, _ in task.directions):
        return []
    framed = ((source, *tokenizer.source_frame(source, task.targets[0])) for source in task.sources)
    return [{"source": source, "before": before, "after": after} for source, before, after in framed]


def _named(loaded: LoadedModel, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Directions or sources with tokens in place of ids."""
    assert loaded.tokenizer is not None
    source, target = vocabularies(loaded.tokenizer, loaded.description.rows)
    names = {"before": source, "after": source, "start": target}
    return [
        {key: [names[key][i] for i in value] if key in names else value for key, value in each.items()} for each in rows
    ]


def _direction_facts(loaded: LoadedModel) -> dict[str, Any]:
    """The tokens around texts by direction, without those that CTranslate2 adds itself."""
    assert loaded.tokenizer is not None
    begins, ends = added_to_source(loaded)
    started = decoder_start(loaded, vocabularies(loaded.tokenizer, loaded.description.rows)[1]) is not None
    directions, sources = _named(loaded, _directions(loaded)), _named(loaded, _sources(loaded))
    for each in directions:
        each["start"] = each["start"][1:] if started else each["start"]
    for each in (*directions, *sources):
        each["before"] = [] if begins else each["before"]
        each["after"] = [] if ends else each["after"]
    return {"directions": directions, "sources": sources, "starts": started}


def added_to_source(loaded: LoadedModel) -> tuple[bool, bool]:
    """Whether CTranslate2 itself adds the one token that begins every source, and EOS after it."""
    assert loaded.tokenizer is not None
    before, after = source_frame(loaded)
    return len(before) == 1 and not loaded.task.tags, after == [loaded.tokenizer.eos]


def decoder_start(loaded: LoadedModel, target: Sequence[str]) -> str | None:
    """The first token of a decoder; None if it depends on the target language."""
    assert loaded.tokenizer is not None
    languages = set(loaded.task.targets) if loaded.task.tags else {""}
    starts = {loaded.tokenizer.decoder_start(language) for language in languages}
    return target[starts.pop()] if len(starts) == 1 else None


def source_frame(loaded: LoadedModel) -> tuple[list[int], list[int]]:
    """The ids before and after a source in the first direction."""
    assert loaded.tokenizer is not None
    if not loaded.task.tags:
        return loaded.tokenizer.source_frame("", "")
    source, target = loaded.task.directions[0]
    return loaded.tokenizer.source_frame(source or (*loaded.task.sources, "")[0], target)


def _readme(loaded: LoadedModel, name: str, precision: str, how: dict[str, Any]) -> str:
    return (
        f"# {name}, for CTranslate2\n\n"
        f"A translator ({loaded.task.known_directions}) in {precision}, written by Headwise.\n\n"
        f"```sh\npip install ctranslate2 {how['by']}\n"
        f"python {PROGRAM}{loaded.task.how_to_ask} < source.txt > target.txt\n```\n\n"
        "- `model.bin`, `config.json`, `*_vocabulary.json`: what `ctranslate2.Translator` loads.\n"
        f"- `{FACTS}`: the tokens around a source and at the start of a translation, and how text is tokenised.\n"
        f"- `{PROGRAM}`: a program that uses all of it, to start from. It translates a line as it is; Headwise itself\n"
        f"  splits texts of more than {loaded.task.usual_tokens} tokens into sentences, as in training.\n"
    )


def _generator_readme(name: str, precision: str, how: dict[str, Any]) -> str:
    return (
        f"# {name}, for CTranslate2\n\nA language model in {precision}, written by Headwise. "
        "`ctranslate2.Generator` loads this folder; its tokens are those of "
        f"`{how.get('source', 'tokenizer.json')}`.\n\n```sh\npip install ctranslate2 {how['by']}\n```\n"
    )


def vocabularies(tokenizer: Tokenizer, rows: int) -> tuple[list[str], list[str]]:
    """The tokens of the `rows` of the source and target embeddings, as the tokenizer's files spell them."""
    if isinstance(tokenizer, Mapped):
        files = tokenizer.parts.files
        tables = [json.loads(files[TABLE]), json.loads(files.get(TARGET_TABLE, files[TABLE]))]
        own = {i: tokenizer.pieces([i])[0] for i in range(tokenizer.size) if tokenizer.is_special(i)}
        source, target = ({**own, **{i: piece for piece, i in table.items()}} for table in tables)
    elif isinstance(tokenizer, HfTokenizer):
        found = parse(tokenizer.parts.files[DESCRIPTION]).get_vocab(with_added_tokens=True)
        source = target = {i: piece for piece, i in found.items()}
    else:
        source = target = dict(enumerate(tokenizer.pieces(range(tokenizer.size))))
    return _filled(source, rows), _filled(target, rows)


def _filled(pieces: dict[int, str], rows: int) -> list[str]:
    """One token per row, also for rows that no text uses; duplicates are an error."""
    names = [pieces.get(i, f"<unused{i}>") for i in range(rows)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ConfigError(f"two tokens of this model have the same name, {twice!r}: a vocabulary file cannot hold them")
    return names

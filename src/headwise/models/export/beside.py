"""What lies beside the weights of an exported model, so that it can be used where Headwise is not."""

import shutil
from pathlib import Path
from typing import Any

from headwise.files.atomic import write_json, write_text
from headwise.models.export.ctranslate2 import added_to_source, decoder_start
from headwise.models.export.names import DECODER, ENCODER, OPSET, WEIGHTS
from headwise.models.export.pieces import vocabularies
from headwise.models.folder.description import LoadedModel
from headwise.text.published.hf_tokenizer import Library
from headwise.text.published.mapped import SOURCE, TARGET, Mapped
from headwise.text.stored import MODEL_NAME
from headwise.text.tokenizer import Tokenizer
from headwise.text.trained.subwords import Bpe, Unigram

FACTS, PROGRAM, README = "translation.json", "translate.py", "README.md"
PROGRAMS = Path(__file__).parent / "programs"
NEEDS = {"sentencepiece": "sentencepiece", "tokenizers": "tokenizers", "headwise": "headwise"}


def write_beside(loaded: LoadedModel, folder: Path, to: str, precision: str, name: str) -> None:
    """Tokenizer, README and, for a translator, what stands around texts and a program that shows all of it."""
    assert loaded.tokenizer is not None
    write_tokenizer(loaded.tokenizer, folder)
    how = text_facts(loaded.tokenizer)
    if loaded.task.kind != "translation":
        write_text(folder / README, _generator_readme(name, precision, how))
        return
    facts = {"runs_in": to, "precision": precision, "beam": 4 if to == "ctranslate2" else 1, "text": how}
    facts |= _ctranslate2_facts(loaded) if to == "ctranslate2" else _onnx_facts(loaded, folder)
    write_json(folder / FACTS, facts)
    shutil.copyfile(PROGRAMS / PROGRAM, folder / PROGRAM)
    write_text(folder / README, _readme(loaded, name, to, precision, how))


def write_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """The files that other programs read, where there are such; else our own."""
    if isinstance(tokenizer, Library | Mapped):
        tokenizer.save_published(folder)
    else:
        tokenizer.save(folder)


def text_facts(tokenizer: Tokenizer) -> dict[str, Any]:
    """Which program cuts text, from which files, and what is done to the text before."""
    facts: dict[str, Any] = {"normalised": not tokenizer.keeps_text, "escaped": False}
    if isinstance(tokenizer, Unigram | Bpe):
        return {"by": "sentencepiece", "source": MODEL_NAME, "target": MODEL_NAME, **facts, "escaped": True}
    if isinstance(tokenizer, Mapped):
        published: dict[str, str] = tokenizer.parts.settings["published"]
        source = published[SOURCE]
        return {"by": "sentencepiece", "source": source, "target": published.get(TARGET, source), **facts}
    if isinstance(tokenizer, Library):
        return {"by": "tokenizers", "source": "tokenizer.json", "plain": not tokenizer.finds_specials, **facts}
    return {"by": "headwise", **facts, "normalised": False}


def _directions(loaded: LoadedModel) -> list[dict[str, Any]]:
    """For each direction the ids before and after a source, and those that a translation starts with."""
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
    """For each source language, the ids before and after a source, where a direction leaves its source open."""
    tokenizer, task = loaded.tokenizer, loaded.task
    assert tokenizer is not None
    if all(source for source, _ in task.directions):
        return []
    framed = ((source, *tokenizer.source_frame(source, task.targets[0])) for source in task.sources)
    return [{"source": source, "before": before, "after": after} for source, before, after in framed]


def _named(loaded: LoadedModel, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Directions or sources with pieces in the place of ids."""
    assert loaded.tokenizer is not None
    source, target = vocabularies(loaded.tokenizer, loaded.description.rows)
    names = {"before": source, "after": source, "start": target}
    return [
        {key: [names[key][i] for i in value] if key in names else value for key, value in each.items()} for each in rows
    ]


def _ctranslate2_facts(loaded: LoadedModel) -> dict[str, Any]:
    """Without what CTranslate2 adds by itself."""
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


def _onnx_facts(loaded: LoadedModel, folder: Path) -> dict[str, Any]:
    """With the ids that a search needs, and the vocabularies as files of their own."""
    tokenizer = loaded.tokenizer
    assert tokenizer is not None
    source, target = vocabularies(tokenizer, loaded.description.rows)
    files = {"source": "source_vocabulary.json", "target": "target_vocabulary.json"}
    if source == target:
        files = dict.fromkeys(files, "shared_vocabulary.json")
    write_json(folder / files["source"], source)
    write_json(folder / files["target"], target)
    return {
        "opset": OPSET,
        "directions": _named(loaded, _directions(loaded)),
        "sources": _named(loaded, _sources(loaded)),
        "vocabularies": files,
        "pad": tokenizer.pad,
        "unknown": tokenizer.unk,
        "end": tokenizer.eos,
        "never": list(tokenizer.specials),
    }


def _readme(loaded: LoadedModel, name: str, to: str, precision: str, how: dict[str, Any]) -> str:
    program = {"ctranslate2": "ctranslate2", "onnx": "onnxruntime"}[to]
    files = {
        "ctranslate2": "- `model.bin`, `config.json`, `*_vocabulary.json`: what `ctranslate2.Translator` loads.\n",
        "onnx": (
            f"- `{ENCODER}`, `{DECODER}`, `{WEIGHTS}`: ONNX of opset {OPSET}; the weights of both are in one file.\n"
            "- `*_vocabulary.json`: the piece of each id.\n"
        ),
    }[to]
    return (
        f"# {name}, for {program}\n\n"
        f"A translator ({loaded.task.known_directions}) in {precision}, written by Headwise.\n\n"
        f"```sh\npip install {program} {NEEDS[how['by']]}\n"
        f"python {PROGRAM}{loaded.task.how_to_ask} < source.txt > target.txt\n```\n\n"
        f"{files}- `{FACTS}`: what stands before and after a source, what a translation starts with, how text is cut.\n"
        f"- `{PROGRAM}`: a program that uses all of it, to start from. It takes a line as it is; Headwise itself\n"
        f"  splits texts of more than {loaded.task.usual_tokens} tokens into sentences, as the model knows them.\n"
    )


def _generator_readme(name: str, precision: str, how: dict[str, Any]) -> str:
    return (
        f"# {name}, for ctranslate2\n\nA language model in {precision}, written by Headwise. "
        "`ctranslate2.Generator` loads this folder; its pieces are those of "
        f"`{how.get('source', 'tokenizer.json')}`.\n\n```sh\npip install ctranslate2 {NEEDS[how['by']]}\n```\n"
    )

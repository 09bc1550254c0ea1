"""The model card, `README.md` in a model folder: what the model is, what it was trained on, how good it is."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from headwise import __version__
from headwise.bundled.find import BUNDLED, find_model
from headwise.config import Recipe
from headwise.data.prepare.parallel_text import directions
from headwise.data.prepare.result import Prepared, SourceFile
from headwise.errors import CheckpointError
from headwise.files.tables import read_json
from headwise.models.folder.description import COMMANDS, LoadedModel
from headwise.models.folder.load import CARD
from headwise.models.folder.weights import parameter_count
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Scored
from headwise.train.step.schedules import peak, warmup_steps

DISTILLATION = "distillation.json"
"""File in the folder of a distilled model: its teacher, and the comparison of the two."""
DISTILLED = "## Distilled"


def versions() -> str:
    """The versions of the programs that make a model, for its card."""
    return f"Headwise {__version__}, PyTorch {torch.__version__}, Python {platform.python_version()}"


def how_to_use(task: str, folder: str, ask: str = "") -> str:
    """The command that uses a trained model."""
    given = "--images PICTURE" if task == "images" else '"..."'
    return f"{COMMANDS[task]} --model {folder}{ask} {given}"


@dataclass(frozen=True)
class Card:
    """The parts of a card that differ between tasks."""

    title: str
    summary: str
    """A sentence or two about the kind and the shape of the model."""
    data: Sequence[str]
    """Lines before the table of files."""
    files: Iterable[SourceFile]
    counted: str
    """The unit of the files' sizes in the table, in the plural: pairs, lines, examples."""
    trained: str
    """How much the model was trained on, and in what batches."""


def model_card(
    card: Card, recipe: Recipe, progress: RunState, scores: Mapping[str, Scored], source: str, ask: str = ""
) -> str:
    """The card as Markdown. `source` names the weights (the best checkpoint, a mean of several)."""
    lines = [
        f"# {card.title}",
        "",
        card.summary,
        "",
        *([f"It started from {start_name(recipe.init)}, whose card is below.", ""] if recipe.init else []),
        "```",
        how_to_use(recipe.task, ".", ask),
        "```",
        "",
        "## Scores",
        "",
    ]
    for name, score in scores.items():
        lines += [f"{name}, {source}:", "", "```", str(score), "```", ""]
    if not scores:
        lines += ["None were measured.", ""]
    lines += [
        "## Data",
        "",
        *card.data,
        "",
        f"| file | part | {card.counted} | licence | SHA-256 |",
        "| --- | --- | ---: | --- | --- |",
        *(
            f"| {file.path} | {file.role} | {file.pairs:,} | {file.licence or 'not stated'} | `{file.sha256}` |"
            for file in card.files
        ),
        "",
        "Whoever passes the model on is bound by the licences of the data: see the table, and ask where it says",
        "'not stated'.",
        "",
        "## Training",
        "",
        f"{progress.step:,} steps, {card.trained}, {progress.seconds / 60:.1f} minutes; seed {recipe.seed}, "
        f"{recipe.train.schedule} schedule with a peak learning rate of {peak(recipe.train, recipe.model):.3g} after "
        f"{warmup_steps(recipe.train):,} steps of warm-up, dropout {recipe.model.dropout}. The weights are {source}. "
        f"Every setting is in `recipe.json`. {versions()}.",
        "",
        *(
            [f"{progress.nonfinite} steps had a non-finite loss or gradient and were skipped.", ""]
            if progress.nonfinite
            else []
        ),
    ]
    return "\n".join(lines)


def start_name(init: str) -> str:
    """The model that a run started from, in words."""
    return "the bundled model of Headwise" if init == BUNDLED else f"the model in {init}"


def start_section(init: str) -> str:
    """The card of the model that a run started from, as a section: the licences of its data bind this model too."""
    if not init:
        return ""
    name = start_name(init)
    try:
        card = (find_model(init) / CARD).read_text(encoding="utf-8", errors="replace").strip()
    except (CheckpointError, OSError):
        card = "It has no model card: ask its authors for the data it was trained on, and for their licences."
    lines, code = [], False
    for line in card.splitlines():
        code ^= line.startswith("```")
        lines.append(f"##{line}" if line.startswith("#") and not code else line)
    return "\n".join([f"## {name[0].upper()}{name[1:]}, from which it started", "", *lines, ""])


def with_distillation(card: str, run: Path, step: int) -> str:
    """The card of a model at `step`, with the comparison of `headwise distill`, if the folder has one."""
    card = card.split(f"\n{DISTILLED}\n")[0].rstrip() + "\n"
    try:
        record = read_json(run / DISTILLATION)
        lines = [
            f"From the translations (beam {record['beam']}) of {record['from']}:",
            "",
            "```",
            record["table"],
            "```",
        ]
        measured = int(record["step"])
    except (CheckpointError, KeyError, TypeError, ValueError):  # there is none, or it is damaged
        return card
    if step != measured:
        lines += ["", f"The student was compared at step {measured:,} and has been trained on since."]
    return "\n".join([card, DISTILLED, "", *lines, ""])


def shape_of(loaded: LoadedModel) -> str:
    """The shape of a model, in words."""
    model = loaded.config
    encoder = f"{model.encoder_side.layers}+" if model.family == "encoder_decoder" else ""
    return (
        f"{encoder}{model.layers} layers, width {model.width}, {model.attention.heads} heads, "
        f"feed-forward {model.feed_forward.hidden}, {parameter_count(loaded.model) / 1e6:.1f} million parameters"
    )


def batches_of(recipe: Recipe, unit: str = "tokens") -> str:
    """The batch size, in words."""
    times = f" times {recipe.train.accumulate}" if recipe.train.accumulate > 1 else ""
    return f"batches of {recipe.train.batch_tokens:,} {unit}{times}"


def translation_card(
    recipe: Recipe,
    prepared: Prepared,
    loaded: LoadedModel,
    progress: RunState,
    scores: Mapping[str, Scored],
    source: str,
) -> str:
    trained = directions(recipe.data)
    others = [f"{s or 'any'} to {t}" for s, t in loaded.task.directions if (s, t) not in trained and t]
    shown = ", ".join(f"{s or '?'} to {t or '?'}" for s, t in trained)
    more = f" Of the model it started from it has kept: {', '.join(others)}." if others else ""
    read = sum(report.read for report in prepared.reports)
    kept = sum(report.kept for report in prepared.reports)
    held_out = ["", "The validation pairs were held out of the training data."] if not recipe.data.valid else []
    shares = ", ".join(f"{kind} {share:.0%}" for kind, share in recipe.data.noise.shares.items())
    noise = ["", f"Noise in the training pairs: {shares}."] if shares else []
    card = Card(
        title=f"Translation model, {shown}",
        summary=f"An encoder-decoder Transformer trained with Headwise: {shape_of(loaded)}, a vocabulary of "
        f"{prepared.tokenizer.size:,} tokens ({prepared.tokenizer.kind}).{more}",
        data=[f"{read:,} training pairs were read, {kept:,} kept after cleaning.", *held_out, *noise],
        files=prepared.files,
        counted="pairs",
        trained=f"{progress.tokens:,} target tokens, {batches_of(recipe)}, "
        f"label smoothing {recipe.train.label_smoothing}",
    )
    return model_card(card, recipe, progress, scores, source, loaded.task.how_to_ask)

"""Averages of checkpoints: a model folder with the mean of their weights, and its card."""

from collections.abc import Sequence
from pathlib import Path

from headwise.bundled.find import find_model
from headwise.errors import CheckpointError
from headwise.files.atomic import write_text
from headwise.models.folder.config_file import CHECKPOINTS, WEIGHTS, load_description
from headwise.models.folder.description import LoadedModel
from headwise.models.folder.load import CARD, load, save_model
from headwise.models.folder.run_layout import load_weights
from headwise.models.folder.weights import parameter_count, set_weights
from headwise.train.report.card import how_to_use, versions
from headwise.train.step.averages import DIFFERENT, mean_weights


def average_checkpoints(models: Sequence[str | Path], out: Path) -> None:
    """Write a model folder with the mean weights of several checkpoints or models of one run."""
    if (out / WEIGHTS).exists():
        raise CheckpointError(f"{out} holds a model already: choose another --out")
    paths = [find_model(model) for model in models]
    loaded = load(paths[0])
    for path in paths[1:]:
        described = load_description(path)
        if described.config != loaded.config or described.tokenizer != loaded.tokenizer:
            raise CheckpointError(f"{path}: {DIFFERENT}")
    set_weights(loaded.model, mean_weights([load_weights(path) for path in paths]), str(out))
    save_model(out, loaded)
    write_text(out / CARD, averaged_card(loaded, paths))


def averaged_card(loaded: LoadedModel, paths: Sequence[Path]) -> str:
    """The card of an averaged model, with the data sections from the cards of the runs."""
    runs = dict.fromkeys(path.parent.parent if path.parent.name == CHECKPOINTS else path for path in paths)
    lines = [
        f"# Mean of {len(paths)} checkpoints",
        "",
        f"A model of the family {loaded.config.family} with {parameter_count(loaded.model) / 1e6:.1f} million "
        "parameters, trained with Headwise. Its weights are the mean of those in:",
        "",
        *(f"- {path}" for path in paths),
        "",
        f"It was computed with {versions()}.",
        "",
        "```",
        how_to_use(loaded.task.kind, ".", loaded.task.how_to_ask),
        "```",
        "",
        "## Scores",
        "",
        "The averaged model was not measured.",
        "",
        "## Data",
        "",
    ]
    for run in runs:
        try:
            card = (run / CARD).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            card = ""
        data = card.partition("\n## Data\n")[2].partition("\n## ")[0].strip()
        lines += [f"From the card of {run}:", "", data, ""] if data else [f"{run} has no card with such a section.", ""]
    return "\n".join(lines)

"""The model card: what a model is, what it was trained on, how good it is. `README.md` in its folder."""

import platform
from collections.abc import Mapping

import torch

from headwise.config import Recipe
from headwise.data.prepared import Prepared
from headwise.evaluate import Scores
from headwise.models.folder import LoadedModel
from headwise.models.weights import parameter_count
from headwise.train.checkpoint import Progress


def model_card(
    recipe: Recipe,
    prepared: Prepared,
    loaded: LoadedModel,
    progress: Progress,
    scores: Mapping[str, Scores],
    source: str,
) -> str:
    """Markdown. `source` says which weights these are (the best checkpoint, a mean of several)."""
    model, train = recipe.model, recipe.train
    directions = ", ".join(f"{s or '?'} to {t or '?'}" for s, t in loaded.task.directions)
    parameters = parameter_count(loaded.model)
    read = sum(report.read for report in prepared.reports)
    kept = sum(report.kept for report in prepared.reports)
    lines = [
        f"# Translation model, {directions}",
        "",
        f"An encoder-decoder Transformer trained with Headwise: {model.encoder_layers}+{model.decoder_layers} "
        f"layers, width {model.width}, {model.heads} heads, feed-forward {model.hidden}, "
        f"{parameters / 1e6:.1f} million parameters, {loaded.tokenizer.size:,} tokens ({recipe.text.kind}).",
        "",
        "```",
        f'headwise translate --model .{loaded.task.how_to_ask} "..."',
        "```",
        "",
        "## Scores",
        "",
    ]
    for name, score in scores.items():
        lines += [f"{name}, {score.pairs:,} pairs, {source}:", "", "```", str(score), "```", ""]
    if not scores:
        lines += ["None were measured.", ""]
    lines += [
        "## Data",
        "",
        f"{read:,} training pairs were read, {kept:,} kept after cleaning.",
        "",
        "| file | part | pairs | licence | SHA-256 |",
        "| --- | --- | ---: | --- | --- |",
        *(
            f"| {file.path} | {file.role} | {file.pairs:,} | {file.licence or 'not stated'} | `{file.sha256}` |"
            for file in prepared.files
        ),
        "",
        *(["The validation pairs were held out of the training data.", ""] if not recipe.data.valid else []),
        "The licence of the data binds those who pass the model on: see the table, and ask where it says",
        "'not stated'.",
        "",
        "## Training",
        "",
        f"{progress.step:,} steps, {progress.tokens:,} target tokens, {progress.seconds / 60:.1f} minutes; "
        f"seed {recipe.seed}, batches of {train.batch_tokens:,} tokens"
        f"{f' times {train.accumulate}' if train.accumulate > 1 else ''}, {train.schedule} schedule, "
        f"label smoothing {train.label_smoothing}, dropout {model.dropout}. The weights are {source}. "
        f"Every setting is in `recipe.json`. PyTorch {torch.__version__}, Python {platform.python_version()}.",
        "",
        *(
            [f"{progress.nonfinite} steps had a non-finite loss or gradient and were skipped.", ""]
            if progress.nonfinite
            else []
        ),
    ]
    return "\n".join(lines)

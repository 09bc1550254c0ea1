"""The card of a model that tells what is in images."""

from collections.abc import Mapping, Sequence

from headwise.config import Recipe
from headwise.data.prepare.result import SourceFile
from headwise.models.folder.load import LoadedModel
from headwise.models.folder.weights import parameter_count
from headwise.train.checkpoint.run_state import RunState
from headwise.train.job import Scored
from headwise.train.report.card import Card, batches_of, model_card


def image_card(
    recipe: Recipe,
    loaded: LoadedModel,
    sizes: Mapping[str, int],
    files: Sequence[SourceFile],
    progress: RunState,
    scores: Mapping[str, Scored],
    source: str,
) -> str:
    model, task = loaded.config, loaded.task
    names = ", ".join(task.labels[:20]) + (" ..." if len(task.labels) > 20 else "")
    held_out = "" if recipe.data.valid else ", held out of the training data"
    card = Card(
        title=f"Image classifier, {len(task.labels)} classes",
        summary=f"A Vision Transformer trained with Headwise: {model.encoder_layers} layers, width {model.width}, "
        f"{model.heads} heads, feed-forward {model.hidden}, images of {model.image_size}x{model.image_size} pixels in "
        f"patches of {model.patch_size}, {model.channels} channels, {parameter_count(loaded.model) / 1e6:.1f} million "
        f"parameters. Its classes: {names}.",
        data=[
            f"{sizes['training']:,} images for training, {sizes['validation']:,} for validation{held_out}. Pixels "
            f"from 0 to 1 are normalised with the means {_rounded(task.image_mean)} and the standard deviations "
            f"{_rounded(task.image_std)}."
        ],
        files=files,
        counted="images",
        trained=f"{progress.tokens:,} images, {batches_of(recipe, 'images')}, "
        f"label smoothing {recipe.train.label_smoothing}",
    )
    return model_card(card, recipe, progress, scores, source)


def _rounded(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)

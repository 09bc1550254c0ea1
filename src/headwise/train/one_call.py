"""Training in one call: `headwise.train(pairs="memory.tmx", source="en", target="de", out="my-model")`.

The keywords are the options of `headwise train`; they are laid over a recipe, if one is given.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import headwise
from headwise.config import Recipe
from headwise.data.read.files import format_suffix
from headwise.errors import CheckpointError, ConfigError
from headwise.presets import DEFAULTS
from headwise.recipe import check_keys, nested, override, read_recipe

if TYPE_CHECKING:
    from headwise.train.job import Say
    from headwise.train.run import Outcome

Files = str | Path | Sequence[str | Path]


class RunKeywords(TypedDict, total=False):
    """Keywords that describe a training run. `source` and `target` are language codes."""

    out: str | Path | None
    task: str | None
    init: str | Path | None
    """A model folder or name to start from; "none": a new model."""
    preset: str | None
    pairs: Files | None
    source_files: Files | None
    target_files: Files | None
    text: Files | None
    labelled: Files | None
    images: Files | None
    valid_pairs: Files | None
    valid_source_files: Files | None
    valid_target_files: Files | None
    valid_text: Files | None
    valid_labelled: Files | None
    valid_images: Files | None
    source: str | None
    target: str | None
    both_directions: bool | None
    steps: int | None
    batch_tokens: int | None
    vocabulary: int | None
    noise: str | None
    """Preset of the noise in training pairs: none or usual."""
    seed: int | None
    device: str | None
    tensorboard: bool | None
    settings: Mapping[str, Any]
    """Any other keys of a recipe, such as {"train.checkpoint_every": 200}."""


def train(
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    *,
    say: "Say" = print,
    **keywords: Unpack[RunKeywords],
) -> "Outcome":
    """Train a model and write its folder to `out`; a run that exists there continues where it stopped.

    `recipe` is a TOML file, the name of a recipe that Headwise ships, tables, or a whole `Recipe`; the keywords
    override it. Without a recipe, `pairs` (or `source_files` and `target_files`, `text`, `labelled`, `images`) are the
    training data. A translator then starts from the bundled model if that covers the languages and the pairs are few;
    `init="none"` trains a new one.
    """
    from headwise.train import run

    return run.train(complete_recipe(recipe, say, **keywords), say)


def complete_recipe(
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    say: "Say" = lambda text: None,
    **keywords: Unpack[RunKeywords],
) -> Recipe:
    """The recipe that `train` follows with the same arguments.

    Without a recipe, the start of a translator's training and its settings may be chosen here, which `say` reports.
    """
    from headwise.train.chosen_start import with_start
    from headwise.train.processes.group import is_first
    from headwise.train.start import recipe_from

    if not isinstance(recipe, Recipe):
        tables, notes = run_tables(recipe, keywords), list[str]()
        if recipe is None:
            if not tables.get("out"):  # before the data are counted
                raise ConfigError("no output folder: give --out DIR")
            tables = with_start(tables, stored_tables(tables["out"]), notes.append)
        made = recipe_from(tables)
        for note in notes if is_first() else []:  # a run that is refused prints its error alone
            say(note)
        return made
    if keywords:
        raise ConfigError(f"a whole Recipe takes no further keywords: leave out {', '.join(keywords)}")
    return recipe


def run_tables(
    recipe: Mapping[str, Any] | str | Path | None, keywords: RunKeywords, more: Sequence[dict[str, Any]] = ()
) -> dict[str, Any]:
    """The tables of a recipe with the keywords laid over them; `more` are further training corpora."""
    unknown = [name for name in keywords if name not in RunKeywords.__annotations__]
    if unknown:
        raise TypeError(f"train() has no keyword {unknown[0]!r}; it has: {', '.join(RunKeywords.__annotations__)}")
    corpora, valid = corpus_tables(keywords, ""), corpus_tables(keywords, "valid_")
    out, init = _text(keywords.get("out")), _text(keywords.get("init"))
    tables = given_tables(recipe, None if corpora or more else out)
    task = keywords.get("task") or (None if "task" in tables else task_of(corpora, str(init or tables.get("init", ""))))
    options: dict[str, Any] = {
        "task": task,
        "init": init,
        "out": out,
        "seed": keywords.get("seed"),
        "model.preset": keywords.get("preset"),
        "text.vocabulary": keywords.get("vocabulary"),
        "data.source_language": keywords.get("source"),
        "data.target_language": keywords.get("target"),
        "data.noise.preset": keywords.get("noise"),
        "data.both_directions": keywords.get("both_directions"),
        "data.train": [*corpora, *more] or None,
        "data.valid": valid or None,
        "train.steps": keywords.get("steps"),
        "train.batch_tokens": keywords.get("batch_tokens"),
        "train.device": keywords.get("device"),
        "train.tensorboard": keywords.get("tensorboard"),
    }
    given = {key: value for key, value in options.items() if value is not None}
    tables = override(tables, given | dict(keywords.get("settings", {})))
    check_kinds(str(tables.get("task", "translation")), [*corpora, *valid])
    check_training_data(tables)
    return tables


def given_tables(recipe: Mapping[str, Any] | str | Path | None, out: str | None) -> dict[str, Any]:
    """The tables of a recipe or, without one, of the run in the folder `out`."""
    if recipe is None:
        return stored_tables(out)
    return nested(recipe) if isinstance(recipe, Mapping) else read_recipe(recipe_path(str(recipe)))


def check_training_data(tables: dict[str, Any]) -> None:
    data = tables.get("data", {})
    if isinstance(data, dict) and data.get("train"):
        return
    check_keys(Recipe, nested(tables))  # a misspelt key may be the reason
    raise ConfigError(
        "no training data: give --pairs FILE, or --source F and --target F, or --text, --labelled or --images, "
        "or a recipe, or the --out of an existing run"
    )


def corpus_tables(keywords: Mapping[str, Any], prefix: str) -> list[dict[str, Any]]:
    """The corpora that the keywords name; `prefix`: `valid_` for validation data."""
    source, target = (list(_files(keywords.get(f"{prefix}{side}_files"))) for side in ("source", "target"))
    if bool(source) != bool(target):
        dashed = prefix.replace("_", "-")
        raise ConfigError(f"--{dashed}source and --{dashed}target belong together")
    kinds = ("pairs", "text", "labelled", "images")
    corpora = [{kind: files} for kind in kinds if (files := list(_files(keywords.get(prefix + kind))))]
    return [*corpora, {"source": source, "target": target}] if source else corpora


def _files(given: Files | None) -> Iterator[str]:
    for path in [given] if isinstance(given, str | Path) else given or ():
        if not isinstance(path, str | Path):
            raise ConfigError(f"training data are named by their files, not {path!r:.60}: write pairs to a .tsv file")
        yield str(path)


def _text(path: str | Path | None) -> str | None:
    return None if path is None else str(path)


# --- recipes -------------------------------------------------------------------------------------------


def recipes_folder() -> Path:
    """The folder of the shipped recipes: in the installed package, or beside `src` in a clone."""
    package = Path(headwise.__file__).parent
    return next(
        (folder for folder in (package / "recipes", package.parents[1] / "recipes") if folder.is_dir()), package
    )


def shipped_recipes() -> dict[str, Path]:
    """The shipped recipes by name, such as `multi30k_en_de` and `glue/sst2`."""
    folder = recipes_folder()
    return {path.relative_to(folder).with_suffix("").as_posix(): path for path in sorted(folder.rglob("*.toml"))}


DATA_SUFFIXES = {
    "--pairs": (".tmx", ".tsv", ".tab"),
    "--labelled": (".csv",),
    "--text": (".txt",),
    "--images": (".npz",),
}


def recipe_path(name: str) -> Path:
    """The file of a recipe, given by its path or by the name of a shipped recipe."""
    path = Path(name)
    shipped = shipped_recipes()
    if not path.is_file() and name.removesuffix(".toml").removeprefix("recipes/") in shipped:
        return shipped[name.removesuffix(".toml").removeprefix("recipes/")]
    for option, suffixes in DATA_SUFFIXES.items():
        if format_suffix(path) in suffixes:
            raise ConfigError(f"{name} is not a recipe: did you mean {option} {name}?")
    if format_suffix(path) in (".jsonl", ".json"):
        raise ConfigError(f"{name} is not a recipe: did you mean --pairs {name}, or --labelled {name}?")
    if not path.is_file() and path.suffix != ".toml":
        raise ConfigError(f"{name}: no such recipe; shipped recipes are: {', '.join(shipped)}")
    return path


def stored_tables(out: str | Path | None) -> dict[str, Any]:
    """The recipe of the run in this folder, which continues; empty if there is none."""
    path = Path(out or "", "recipe.json")
    if not out or not path.is_file():
        return {}
    from headwise.train.run_folder import stored_recipe

    stored = stored_recipe(Path(out))
    if not isinstance(stored.get("model"), dict):
        raise CheckpointError(f"{path}: damaged: not a recipe")
    return stored


# --- tasks ---------------------------------------------------------------------------------------------


KINDS = {
    "pairs": ("translation",),
    "source": ("translation",),
    "text": ("causal_lm", "masked_lm"),
    "labelled": ("classify",),
    "images": ("images",),
}
"""The tasks that each kind of data is for. The first is the default, unless the model of `init` is for another one."""


def task_of(corpora: list[dict[str, Any]], init: str) -> str | None:
    """The task that the data are for; None: unknown."""
    tasks = next((KINDS[kind] for corpus in corpora for kind in corpus if kind in KINDS), ())
    if len(tasks) > 1 and init:
        from headwise.train.start import folder_config

        family = folder_config(init).family
        return family if family in tasks else tasks[0]
    return next(iter(tasks), None)


def check_kinds(task: str, corpora: list[dict[str, Any]]) -> None:
    """Refuse data that are for another task."""
    for kind in (kind for corpus in corpora for kind in corpus if kind in KINDS):
        if task in DEFAULTS and task not in KINDS[kind]:
            own = " or ".join(f"--{each}" for each, tasks in KINDS.items() if task in tasks)
            raise ConfigError(f"--{kind} is for {' and '.join(KINDS[kind])}; for the task {task} give {own}")

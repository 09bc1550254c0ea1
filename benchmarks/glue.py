"""Fine-tuning on GLUE: tasks x variants x seeds, and the table that the papers print.

    python benchmarks/glue.py /path/to/glue --encoder runs/bert --decoder runs/gpt --out runs/glue --workers 6

A model is a folder, from which the pre-trained variants start, or a preset, which is trained from scratch. With a
folder, the variants without pre-training have its shape and its tokenizer, and random weights. Several runs are trained
in parallel; a finished run is not repeated. Writes a JSON line per run, and prints the mean and the standard deviation
over the seeds.

The recipes are for models as published. A model that was pre-trained for a minute needs fewer and larger steps:

    python benchmarks/glue.py /path/to/glue --encoder runs/bert runs/roformer --small --workers 10
"""

import argparse
import contextlib
import dataclasses
import json
import math
import multiprocessing
import shutil
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rows import Row, add_output, write

RECIPES = Path(__file__).parent.parent / "recipes" / "glue"

TASKS = {
    "sst2": ("SST-2", ("accuracy",)),
    "cola": ("CoLA", ("matthews",)),
    "rte": ("RTE", ("accuracy",)),
    "stsb": ("STS-B", ("pearson", "spearman")),
    "mrpc": ("MRPC", ("accuracy", "f1")),
}
"""The name of each recipe's task, and the metrics that the papers report."""


@dataclass(frozen=True)
class Variant:
    model: str
    """The option that names its model."""
    trained: bool
    """Whether it starts from the model's weights."""
    settings: dict[str, Any] = field(default_factory=dict)


FROM_NOTHING = {"train.learning_rate": 3e-4}
AUXILIARY = {"classify.language_model": 0.5}
VARIANTS = {
    "encoder": Variant("encoder", True),
    "encoder, LoRA": Variant("encoder", True, {"tune.lora_rank": 8, "train.learning_rate": 5e-4}),
    "encoder, not pre-trained": Variant("encoder", False, FROM_NOTHING),
    # The ablation of the GPT paper (its Table 5).
    "decoder": Variant("decoder", True, AUXILIARY),
    "decoder, no auxiliary loss": Variant("decoder", True),
    "decoder, not pre-trained": Variant("decoder", False, {**FROM_NOTHING, **AUXILIARY}),
    "decoder, neither": Variant("decoder", False, FROM_NOTHING),
    "lstm": Variant("lstm", True, AUXILIARY),
    "lstm, not pre-trained": Variant("lstm", False, {**FROM_NOTHING, **AUXILIARY}),
}


SMALL: dict[str, dict[str, Any]] = {
    "": {
        "model.dropout": 0.1,
        "model.attention.dropout": 0.1,
        "train.learning_rate": 2e-4,
        "train.validate_every": 10**6,
        "train.checkpoint_every": 10**6,
        "train.log_every": 100,
    },
    "lstm": {"train.learning_rate": 1e-3},
    "sst2": {"classify.batch": 128, "train.steps": 1050},
    "cola": {"train.steps": 1070},
    "rte": {"train.steps": 470},
    "stsb": {"train.steps": 900},
    "mrpc": {"train.steps": 610},
}
"""For all, by model and by task: 2, 4, 6, 5 and 5 epochs, one validation at their end, the same rate for every variant
of a model."""


@dataclass(frozen=True)
class Run:
    model: str
    """The name of its folder, or its preset."""
    task: str
    variant: str
    seed: int
    rate: float
    """0: the recipe's or the variant's."""
    folder: Path
    tables: dict[str, Any]

    @property
    def row(self) -> str:
        name = self.variant.replace(VARIANTS[self.variant].model, self.model, 1)
        return f"{name} @ {self.rate:g}" if self.rate else name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of GLUE: SST-2, CoLA, RTE, STS-B, MRPC")
    for model in dict.fromkeys(variant.model for variant in VARIANTS.values()):
        parser.add_argument(
            f"--{model}", nargs="+", default=[], metavar="FOLDER|PRESET", help="pre-trained models, or shapes alone"
        )
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), help="default: all that the models allow")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--rates", nargs="+", type=float, default=[0.0], help="peak learning rates, a row each")
    parser.add_argument("--small", action="store_true", help="settings for models that learned for a minute")
    parser.add_argument(
        "--set", dest="settings", nargs="+", default=[], metavar="[TASK:]KEY=VALUE", help="for every run, or a task's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/glue"))
    parser.add_argument("--workers", type=int, default=1, help="runs at a time")
    parser.add_argument("--keep", action="store_true", help="keep checkpoints and weights")
    add_output(parser)
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    models = {name: getattr(args, name) for name in dict.fromkeys(variant.model for variant in VARIANTS.values())}
    runs = list(planned(args, models))
    if not runs:
        parser.error("nothing to run: name a model with --encoder, --decoder or --lstm")
    results: list[Row] = []
    failed: list[Path] = []
    spawn = multiprocessing.get_context("spawn")  # a forked process cannot use the GPU
    with ProcessPoolExecutor(args.workers, mp_context=spawn) as pool:
        waiting = {pool.submit(fine_tune, run, args.keep, args.workers > 1): run for run in runs}
        for number, done in enumerate(as_completed(waiting), 1):
            try:
                results.append(done.result())
                write(results[-1:], args.json or args.out / "runs.jsonl")
            except Exception as error:  # the other runs continue; the log in its folder has details
                failed.append(waiting[done].folder)
                print(f"[{number}/{len(runs)}] {failed[-1]}: {type(error).__name__}: {error}", flush=True)
                continue
            print(f"[{number}/{len(runs)}] {json.dumps(results[-1])}", flush=True)
    print()
    show_table(results, args.tasks)
    if failed:
        raise SystemExit(f"{len(failed)} of {len(runs)} runs failed: {', '.join(map(str, failed))}")


def planned(args: argparse.Namespace, models: dict[str, list[str]]) -> Iterator[Run]:
    """All runs, ordered by seed first, so that the table is complete early."""
    from headwise.recipe import override, read_recipe

    chosen = args.variants or [name for name, variant in VARIANTS.items() if any(possible(variant, models))]
    for name in chosen:
        if not any(possible(VARIANTS[name], models)):
            raise SystemExit(f"the variant {name!r} needs --{VARIANTS[name].model} with a folder of a trained model")
    for seed in args.seeds:
        for name in chosen:
            variant = VARIANTS[name]
            for model in possible(variant, models):
                source = start(variant, model, seed, args.out)
                for task in args.tasks:
                    own = task_settings(variant.model, task, args.small, args.settings)
                    for rate in args.rates:
                        run = Run(Path(model).name, task, name, seed, rate, Path(), {})
                        folder = args.out / f"{task}-{run.row.replace(', ', '-').replace(' ', '-')}-{seed}"
                        settings = {
                            "seed": seed,
                            "out": str(folder),
                            "data.folder": str(args.data),
                            **source,
                            **variant.settings,
                            **own,
                            **({"train.learning_rate": rate} if rate else {}),
                        }
                        tables = override(read_recipe(RECIPES / f"{task}.toml"), settings)
                        yield dataclasses.replace(run, folder=folder, tables=validated_in_time(tables))


def task_settings(model: str, task: str, small: bool, settings: Sequence[str]) -> dict[str, Any]:
    """The settings of all tasks, overridden by those of this one."""
    from headwise.recipe import parse_setting

    chosen = {**SMALL[""], **SMALL.get(model, {}), **SMALL[task]} if small else {}
    for setting in settings:
        before, colon, after = setting.partition(":")
        if not colon or before not in TASKS:
            chosen |= [parse_setting(setting)]
        elif before == task:
            chosen |= [parse_setting(after)]
    return chosen


def possible(variant: Variant, models: dict[str, list[str]]) -> list[str]:
    """The models that it can start from."""
    return [model for model in models[variant.model] if not variant.trained or Path(model).is_dir()]


def start(variant: Variant, model: str, seed: int, out: Path) -> dict[str, Any]:
    """The settings that make a run start where its variant does."""
    if not Path(model).is_dir():
        return {"model.preset": model}
    return {"init": model if variant.trained else str(untrained(Path(model), seed, out / "untrained"))}


def untrained(model: Path, seed: int, out: Path) -> Path:
    """An untrained model of the same shape and with the same tokenizer."""
    import torch

    from headwise.models.build import build
    from headwise.models.folder.load import load, save_model

    folder = out / f"{model.resolve().name}-{seed}"
    if not folder.exists():
        loaded = load(model)
        torch.manual_seed(seed)
        fresh = build(loaded.config, loaded.description.rows, loaded.description.specials.pad)
        save_model(folder, dataclasses.replace(loaded, model=fresh))
    return folder


def validated_in_time(tables: dict[str, Any]) -> dict[str, Any]:
    """Fewer steps than in the recipe are still validated, and saved, at their end."""
    train = tables["train"]
    for key in ("validate_every", "checkpoint_every"):
        train[key] = min(train[key], train["steps"])
    return tables


def fine_tune(run: Run, keep: bool, crowded: bool) -> Row:
    """One run, in a separate process."""
    import torch

    from headwise.files.tables import read_json
    from headwise.models.folder.config_file import CHECKPOINTS, SCORES, WEIGHTS
    from headwise.recipe import to_tables
    from headwise.train.run import train
    from headwise.train.run_folder import stored_recipe
    from headwise.train.start import recipe_from

    if crowded:
        torch.set_num_threads(1)
    recipe = recipe_from(run.tables)
    result = run.folder / "glue.json"
    if result.exists() and stored_recipe(run.folder) == json.loads(json.dumps(to_tables(recipe))):
        row: Row = read_json(result)
        return row
    run.folder.mkdir(parents=True, exist_ok=True)
    clock = time.perf_counter()
    log = (run.folder / "log.txt").open("a", encoding="utf-8")
    with log, contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        outcome = train(recipe, say=lambda text: print(text, file=log, flush=True))
    if outcome.interrupted:
        raise InterruptedError(run.folder)
    (scores,) = json.loads((run.folder / SCORES).read_text(encoding="utf-8")).values()
    row = {
        "benchmark": "glue",
        "model": run.model,
        "task": run.task,
        "row": run.row,
        "variant": run.variant,
        "seed": run.seed,
        "learning_rate": recipe.train.learning_rate,
        "steps": outcome.progress.step,
        "init": recipe.init,
        **scores,
        "seconds": round(time.perf_counter() - clock, 1),
    }
    result.write_text(json.dumps(row) + "\n", encoding="utf-8")
    if not keep:
        shutil.rmtree(run.folder / CHECKPOINTS, ignore_errors=True)
        (run.folder / WEIGHTS).unlink(missing_ok=True)
    return row


def show_table(results: Sequence[Row], tasks: Sequence[str]) -> None:
    """A table of variants by tasks: the mean and, with several seeds, the standard deviation, times 100."""
    lines = [["", *(f"{TASKS[task][0]} ({'/'.join(TASKS[task][1])})" for task in tasks), "mean"]]
    for name in dict.fromkeys(
        row["row"] for row in sorted(results, key=lambda row: list(VARIANTS).index(row["variant"]))
    ):
        cells, means = [], []
        for task in tasks:
            rows = [row for row in results if row["row"] == name and row["task"] == task]
            cells.append(" / ".join(figure([row[metric] for row in rows]) for metric in TASKS[task][1]))
            means += [statistics.fmean(row[metric] for row in rows for metric in TASKS[task][1])] if rows else []
        mean = 100 * statistics.fmean(means) if len(means) == len(tasks) else math.nan
        lines.append([name, *cells, f"{mean:.1f}"])
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print(
            f"{line[0].ljust(widths[0])}  " + "  ".join(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))
        )
    seeds = sorted({row["seed"] for row in results})
    print(f"seeds {', '.join(map(str, seeds))}; MRPC on its test file, the others on their dev sets; mean: over tasks")


def figure(values: Sequence[float]) -> str:
    if not values:
        return "-"
    spread = f" ±{100 * statistics.stdev(values):.1f}" if len(values) > 1 else ""
    return f"{100 * statistics.fmean(values):.1f}{spread}"


if __name__ == "__main__":
    main()

"""Whatever file of a run is damaged: it is noticed, and the run ends as it would have or says what is wrong."""

import itertools
from pathlib import Path

import pytest

from headwise.models.folder.run_layout import checkpoints
from tests.system.damage import KINDS, damageable, go_on_damaged, half_way
from tests.system.faults import Undisturbed, undisturbed
from tests.system.runs import best_of_validations, mean_of_checkpoints


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    folder = tmp_path_factory.mktemp("damage")
    return undisturbed(folder, best_of_validations(folder))


@pytest.fixture(scope="module")
def run(whole: Undisturbed) -> Path:
    return half_way(whole)


@pytest.mark.slow
def test_every_file_of_a_run(whole: Undisturbed, run: Path) -> None:
    """Each with one kind of damage in turn; `python -m tests.system --damage` does all kinds, and older checkpoints."""
    older = tuple(f"{path.relative_to(run).as_posix()}/" for path in checkpoints(run)[:-1])
    files = {
        file: kind
        for file, kind in zip(damageable(run), itertools.cycle(KINDS), strict=False)
        if not file.startswith(older) or file.endswith("optimiser.safetensors")
    }
    wanted = {"recipe.json", "data.json", "log.jsonl", "config.json", "tokenizer.json", "data/files.json"}
    assert wanted <= files.keys()
    assert {Path(file).name for file in files} >= {
        *("model.safetensors", "optimiser.safetensors", "random.safetensors", "state.json", "manifest.json"),
        *("source.bin", "target_offsets.bin", "meta.json", "prepared.json", "text.tsv"),
    }
    outcomes = {file: go_on_damaged(whole, run, file, kind) for file, kind in files.items()}
    assert set(outcomes.values()) <= {"equal", "refused"}
    assert sum(outcome == "equal" for outcome in outcomes.values()) > 0.9 * len(files)


@pytest.mark.parametrize("file", ["source.bin", "target_offsets.bin"])
def test_a_bit_of_the_prepared_data(whole: Undisturbed, run: Path, file: str) -> None:
    """It would be another model, and nothing else would show it."""
    name = next(name for name in damageable(run) if name.startswith("data/") and name.endswith(f"/{file}"))
    assert go_on_damaged(whole, run, name, "flip") == "equal"


def test_a_lost_checkpoint_of_a_mean_is_refused(tmp_path: Path) -> None:
    whole = undisturbed(tmp_path, mean_of_checkpoints(tmp_path))
    run = half_way(whole)
    older = sorted(name for name in damageable(run) if name.startswith("checkpoints/") and "average" in name)[-2]
    assert go_on_damaged(whole, run, older, "flip") in ("equal", "refused")

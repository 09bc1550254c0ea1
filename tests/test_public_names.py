"""What `import headwise` gives, and what it does not cost."""

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import headwise

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

HEAVY = ("torch", "numpy", "sentencepiece", "safetensors", "sacrebleu", "matplotlib", "rich")


def loaded_after(code: str) -> set[str]:
    """The heavy modules in a fresh interpreter that ran this."""
    script = f"import sys\n{code}\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(result.stdout.split())


def test_the_public_names() -> None:
    """Scripts are written against these: taking one away is a breaking change."""
    assert sorted(headwise.__all__) == [
        "Detection",
        "DocumentOptions",
        "Embedder",
        "Filler",
        "GenerateOptions",
        "Generator",
        "Glossary",
        "HeadwiseError",
        "Labeller",
        "LoadedModel",
        "Recipe",
        "SamplingOptions",
        "TranslateOptions",
        "Translation",
        "Translator",
        "__version__",
        "back_translate",
        "detect",
        "distill",
        "load",
        "train",
        "translate",
        "translate_document",
    ]
    assert set(headwise.__all__) <= set(dir(headwise))


@pytest.mark.parametrize("name", headwise.__all__)
def test_every_public_name_is_there(name: str) -> None:
    value = getattr(headwise, name)
    if name not in ("__version__", "train"):
        assert value.__name__ == name
        assert getattr(importlib.import_module(value.__module__), name) is value


def test_train_is_a_package_and_a_call() -> None:
    """Importing a submodule of `headwise.train` must not take the function away."""
    code = (
        "import headwise; assert callable(headwise.train); import headwise.train.job; assert callable(headwise.train)"
    )
    assert "torch" in loaded_after(code)
    with pytest.raises(TypeError, match="no keyword 'step'"):
        headwise.train(pairs="x.tsv", step=3)  # type: ignore[call-arg]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_here"):
        headwise.nothing_here  # noqa: B018
    assert not hasattr(headwise, "nothing_here")


def test_the_version_has_one_source() -> None:
    from importlib.metadata import version

    assert headwise.__version__ == version("headwise")
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{headwise.__version__}]" in next(line for line in text.splitlines() if line.startswith("## "))


@pytest.mark.parametrize(
    "code",
    [
        "import headwise",
        "from headwise import HeadwiseError, Recipe, __version__",
        "import headwise.cli; headwise.cli.parser()",
        "import headwise.cli; headwise.cli.parser().parse_args(['train', '--pairs', 'x', '--out', 'y'])",
    ],
)
def test_the_door_is_light(code: str) -> None:
    assert loaded_after(code) == set()


def test_what_needs_torch_loads_it() -> None:
    """The counter-test: the check above sees what is loaded."""
    assert "torch" in loaded_after("from headwise import load")


def test_a_translator_may_do_without_torch() -> None:
    """That of an int8 folder does; see tests/decode/engines/native/test_native_folder.py."""
    assert "torch" not in loaded_after(
        "from headwise import SamplingOptions, TranslateOptions, Translation, Translator, translate"
    )

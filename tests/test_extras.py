"""Optional packages: every extra that an error names exists, and holds the package."""

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from headwise.errors import MissingPackageError
from headwise.extras import EXTRAS, command_for, installed, packages_for, require

TABLE = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def within(extra: str) -> set[str]:
    """The names of the distributions of an extra, those of extras that it includes too."""
    found: set[str] = set()
    for requirement in TABLE["optional-dependencies"][extra]:
        name, _, others = re.fullmatch(r"([\w.-]+)(\[([\w,]+)\])?.*", requirement).groups()  # type: ignore[union-attr]
        if name == "headwise":
            found |= set().union(*map(within, others.split(",")))
        else:
            found.add(name)
    return found


@pytest.mark.parametrize("package", EXTRAS)
def test_an_extra_holds_its_packages(package: str) -> None:
    distributions = {name.lower() for name in packages_distributions().get(package, [package])}
    assert within(EXTRAS[package][1]) & distributions


def test_the_extra_for_development_holds_all_others() -> None:
    assert set().union(*map(within, TABLE["optional-dependencies"])) == within("dev")


def test_what_is_missing_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EXTRAS, "nowhere_at_all", ("Nowhere", "train"))
    assert not installed("nowhere_at_all")
    for refuse in (lambda: require("nowhere_at_all", "flying"), lambda: _imported("nowhere_at_all.wings")):
        with pytest.raises(MissingPackageError) as caught:
            refuse()
        assert str(caught.value) == "flying needs Nowhere: pip install 'headwise[train]'"
        assert caught.value.name == "nowhere_at_all"
    assert command_for("nowhere_at_all") in str(caught.value)


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(ModuleNotFoundError, match="unknown_package"):
        _imported("unknown_package")
    require("torch", "this test")


def _imported(name: str) -> None:
    with packages_for("flying"):
        __import__(name)

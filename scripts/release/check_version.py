"""Check that a tag is the version of the package, and that the changelog knows it.

    python scripts/release/check_version.py v0.1.0
    python scripts/release/check_version.py v0.1.0 --notes      # print the changelog of the version

Runs without the package, on the files of the repository alone.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def package_version() -> str:
    """The version in the package, the one place that it is written in."""
    found = re.search(r'^__version__ = "(.+)"$', _read("src/headwise/__init__.py"), re.MULTILINE)
    assert found is not None
    return found[1]


def problems(tag: str) -> list[str]:
    """Why this tag must not be released; empty: nothing is wrong."""
    version = package_version()
    found = [] if tag == f"v{version}" else [f"the tag is {tag}, but the package is {version}: expected v{version}"]
    heading = re.search(rf"^## \[{re.escape(version)}\] - (.+)$", _read("CHANGELOG.md"), re.MULTILINE)
    if heading is None:
        found.append(f"CHANGELOG.md has no section [{version}]")
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1]):
        found.append(f"CHANGELOG.md gives version {version} no date, but {heading[1]!r}")
    return found


def notes(version: str) -> str:
    """The changelog of a version."""
    _, _, after = _read("CHANGELOG.md").partition(f"## [{version}]")
    return after.partition("\n")[2].partition("\n## [")[0].strip()


def _read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tag")
    parser.add_argument("--notes", action="store_true", help="print the changelog of the version instead")
    args = parser.parse_args()
    if args.notes:
        print(notes(args.tag.removeprefix("v")))
        return
    if found := problems(args.tag):
        sys.exit("\n".join(found))
    print(f"{args.tag} may be released")


if __name__ == "__main__":
    main()

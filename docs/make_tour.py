"""Write docs/tour.md: the prose of tour.template.md with numbers and pictures from a real model and this code.

    .venv/bin/python docs/make_tour.py --model demo     # after scripts/demo
    .venv/bin/python docs/make_tour.py --check          # links, names of code and tests, pictures: all there?

A line `{{name}}` of the template is replaced by what the step of that name in tour/steps.py returns.
"""

import argparse
import re
import sys
from pathlib import Path

DOCS = Path(__file__).parent
TEMPLATE, TOUR, PICTURES = DOCS / "tour.template.md", DOCS / "tour.md", DOCS / "tour"

PLACEHOLDER = re.compile(r"^\{\{(\w+)\}\}$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
PARTS = {
    "formula": r"^\$\$$",
    "numbers or picture": r"\(tour/|^\| ",
    "code": r"^\*\*Code\*\* \[",
    "test": r"^\*\*Test\*\* \[",
}
"""What every step of the tour must have."""
NAMED = re.compile(r"\[[^\]]*\]\(([^)\s]+\.py)\): ((?:`\w+`(?:, )?)+)")


def write(folder: Path) -> None:
    import torch  # here, so that --check need not wait for it
    from tour import pictures
    from tour.one_pass import take
    from tour.steps import STEPS

    torch.set_num_threads(1)
    with torch.inference_mode():
        one_pass = take(folder)
        pictures.machine()
        text = PLACEHOLDER.sub(lambda found: STEPS[found[1]](one_pass), TEMPLATE.read_text("utf-8"))
    TOUR.write_text(text, "utf-8")


def check() -> list[str]:
    """What is wrong with the tour as it is written; needs no model."""
    text = TOUR.read_text("utf-8")
    problems = []
    if any(part not in text for part in PLACEHOLDER.split(TEMPLATE.read_text("utf-8"))[::2]):
        problems.append("tour.md is older than tour.template.md")
    anchors = {_anchor(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}
    links = set(LINK.findall(text))
    for link in links:
        path, _, anchor = link.partition("#")
        if path and not (DOCS / path).is_file():
            problems.append(f"no file {link}")
        if not path and anchor not in anchors:
            problems.append(f"no section {link}")
    for path, names in NAMED.findall(text):
        code = (DOCS / path).read_text("utf-8") if (DOCS / path).is_file() else ""
        problems += [
            f"no {name} in {path}"
            for name in re.findall(r"\w+", names)
            if not re.search(rf"^\s*(?:def|class) {name}\b|^{name}\b", code, re.MULTILINE)
        ]
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:-1]:  # all but the last, which is no step
        for what, pattern in PARTS.items():
            if not re.search(pattern, section, re.MULTILINE):
                problems.append(f"section {section.splitlines()[0]!r} has no {what}")
    unused = {f"tour/{path.name}" for path in PICTURES.glob("*.png")} - links
    return problems + [f"picture {path} is in no section" for path in sorted(unused)]


def _anchor(title: str) -> str:
    """As GitHub makes it of a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/tour.md and its pictures from a trained model.")
    parser.add_argument("--model", type=Path, default=Path("demo"), help="what scripts/demo made (default: demo)")
    parser.add_argument("--check", action="store_true", help="only check links, names and pictures")
    args = parser.parse_args()
    if not args.check:
        if not args.model.is_dir():
            parser.error(f"no model in {args.model}: scripts/demo makes it")
        write(args.model)
    problems = check()
    print("\n".join(problems) or f"{TOUR}: all links, names and pictures are there")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()

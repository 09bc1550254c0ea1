"""README.md and docs/: every command is parsed, and run on tiny data where it can be; links and options exist."""

import argparse
import io
import lzma
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

import pytest

from headwise.cli import main, parser
from headwise.cli.train import run_keywords
from headwise.config import Recipe
from headwise.decode.engines.table import AUTO, ENGINES
from headwise.models.folder.load import save_model
from headwise.presets import resolve
from headwise.recipe import replaced
from headwise.train.one_call import run_tables
from tests.documents.formats.test_docx import docx
from tests.documents.formats.test_odf import odt
from tests.documents.formats.test_pptx import pptx
from tests.kinds import LABELS, classifier, encoder, language_model, picture, seer
from tests.models.published.formats.foreign_files import llama, llama_gguf
from tests.taught import SHAPE, SOURCES, TARGETS, taught

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Shown(NamedTuple):
    """A command as a page shows it."""

    page: str
    words: tuple[str, ...]

    @property
    def arguments(self) -> list[str]:
        """What follows `headwise`."""
        return list(self.words[self.words.index("headwise") + 1 :])


def code_lines(text: str) -> Iterator[str]:
    """The lines of fenced blocks that hold commands, and of blocks indented by four; continued lines joined."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    fenced = [block for language, block in blocks if language in ("", "sh", "console")]
    outside = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    (\S.*)$", outside, re.MULTILINE)
    for block in (*fenced, "\n".join(indented)):
        yield from block.replace("\\\n", " ").splitlines()


def shown(program: str) -> list[Shown]:
    """The commands of all pages that call this program, each once; `$ ` and what comes before a pipe are dropped."""
    found = {}
    for page in PAGES:
        for line in code_lines(page.read_text(encoding="utf-8")):
            command = line.removeprefix("$ ").split(" | ")[-1]
            if "#SBATCH" in command or program not in command:
                continue
            words = tuple(shlex.split(command, comments=True))
            if program in words and words[0] in ("headwise", "python", "torchrun", "srun", "OMP_NUM_THREADS=1"):
                found.setdefault(words, Shown(str(page.relative_to(ROOT)), words))
    return list(found.values())


def parsed(command: Shown) -> argparse.Namespace:
    try:
        return parser().parse_args(["1/8" if "$" in word else word for word in command.arguments])
    except SystemExit:
        pytest.fail(f"{command.page} shows a command that the parser refuses: {shlex.join(command.words)}")


COMMANDS = shown("headwise")


def name(command: Shown) -> str:
    return f"{Path(command.page).stem}: {' '.join(command.arguments)[:70]}"


@pytest.mark.parametrize("command", COMMANDS, ids=name)
def test_a_command_is_one_that_the_parser_takes(command: Shown) -> None:
    args = parsed(command)
    assert getattr(args, "engine", AUTO) in (AUTO, *ENGINES)


def test_commands_are_found_in_readme_and_docs() -> None:
    pages = {command.page for command in COMMANDS}
    assert {"README.md", "docs/bulk.md", "docs/distillation.md", "docs/engines.md", "docs/families.md"} <= pages
    assert {command.arguments[0] for command in COMMANDS} > {"train", "translate", "evaluate", "convert", "inspect"}


# ---- running them

ONLY_PARSED = {
    "torchrun": "needs several processes (tests/train/processes and tests/system run them)",
    "srun": "needs Slurm",
    "/shared/": "needs a disk that several machines share",
    "recipes/": "needs a corpus that is not shipped",
    "docs/results/": "a measurement at full size",
    "headwise serve": "runs until it is stopped (tests/serve runs it)",
    "keys remove": "needs the key of an earlier line",
}


def why_not_run(command: Shown) -> str:
    text = f"{command.page} {shlex.join(command.words)}"
    return next((why for mark, why in ONLY_PARSED.items() if mark in text), "")


RUN = [command for command in COMMANDS if not why_not_run(command)]

ENGLISH = ["train.en.xz", "train.en", "test.en", "book.en.xz", "book.en", "web.en.xz", "english.txt.xz", "a.en"]
GERMAN = ["train.de.xz", "train.de", "test.de", "news.de.xz", "a.fr"]
RECIPE_SIDES = ["europarl.en.xz", "europarl.de.xz", "valid.en", "valid.de"]
TEXTS = ["book.txt", "books.txt.xz", "articles.txt", "articles.txt.xz", "reviews.txt"]
PAIRS = ["memory.tmx", "terms.tmx", "my-terms.tmx", "glossary.tsv", "terms.tsv", "pairs.tsv", "synthetic.tsv"]
LABELLED = ["reviews.tsv", "train.tsv", "dev.tsv"]
SMALL_RUN = [
    "train.steps=2",
    "train.batch_tokens=256",
    "train.validate_every=2",
    "train.checkpoint_every=1",
    "language.block=8",
]


def write(path: Path, text: str) -> None:
    opened = lzma.open if path.suffix == ".xz" else open
    with opened(path, "wt", encoding="utf-8") as file:
        file.write(text)


def lines(texts: list[str]) -> str:
    return "".join(f"{text}\n" for text in texts)


def tmx(pairs: list[tuple[str, str]], target: str) -> str:
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{s}</seg></tuv><tuv xml:lang="{target}"><seg>{t}</seg></tuv></tu>\n'
        for s, t in pairs
    )
    return f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="en"/><body>\n{units}</body></tmx>\n'


def documents(home: Path) -> None:
    """The documents that commands translate; all of them are as small as one sentence."""
    (home / "report.docx").write_bytes(docx(f"<w:p><w:r><w:t>{SOURCES[0]}</w:t></w:r></w:p>"))
    (home / "contract.odt").write_bytes(odt(f"<text:p>{SOURCES[0]}</text:p>"))
    (home / "slides.pptx").write_bytes(pptx())
    write(home / "messages.po", f'msgid "{SOURCES[0]}"\nmsgstr ""\n')
    write(home / "prices.csv", f"Name,Description\nCat,{SOURCES[0]}\n")
    (home / "website").mkdir()
    write(home / "website" / "index.html", f"<p>{SOURCES[0]}</p>")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every file and model that the pages name, all very small. Read only."""
    home = tmp_path_factory.mktemp("home")
    pairs = list(zip(SOURCES, TARGETS, strict=True))
    for file in (*ENGLISH, *TEXTS, *(file for file in RECIPE_SIDES if ".en" in file)):
        write(home / file, lines(SOURCES))
    for file in (*GERMAN, *(file for file in RECIPE_SIDES if ".de" in file)):
        write(home / file, lines(TARGETS))
    for file in PAIRS:
        table = "en\tde\n" + lines([f"{source}\t{target}" for source, target in pairs])
        write(home / file, tmx(pairs, "fr" if "terms" in file else "de") if file.endswith(".tmx") else table)
    write(home / "checked.tsv", "en\tde\nMy sister finds a dog.\tMeine Schwester findet einen Hund.\n")
    for file in LABELLED:
        write(home / file, "sentence\tlabel\n" + lines([f"{s}\t{LABELS[i % 3]}" for i, s in enumerate(SOURCES)]))
    picture(home / "cat.png", (200, 100, 50))
    for colour, label in enumerate(LABELS):
        (home / "photos" / label).mkdir(parents=True)
        for number in range(4):
            picture(home / "photos" / label / f"{number}.png", (80 * colour, 20 * number, 99))
    documents(home)
    recipe = re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    write(home / "recipe.toml", re.sub(r'^folder = ".*?"', 'folder = "."', recipe, flags=re.MULTILINE))
    models(home)
    return home


def models(home: Path) -> None:
    save_model(home / "big-model", taught(steps=20))
    save_model(home / "marian", taught(kind="byte_bpe", shape=MARIAN, steps=0))
    save_model(home / "my-gpt", language_model())
    save_model(home / "my-bert", encoder())
    save_model(home / "sentiment", classifier())
    save_model(home / "my-vit", seer())
    save_model(home / "bert-body", encoder(head=False))
    (home / "smollm2.Q4_1.gguf").write_bytes(llama_gguf(llama(), GGUF_TOKENIZER))
    here = [str(home / name) for name in ("memory.tmx", "glossary.tsv")]
    start = [
        "train",
        "--pairs",
        *here,
        "--from",
        "en",
        "--to",
        "de",
        "--preset",
        "tiny",
        "--out",
        str(home / "my-model"),
    ]
    for arguments in (
        [*start, "--device", "cpu", "--set", *SMALL_RUN, "data.held_out=4"],
        ["convert", str(home / "my-model"), str(home / "my-model-int8"), "--precision", "int8"],
        ["convert", str(home / "marian"), str(home / "opus-mt-en-fr"), "--to", "huggingface"],
        ["convert", str(home / "bert-body"), str(home / "minilm"), "--to", "huggingface"],
    ):
        assert main(arguments) == 0
    shutil.copytree(home / "my-model-int8", home / "small")
    shutil.copytree(home / "minilm", home / "SRC")
    shutil.copytree(home / "big-model", home / "demo")
    shutil.copytree(home / "big-model", home / "de-en")  # in name only


MARIAN = replaced(SHAPE, {"norm.order": "post", "positions.kind": "sinusoidal_halves", "output.bias": True})

GGUF_TOKENIZER = {
    "tokenizer.ggml.model": ("str", "llama"),
    "tokenizer.ggml.tokens": ("[str]", ["<unk>", "<s>", "</s>", *"\u2581abcdef"]),
    "tokenizer.ggml.scores": ("[f32]", [0.0] * 10),
    "tokenizer.ggml.token_type": ("[i32]", [2, 3, 3] + [1] * 7),
}


def tiny(arguments: list[str]) -> list[str]:
    """The command with the size of its model and run made small; words with a `*` expanded as a shell does."""
    words = [
        word for given in arguments for word in (sorted(map(str, Path().glob(given))) if "*" in given else [given])
    ]
    if words[0] not in ("train", "distill"):
        return words
    held_out = [] if {"--valid-pairs", "--images"} & {*words} else ["data.held_out=4"]
    if "--preset" in words:
        words[words.index("--preset") + 1] = "tiny"
    shape = [] if "--init" in words else ["model.width=48"]
    return [*words, "--device", "cpu", "--set", *SMALL_RUN, *held_out, *shape]


def free_outputs(arguments: list[str]) -> None:
    """Remove what the command is to make, where a model of that name was laid ready for others."""
    outs = [arguments[i + 1] for i, word in enumerate(arguments[:-1]) if word == "--out"]
    if arguments[0] == "convert":
        outs.append(arguments[2])
    for out in outs:
        if Path(out).is_dir():
            shutil.rmtree(out)
        Path(out).unlink(missing_ok=True)


@pytest.mark.parametrize("command", RUN, ids=name)
def test_a_command_runs_on_tiny_data(
    command: Shown,
    home: Path,
    small_bundled: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(home, tmp_path / "here", dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A dog eats an apple.\n")))
    arguments = tiny(command.arguments)
    free_outputs(arguments)
    code = main(arguments)
    assert code == 0, f"{command.page}: {shlex.join(command.words)}\n{capsys.readouterr().err}"


@pytest.mark.parametrize(
    "command", [c for c in COMMANDS if why_not_run(c) and c.arguments[0] == "train" and "recipe.toml" not in c.words],
    ids=name,
)  # fmt: skip
def test_a_training_command_that_is_not_run_gives_a_recipe(command: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    args = parsed(command)
    if args.init or args.recipe == "student.toml":
        pytest.skip("needs a model or a recipe that is not shipped")
    resolve(run_tables(args.recipe, run_keywords(args)))


# ---- options, keys, scripts, links and examples

OTHERS = {"--nproc-per-node", "--nnodes", "--standalone", "--max-restarts", "--rdzv-backend", "--rdzv-endpoint"}
OTHERS |= {"--rdzv-id", "--nodes", "--help", "--version"}
"""Options of torchrun and Slurm, and those that argparse adds."""


def own_options() -> set[str]:
    (commands,) = (action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return {
        option
        for command in commands.choices.values()
        for nested in (command, *subcommands(command))
        for action in nested._actions
        for option in action.option_strings
    }


def subcommands(command: argparse.ArgumentParser) -> list[argparse.ArgumentParser]:
    found = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
    return [parser for action in found for parser in action.choices.values()]


def script_options(path: Path) -> set[str]:
    """Options by their literals; a bare one, such as "encoder", may be made into an option in a loop."""
    return {f"--{found}" for found in re.findall(r'"(?:--)?([a-z][a-z0-9-]*)"', path.read_text(encoding="utf-8"))}


SCRIPTS = [*sorted((ROOT / "benchmarks").glob("*.py")), *sorted((ROOT / "scripts").glob("*.py"))]
SCRIPTS += [ROOT / "docs" / "make_tour.py", ROOT / "tests" / "system" / "__main__.py"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_option_in_the_prose_exists(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", " ".join(re.findall(r"`([^`]+)`", prose))))
    known = own_options() | OTHERS | {option for script in SCRIPTS for option in script_options(script)}
    if page.stem == "export":
        known |= {"--beam"}
    assert named - known == set()


def has_key(table: Any, key: str) -> bool:
    """Whether a dotted key of a recipe names a field of this config class, or of one within it."""
    first, _, rest = key.partition(".")
    kinds = get_type_hints(table)
    if first not in kinds:
        return False
    within = [kind for kind in (kinds[first], *get_args(kinds[first])) if is_dataclass(kind)]  # an optional table too
    return not rest or any(has_key(kind, rest) for kind in within)


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "CONTRIBUTING"], ids=lambda page: page.stem)
def test_every_recipe_key_that_is_named_exists(page: Path) -> None:
    tables = "|".join(name for name, kind in get_type_hints(Recipe).items() if is_dataclass(kind))
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(rf"(?<![\w./-])((?:{tables})\.[a-z_][a-z_.]*)(?= ?=|`)", text))
    files = {name for name in named if name.endswith((".json", ".safetensors"))}
    assert [key for key in sorted(named - files) if not has_key(Recipe, key)] == []


def test_the_python_examples_are_typed(tmp_path: Path) -> None:
    """mypy is quick here once it has checked the package, as scripts/test has it do before the tests."""
    api = pytest.importorskip("mypy.api", reason="a development dependency")
    files = []
    for page in PAGES:
        for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)):
            if "import headwise\n" in code:
                files.append(tmp_path / f"{page.stem}_{number}.py".lower().replace("-", "_"))
                files[-1].write_text(code, encoding="utf-8")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(ROOT / ".mypy_cache" / sys.platform)]
    report, errors, status = api.run([*settings, *map(str, files)])
    assert files
    assert status == 0, report + errors


@pytest.mark.parametrize(
    "command", [c for c in shown("python") if any(w.endswith(".py") for w in c.words)], ids=lambda c: " ".join(c.words)
)
def test_a_script_that_is_called_exists_with_its_options(command: Shown) -> None:
    path = next(ROOT / word for word in command.words if word.endswith(".py"))
    if path.parts[-2] == "fast":  # written beside an export; tests/models/export runs it
        return
    assert path.is_file(), f"{command.page} calls {path}"
    known = script_options(path)
    for module in re.findall(r"from benchmarks\.(\w+)|import (\w+)", path.read_text(encoding="utf-8")):
        beside = path.parent / f"{module[0] or module[1]}.py"
        known |= script_options(beside) if beside.is_file() else set()
    assert {word.split("=")[0] for word in command.words if word.startswith("--")} <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text)
    local = [link for link in links if not re.match(r"https?:|mailto:|#", link)]
    assert [link for link in local if not (page.parent / link.split("#")[0]).exists()] == []
    labelled = re.findall(r"\[([\w./]+\.(?:py|h|md|toml))\]\(([^)#\s]+)", text)
    assert [f"{label} -> {link}" for label, link in labelled if not link.endswith(label)] == []


def test_the_recipe_of_the_docs_is_valid() -> None:
    for block in re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "recipes.md").read_text("utf-8"), re.DOTALL):
        resolve(tomllib.loads(block))

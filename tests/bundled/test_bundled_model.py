"""The model that the package ships: what it says, how fast, how large."""

import json
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import headwise
from headwise.bundled.find import BUNDLED
from headwise.decode.engines.native.library import supported
from headwise.model_list import list_models
from tests.commands import Capture, ok, shell

ROOT = Path(__file__).parent.parent.parent
LANGUAGES = ("en", "de", "fr", "it", "hi")
MOST_BYTES = 45_000_000
MOST_MEMORY = 300_000_000
SECONDS = 1.0
"""Until a command has printed its first translation."""

native = pytest.mark.skipif(not supported(), reason="the native engine does not run here")

# --- what it says --------------------------------------------------------------------------------------

EXPECTED = {
    ("I ate an apple.", "de"): {"Ich habe einen Apfel gegessen.", "Ich aß einen Apfel."},
    ("How are you?", "hi"): {"आप कैसे हैं?", "तुम कैसे हो?"},
    ("I love you very much.", "it"): {"Ti amo molto.", "Ti amo tanto."},
    ("Conduis prudemment.", "en"): {"Drive carefully.", "Drive safely."},
    ("Guten Morgen!", "en"): {"Good morning!"},
    ("Good morning!", "de"): {"Guten Morgen!"},
    ("Where is the station?", "fr"): {"Où est la gare ?", "Où est la gare?", "Où se trouve la gare ?"},
}


@pytest.mark.parametrize(("text", "to"), EXPECTED, ids=lambda value: str(value)[:24])
def test_a_sentence(text: str, to: str, bundled_model: Path) -> None:
    found = headwise.translate(text, to=to)
    assert re.sub(r"\s+", " ", found.text) in EXPECTED[text, to]
    assert headwise.translate(text, to=to, source=found.detected).text == found.text


def test_the_first_example(bundled_model: Path, tmp_path: Path, capsys: Capture) -> None:
    assert ok(capsys, "translate", "I ate an apple.", "--model", BUNDLED, "--to", "de") == (
        "Ich habe einen Apfel gegessen.\n"
    )


def test_every_language_becomes_every_other(bundled_model: Path) -> None:
    greetings = {"en": "Good morning!", "de": "Guten Morgen!", "fr": "Bonjour !", "it": "Buongiorno!", "hi": "नमस्ते!"}
    for target in LANGUAGES:
        found = dict(zip(greetings, headwise.translate(greetings.values(), to=target), strict=True))
        assert found[target].text == greetings[target], "a text in the target language stays as it is"
        for source in set(LANGUAGES) - {target}:
            assert found[source].complete
            assert found[source].text not in ("", greetings[source])


# --- how it is stored ----------------------------------------------------------------------------------


def test_it_is_small_and_says_what_it_is(bundled_model: Path) -> None:
    listed = next(model for model in list_models() if model.name == BUNDLED)
    assert listed.problem == ""
    assert listed.bytes <= MOST_BYTES
    assert (listed.kind, listed.precision) == ("translation", "int8")
    assert {*listed.languages} == {*LANGUAGES}
    directions = {
        tuple(direction) for direction in json.loads((bundled_model / "config.json").read_text())["task"]["directions"]
    }
    assert directions >= {("en", other) for other in LANGUAGES[1:]} | {(other, "en") for other in LANGUAGES[1:]}
    assert listed.bleu, "scores.json has a table with `bleu` per test set"
    assert (bundled_model / "README.md").is_file()


@pytest.mark.parametrize(
    "file", ["config.json", "model.safetensors", "shortlist.safetensors", "tokenizer.model", "x.json"]
)
def test_git_ignores_no_file_of_it(file: str) -> None:
    """A wheel has the files of the package that git does not ignore."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    path = f"src/headwise/bundled/model/{file}"
    done = subprocess.run(["git", "check-ignore", path], cwd=ROOT, capture_output=True, check=False, timeout=60)
    assert done.returncode == 1, done.stdout


# --- how fast ------------------------------------------------------------------------------------------


@native
def test_the_first_translation_takes_less_than_a_second(bundled_model: Path) -> None:
    """CPU time of one thread, the best of three: on an idle machine the command takes no longer than that, and other
    tests may be running beside this one."""
    times = []
    for _ in range(3):
        before = _cpu_seconds()
        done = shell("translate", "I ate an apple.", "--model", BUNDLED, "--to", "de")
        times.append(_cpu_seconds() - before)
        assert done.stdout.decode() == "Ich habe einen Apfel gegessen.\n", done.stderr
    assert min(times) < SECONDS


def _cpu_seconds() -> float:
    """CPU time of the processes that this one has started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@native
def test_neither_pytorch_nor_much_memory_is_needed(bundled_model: Path) -> None:
    script = (
        "import sys, re, headwise\n"
        "for to in ('en', 'de', 'fr', 'it', 'hi'):\n"
        "    headwise.translate(['I ate an apple.', 'Wo ist der Bahnhof?'], to=to)\n"
        "assert 'torch' not in sys.modules\n"
        "print(re.search(r'VmHWM:\\s+(\\d+) kB', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert int(done.stdout) * 1024 < MOST_MEMORY

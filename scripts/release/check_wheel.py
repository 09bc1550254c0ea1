"""Try a wheel as a user gets it: in a new virtual environment, without a compiler, and without the repository.

    python scripts/release/check_wheel.py dist/headwise-*.whl

Installs the wheel with its dependencies, checks that nothing heavy came along and that the native library and the
bundled model are inside, translates a sentence, and prints sizes, times and memory as JSON. `--model` names another
int8 model, `--python` another interpreter; `--library-only` installs the wheel alone and loads its library, for systems
without SentencePiece's wheels.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

MOST_BYTES = 80_000_000
"""The most that the wheel and its dependencies may take, without the bundled model and bytecode."""
HEAVY = {"torch", "matplotlib", "sacrebleu", "pillow", "rich", "tokenizers", "transformers", "triton"}
SENTENCE = "The cat sees the house."

MEMORY = """
import re, sys
from headwise.cli import main
status = main(sys.argv[1:])
peak = 0
if sys.platform == "linux":  # getrusage would count what the process that started this one had in memory
    peak = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
elif sys.platform == "darwin":
    import resource
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
heavy = [name for name in {heavy!r} if name in sys.modules]
print("PEAK", peak, *heavy, file=sys.stderr)
sys.exit(status)
"""


class WheelError(Exception):
    """The wheel is not fit to be published; the message says why."""


class Environment:
    """A new virtual environment; commands in it see no compiler and nothing of the caller's Python."""

    def __init__(self, folder: Path, python: str) -> None:
        if python:
            subprocess.run([python, "-m", "venv", str(folder)], check=True)
        else:
            venv.create(folder, with_pip=True)
        self.folder = folder
        self.programs = folder / ("Scripts" if os.name == "nt" else "bin")
        kept = ("HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LOCALAPPDATA", "USERPROFILE", "LANG", "OMP_NUM_THREADS")
        kept += ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE")
        self.variables = {name: value for name, value in os.environ.items() if name in kept or name.startswith("PIP_")}
        self.variables |= {"PATH": str(self.programs), "XDG_CACHE_HOME": str(folder / "cache")}

    def run(self, *command: object) -> subprocess.CompletedProcess[str]:
        program, *arguments = map(str, command)
        found = subprocess.run(
            [str(self.programs / program), *arguments],
            capture_output=True,
            encoding="utf-8",
            env=self.variables,
            cwd=self.folder,
            check=False,
        )
        if found.returncode:
            raise WheelError(f"{program} {' '.join(arguments)[:200]} failed:\n{found.stdout}{found.stderr}")
        return found

    def packages(self) -> Path:
        return Path(self.run("python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip())


def size(folder: Path, *, bytecode: bool = False) -> int:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sum(path.stat().st_size for path in files if bytecode or path.suffix != ".pyc")


def check(wheel: Path, model: Path | None, place: Path, python: str = "", sentence: str = SENTENCE) -> dict[str, Any]:
    """Install and try the wheel in `place`; returns what was measured."""
    environment = Environment(place / "venv", python)
    packages = environment.packages()
    before = size(packages), size(packages, bytecode=True)
    begun = time.perf_counter()
    environment.run("python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", wheel)
    seconds = time.perf_counter() - begun
    listed = json.loads(environment.run("python", "-m", "pip", "list", "--format", "json").stdout)
    installed = {package["name"].lower(): package["version"] for package in listed}
    if found := HEAVY & installed.keys():
        raise WheelError(f"{wheel.name} installs {', '.join(sorted(found))}")
    bundled_bytes = size(bundled_model_in(packages))
    light = size(packages) - before[0] - bundled_bytes
    if light > MOST_BYTES:
        raise WheelError(f"{wheel.name} takes {light / 1e6:.1f} MB with its dependencies, over {MOST_BYTES / 1e6:.0f}")
    library = library_in(packages)
    result = {
        "wheel": wheel.name,
        "wheel_bytes": wheel.stat().st_size,
        "installed_bytes": light,
        "installed_bytes_with_bytecode": size(packages, bytecode=True) - before[1] - bundled_bytes,
        "library_bytes": library.stat().st_size,
        "install_seconds": round(seconds, 2),
        "packages": {name: version for name, version in installed.items() if name not in ("pip", "setuptools")},
        "python": environment.run("python", "-c", "import platform; print(platform.python_version())").stdout.strip(),
        "engines": json.loads(environment.run("headwise", "info", "--json").stdout)["engines"],
    }
    if not result["engines"]["int8"].startswith("yes"):
        raise WheelError(f"{wheel.name} cannot run here: {result['engines']['int8']}")
    if "(portable" in result["engines"]["int8"]:  # the level in use: the compiler was too old, or not understood
        raise WheelError(f"{wheel.name} has no fast level for this CPU: {result['engines']['int8']}")
    named = [] if model is None else ["--model", str(model.resolve())]
    return result | translate(environment, [*named, "--to", "de", sentence])


def translate(environment: Environment, arguments: list[str]) -> dict[str, Any]:
    """Time and memory of a command that translates one text: the very first, and the best of five more."""
    times, cpu, text = [], [], ""
    for _ in range(6):
        begun, used = time.perf_counter(), child_seconds()
        text = environment.run("headwise", "translate", *arguments).stdout.strip()
        times.append(time.perf_counter() - begun)
        cpu.append(child_seconds() - used)
    if not text:
        raise WheelError("the translation is empty")
    script = MEMORY.format(heavy=sorted(HEAVY))
    said = environment.run("python", "-c", script, "translate", *arguments).stderr
    peak, *heavy = re.findall(r"PEAK (.*)", said)[-1].split()
    if heavy:
        raise WheelError(f"translation loads {', '.join(heavy)}")
    return {
        "translation": text,
        "first_seconds": round(times[0], 3),
        "seconds": round(min(times[1:]), 3),
        "cpu_seconds": round(min(cpu[1:]), 3),
        "peak_bytes": int(peak),
    }


def child_seconds() -> float:
    """CPU time of finished child processes; 0 on Windows."""
    found = os.times()
    return found.children_user + found.children_system


def library_in(packages: Path) -> Path:
    """The native library of an installed wheel."""
    folder = packages / "headwise" / "decode" / "engines" / "native"
    found = [path for path in folder.iterdir() if path.suffix in (".so", ".dylib", ".dll")]
    if len(found) != 1:
        raise WheelError(f"the wheel has {len(found)} native libraries, not one")
    return found[0]


def bundled_model_in(packages: Path) -> Path:
    """The bundled model of an installed wheel."""
    folder = packages / "headwise" / "bundled" / "model"
    if not (folder / "model.safetensors").is_file():
        raise WheelError("the wheel has no bundled model")
    return folder


def check_library(wheel: Path, place: Path, python: str = "") -> dict[str, Any]:
    """Install the wheel without its dependencies, and load its library."""
    environment = Environment(place / "venv", python)
    environment.run("python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", wheel)
    code = "import ctypes, sys; ctypes.CDLL(sys.argv[1]); import headwise; print(headwise.__version__)"
    version = environment.run("python", "-c", code, library_in(environment.packages())).stdout.strip()
    return {"wheel": wheel.name, "version": version, "library": "loaded"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("wheels", nargs="+", type=Path, metavar="WHEEL")
    parser.add_argument("--model", type=Path, help="int8 folder (default: the bundled model)")
    parser.add_argument("--sentence", default=SENTENCE, help="English text to translate to German")
    parser.add_argument("--python", default="", help="interpreter to install for (default: this one)")
    parser.add_argument("--library-only", action="store_true", help="load the library, translate nothing")
    args = parser.parse_args()
    for wheel in args.wheels:
        with tempfile.TemporaryDirectory() as place:
            try:
                if args.library_only:
                    result = check_library(wheel.resolve(), Path(place), args.python)
                else:
                    result = check(wheel.resolve(), args.model, Path(place), args.python, args.sentence)
            except WheelError as error:
                sys.exit(f"{wheel}: {error}")
        print(json.dumps(result, ensure_ascii=False, indent=2))


if __name__ == "__main__":
    main()

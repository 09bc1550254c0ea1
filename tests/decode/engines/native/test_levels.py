"""Every level of instructions gives the same results, bit for bit, and none runs where the CPU lacks them."""

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from headwise.decode.engines.native import compile as build_step
from headwise.decode.engines.native import library
from headwise.decode.engines.native.compile import compile_library, compiler
from headwise.decode.engines.native.levels import NAMES, VARIABLE, chosen_level, described
from headwise.decode.engines.native.library import Library, supported, why_not
from headwise.decode.engines.native.native_decoder import NativeDecoder
from headwise.decode.engines.native.native_model import NativeModel
from headwise.decode.search.hypothesis import Hypothesis
from headwise.decode.search.options import SearchOptions, SearchRequest
from headwise.decode.translation import TranslateOptions
from headwise.decode.translator import Translator
from headwise.errors import HeadwiseError
from headwise.nn.int8 import to_int8
from tests.decode.engines.native.test_native_model import EOS, PAD, SHAPES, SOS, model_of, native_model, sources
from tests.taught import SOURCES

pytestmark = pytest.mark.skipif(
    not supported() and "failed" not in why_not(), reason=f"no native engine here: {why_not()}"
)
RUNNING = [name for name, runs in library.library().levels.items() if runs] if supported() else []


Levels = dict[str, Library]
"""Each level that runs here, and the library that runs it."""


@pytest.fixture(scope="module")
def every_level(tmp_path_factory: pytest.TempPathFactory) -> Levels:
    """A CPU with AVX-512 VNNI runs the code of AVX-VNNI, too, in the encoding that it knows."""
    levels = dict.fromkeys(RUNNING, library.library())
    if "avx512vnni" in levels and "avxvnni" not in levels:
        path = tmp_path_factory.mktemp("levels") / library.LIBRARY
        compile_library(path, compiler(), extra=("-DHEADWISE_EMULATE_AVXVNNI", "-O1"))
        assert list(path.parent.iterdir()) == [path]  # nothing half-made beside it
        levels["avxvnni"] = Library(path)
    return levels


def at_level(
    level: str, levels: Levels, model: object, monkeypatch: pytest.MonkeyPatch, threads: int = 1
) -> NativeModel:
    monkeypatch.setattr(library, "_found", lambda: levels[level])
    monkeypatch.setenv(VARIABLE, level)
    made = native_model(model, threads)
    assert made.engine.level == level
    return made


def plain_of(found: list[list[Hypothesis]]) -> list[tuple[object, ...]]:
    return [(one.tokens, one.score, one.log_probability, one.finished) for sentence in found for one in sentence]


class TestBitForBit:
    @pytest.mark.parametrize("name", SHAPES)
    @torch.inference_mode()
    def test_steps(self, name: str, every_level: Levels, monkeypatch: pytest.MonkeyPatch) -> None:
        """A whole table of log-probabilities, after a beam was reordered: the sums of all kernels are in it."""
        model = to_int8(model_of(**SHAPES[name]))
        source = sources(5, 37)
        tables = {}
        for level in every_level:
            native = NativeDecoder(at_level(level, every_level, model, monkeypatch))
            _, state = native.step(torch.full((5,), SOS), native.start(source))
            state = native.select(state, torch.tensor([0, 0, 0, 0, 0, 1, 2, 2, 3, 4]))
            for token in range(10, 13):
                tables[level], state = native.step(torch.arange(token, token + 10), state)
        assert all(torch.equal(table, tables[RUNNING[0]]) for table in tables.values())

    @pytest.mark.parametrize("rows", [*range(1, 14), 15, 16, 17, 31, 32, 33, 47, 48, 49, 79])
    @torch.inference_mode()
    def test_any_number_of_rows(self, rows: int, every_level: Levels, monkeypatch: pytest.MonkeyPatch) -> None:
        """Tiles of rows are of another height at each level; whatever is left over has its own code."""
        model = to_int8(model_of())
        tables = []
        for level in every_level:
            native = NativeDecoder(at_level(level, every_level, model, monkeypatch))
            state = native.select(native.start(sources(1, 3)), torch.zeros(rows, dtype=torch.int64))
            tables.append(native.step(torch.arange(10, 10 + rows), state)[0])
        assert all(torch.equal(table, tables[0]) for table in tables)

    @pytest.mark.parametrize("width", [16, 48, 64, 592])
    @torch.inference_mode()
    def test_the_largest_weights_and_inputs(
        self, width: int, every_level: Levels, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where two products do not fit into 16 bits: the instruction of AVX2 saturates."""
        shape = {"width": width, "attention.heads": 1, "attention.head_width": 16, "positions.kind": "none"}
        model = to_int8(model_of(**shape, **{"embedding.norm": True, "feed_forward.hidden": 2048}))
        for parameter in model.parameters():
            if parameter.dtype == torch.int8:  # a norm of such rows has no small values
                parameter.data = torch.where(parameter.data >= 0, 127, -127).to(torch.int8)
        tables = []
        for level in every_level:
            native = NativeDecoder(at_level(level, every_level, model, monkeypatch))
            tables.append(native.step(torch.full((5,), SOS), native.start(sources(5)))[0])
        assert tables[0].isfinite().all()
        assert all(torch.equal(table, tables[0]) for table in tables)

    @pytest.mark.parametrize("beam", [1, 4])
    def test_searches(self, beam: int, every_level: Levels, monkeypatch: pytest.MonkeyPatch) -> None:
        model = to_int8(model_of(vocabulary=700, output__scale=4.0))
        rows = sources(12, 30).tolist()
        options = SearchOptions(SOS, EOS, beam=beam, nbest=beam, length_penalty=0.6, exact=False, forbidden=(PAD,))
        request = SearchRequest(rows, [40] * 12, options, [[]] * 12)
        found = [
            plain_of(at_level(level, every_level, model, monkeypatch, threads=2).search(request))
            for level in every_level
        ]
        assert all(each == found[0] for each in found)

    def test_translations_with_alignments(
        self, every_level: Levels, small_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = []
        for level in every_level:
            monkeypatch.setattr(library, "_found", lambda level=level: every_level[level])
            monkeypatch.setenv(VARIABLE, level)
            translator = Translator(small_folder, device="cpu")
            options = TranslateOptions(beam=3, alignments=True)
            made = translator.translate(SOURCES, source="en", target="de", options=options)
            found.append([(one.text, one.score, one.alignment) for one in made])
        assert all(each == found[0] for each in found)

    @torch.inference_mode()
    def test_a_broken_model_is_loud_everywhere(self, every_level: Levels, monkeypatch: pytest.MonkeyPatch) -> None:
        model = model_of(tie="none")
        model.source_embedding.weight.data[9] = float("nan")
        for level in every_level:
            native = NativeDecoder(at_level(level, every_level, model, monkeypatch))
            table, _ = native.step(torch.full((2,), SOS), native.start(torch.tensor([[5, 6], [5, 9]])))
            assert table[0].isfinite().all()
            assert table[1].isnan().all()


class TestChoice:
    def test_the_best_that_runs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv(VARIABLE, raising=False)
        assert chosen_level({"avx512vnni": False, "avxvnni": True, "avx2": True, "portable": True}) == "avxvnni"

    def test_by_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, " AVX2 ")
        assert chosen_level({"avx512vnni": True, "avx2": True, "portable": True}) == "avx2"

    @pytest.mark.parametrize(
        ("wanted", "what"),
        [
            ("avx9", "is not the name of a level"),
            ("avxvnni", "does not run on this CPU"),
            ("neon-i8mm", "does not run on this CPU"),
        ],
    )
    def test_a_name_that_cannot_be_used(self, wanted: str, what: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, wanted)
        levels = {"avx512vnni": False, "avxvnni": False, "avx2": True, "portable": True}
        with pytest.warns(UserWarning, match=f"^HEADWISE_ISA={wanted} {what}: using avx2 .of avx2, portable") as caught:
            assert chosen_level(levels) == "avx2"
        assert len(caught) == 1

    def test_of_what_info_shows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv(VARIABLE, "avx2")
        assert described({"avx512vnni": True, "avx2": True, "portable": True}).startswith("avx2; avx512vnni, portable")
        monkeypatch.delenv(VARIABLE)
        assert described({"avx2": False, "portable": True}) == "portable"

    def test_names_are_those_of_the_library(self) -> None:
        assert set(library.library().levels) <= set(NAMES)
        files = {level.replace("_", "-") for levels in build_step.LEVELS.values() for level in levels}
        assert files | {"portable"} == set(NAMES)


class TestNoIllegalInstruction:
    def test_a_level_that_does_not_run_makes_no_engine(self) -> None:
        """Whatever Python asks for, C++ looks at the CPU again."""
        loaded = library.library()
        made = ctypes.c_void_p()
        for number in (-1, len(loaded.levels), *(i for i, runs in enumerate(loaded.levels.values()) if not runs)):
            with pytest.raises(HeadwiseError, match="no such level"):
                loaded.call("engine_new", number, 1, ctypes.byref(made))

    @pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/cpuinfo")
    def test_levels_run_where_the_system_says_so(self) -> None:
        flags = set(Path("/proc/cpuinfo").read_text().split())
        avx512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "fma"}
        needed = {
            "amx": avx512 | {"amx_tile", "amx_int8"},
            "avx512vnni": avx512,
            "avx2": {"avx2", "fma", "f16c"},
            "avxvnni": {"avx2", "fma", "f16c", "avx_vnni"},
            "neon-dotprod": {"asimddp"},
            "neon-i8mm": {"asimddp", "i8mm"},
            "portable": set[str](),
        }
        assert library.library().levels == {name: needed[name] <= flags for name in library.library().levels}

    @pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
    def test_levels_share_no_functions(self, tmp_path: Path) -> None:
        """A linker keeps one copy of an inline function that several files have: it could take that of AVX-512 for all.
        So the file of a level defines nothing with external linkage but its table."""
        for level, flags in build_step.LEVELS[build_step.architecture()].items():
            made = build_step._compiled(compiler(), f"levels/{level}.cpp", flags, tmp_path)
            listed = subprocess.run(["nm", "--defined-only", "--extern-only", made], capture_output=True, text=True)
            [symbol] = listed.stdout.splitlines()
            assert f"{level}_kernels" in symbol
            listed = subprocess.run(["nm", made], capture_output=True, text=True)
            assert "_GLOBAL__sub_I" not in listed.stdout, "it would run when the library is loaded"


@pytest.mark.slow
@pytest.mark.parametrize("level", NAMES)
def test_the_tests_of_the_search_pass_at_each_level(level: str) -> None:
    """All tests of the engine do: `HEADWISE_ISA=avx2 scripts/test tests/decode/engines`, which takes longer."""
    if level not in RUNNING:
        pytest.skip(f"{level} does not run on this CPU")
    if level == RUNNING[0]:
        pytest.skip("they run at this level anyway")
    here = Path(__file__).parent
    tests = str(here / "test_native_search.py")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", tests]
    unset = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_XDIST")}
    done = subprocess.run(
        command,
        env=unset | {VARIABLE: level, "OMP_NUM_THREADS": "1"},
        cwd=here.parents[3],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]

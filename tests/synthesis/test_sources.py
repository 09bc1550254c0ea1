"""The sources that a teacher translates."""

from pathlib import Path

from headwise.config import CorpusConfig, DataConfig, Recipe
from headwise.synthesis.sources import choose_sources


def test_held_out_texts_are_neither_translated_nor_kept_as_references(tmp_path: Path) -> None:
    """Nor a held-out target that comes back with another source."""
    pairs = [(f"sentence number {i}", f"Satz Nummer {i}") for i in range(100)]
    again = [(f"made {source}", target) for source, target in pairs]
    text = "".join(f"{source}\t{target}\n" for source, target in (*pairs, *again))
    (tmp_path / "pairs.tsv").write_text(text, encoding="utf-8")
    corpus = CorpusConfig(pairs=(str(tmp_path / "pairs.tsv"),))
    recipe = Recipe(data=DataConfig("en", "de", (corpus,)), seed=1)
    chosen = choose_sources(recipe, tmp_path / "cache", True, lambda text: None)
    held_out, references = (
        [tuple(line.split("\t")) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
        for path in (chosen.held_out_path(0), chosen.reference_path(0))
    )
    sources = chosen.source_path(0).read_text(encoding="utf-8").splitlines()
    assert len(held_out) == 10
    assert len(references) == len(sources) > 150
    assert not {source for source, _ in held_out} & set(sources)
    assert not {target for _, target in held_out} & {target for _, target in references}

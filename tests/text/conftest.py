"""One tokenizer of each kind, trained once."""

import pytest

from headwise.text.kinds import TOKENIZERS
from headwise.text.tokenizer import Tokenizer
from tests.text.corpus import trained


@pytest.fixture(scope="session")
def tokenizers() -> dict[str, Tokenizer]:
    return {kind: trained(kind) for kind in TOKENIZERS}


@pytest.fixture(params=TOKENIZERS)
def tokenizer(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    """Each kind in turn: a new row of the table is tested by every test that asks for this."""
    return tokenizers[request.param]


@pytest.fixture(params=["unigram", "bpe"])
def subwords(request: pytest.FixtureRequest, tokenizers: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers[request.param]

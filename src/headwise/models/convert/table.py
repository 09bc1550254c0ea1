"""One plain table of the published families."""

from headwise.models.convert.bart import MARIAN
from headwise.models.convert.family import Family
from headwise.models.convert.llama import LLAMA, MISTRAL

PUBLISHED: tuple[Family, ...] = (MARIAN, LLAMA, MISTRAL)
"""In the order in which they are tried for a model that was trained here: the plainest of several that fit first."""

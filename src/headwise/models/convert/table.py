"""One plain table of the published families."""

from headwise.models.convert.albert import ALBERT
from headwise.models.convert.bart import BART, M2M100, MARIAN, MBART, PEGASUS
from headwise.models.convert.bert import BERT, CAMEMBERT, ERNIE, ROBERTA, XLM_ROBERTA
from headwise.models.convert.distilbert import DISTILBERT
from headwise.models.convert.family import Family
from headwise.models.convert.gpt2 import GPT, GPT2
from headwise.models.convert.gpt_neox import GPT_NEOX
from headwise.models.convert.gptj import GPTJ
from headwise.models.convert.llama import LLAMA, MISTRAL
from headwise.models.convert.phi import PHI, PHI3
from headwise.models.convert.roformer import ROFORMER
from headwise.models.convert.t5 import MT5, T5
from headwise.models.convert.vit import VIT

PUBLISHED: tuple[Family, ...] = (
    MARIAN,
    PEGASUS,
    BART,
    MBART,
    M2M100,
    T5,
    MT5,
    VIT,
    GPT,
    GPT2,
    GPT_NEOX,
    GPTJ,
    PHI,
    LLAMA,
    MISTRAL,
    PHI3,
    BERT,
    ROBERTA,
    XLM_ROBERTA,
    CAMEMBERT,
    ERNIE,
    DISTILBERT,
    ALBERT,
    ROFORMER,
)
"""In the order in which they are tried for a model that was trained here: the plainest of several that fit first."""

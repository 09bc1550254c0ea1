"""The table of published families."""

from headwise.models.published.families.albert import ALBERT
from headwise.models.published.families.bart import BART, M2M100, MARIAN, MBART, PEGASUS
from headwise.models.published.families.bert import BERT, CAMEMBERT, ERNIE, ROBERTA, XLM_ROBERTA
from headwise.models.published.families.distilbert import DISTILBERT
from headwise.models.published.families.gpt2 import GPT, GPT2
from headwise.models.published.families.gpt_neox import GPT_NEOX
from headwise.models.published.families.gptj import GPTJ
from headwise.models.published.families.llama import LLAMA, MISTRAL
from headwise.models.published.families.phi import PHI, PHI3
from headwise.models.published.families.roformer import ROFORMER
from headwise.models.published.families.t5 import MT5, T5
from headwise.models.published.families.vit import VIT
from headwise.models.published.family import Family

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
"""In the order in which they are tried when a model is exported: of several that fit, the simplest first."""

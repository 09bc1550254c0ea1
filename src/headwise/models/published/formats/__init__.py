"""Weight files that other programs wrote: Hugging Face folders, GGUF, llama2.c. Read as data, never executed."""

from headwise.models.published.formats.foreign import llama2c_files, read_foreign
from headwise.models.published.formats.gguf import read_gguf
from headwise.models.published.formats.huggingface import GENERATION, read_folder, write_folder
from headwise.models.published.formats.llama2c import read_llama2c
from headwise.models.published.formats.value import Foreign

__all__ = [
    "GENERATION",
    "Foreign",
    "llama2c_files",
    "read_folder",
    "read_foreign",
    "read_gguf",
    "read_llama2c",
    "write_folder",
]

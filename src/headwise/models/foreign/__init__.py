"""Weight files that other programs wrote: Hugging Face folders, GGUF, llama2.c. Read as data, never executed."""

from headwise.models.foreign.folder import GENERATION, read_folder, write_folder
from headwise.models.foreign.gguf import read_gguf
from headwise.models.foreign.llama2c import read_llama2c
from headwise.models.foreign.read import llama2c_files, read_foreign
from headwise.models.foreign.value import Foreign

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

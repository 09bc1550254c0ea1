"""Optional packages: which extra of Headwise installs each, and the error where one is missing.

`pip install headwise` installs what int8 translation needs. PyTorch and the rest come with extras.
"""

import contextlib
import importlib.util
from collections.abc import Iterator

from headwise.errors import MissingPackageError

EXTRAS = {
    "torch": ("PyTorch", "train"),
    "matplotlib": ("Matplotlib", "train"),
    "PIL": ("Pillow", "train"),
    "rich": ("rich", "train"),
    "sacrebleu": ("sacreBLEU", "train"),
    "tokenizers": ("the package tokenizers", "tokenizers"),
    "tensorboard": ("TensorBoard", "tensorboard"),
    "ctranslate2": ("CTranslate2", "export"),
    "pypdf": ("pypdf", "documents"),
    "ruamel": ("ruamel.yaml", "documents"),
    "starlette": ("Starlette", "serve"),
    "uvicorn": ("uvicorn", "serve"),
    "httptools": ("httptools", "serve"),
    "python_multipart": ("python-multipart", "serve"),
}
"""The name that each package is imported by -> what people call it, and the extra that installs it."""


def installed(package: str) -> bool:
    """Whether an optional package can be imported, without importing it."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def command_for(package: str) -> str:
    """The command that installs an optional package."""
    return f"pip install 'headwise[{EXTRAS[package][1]}]'"


def require(package: str, what: str) -> None:
    """Refuse `what` where an optional package is missing; the error has the command that installs it."""
    if not installed(package):
        raise _missing(package, what)


@contextlib.contextmanager
def packages_for(what: str) -> Iterator[None]:
    """Turn a failed import of an optional package within the block into the error of `require`."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in EXTRAS:
            raise
        raise _missing(package, what) from None


def _missing(package: str, what: str) -> MissingPackageError:
    return MissingPackageError(f"{what} needs {EXTRAS[package][0]}: {command_for(package)}", name=package)

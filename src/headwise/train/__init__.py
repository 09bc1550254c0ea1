"""Training: loss, schedules, checkpoints, and the loop that puts them together.

The package is callable: `headwise.train(...)` is `headwise.train.one_call.train`.
"""

import sys
from types import ModuleType
from typing import Any


class _CallablePackage(ModuleType):
    """A package that is also a function: importing a submodule would otherwise replace the function of its name."""

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        from headwise.extras import packages_for

        with packages_for("headwise.train"):
            from headwise.train.one_call import train

            return train(*arguments, **keywords)


sys.modules[__name__].__class__ = _CallablePackage

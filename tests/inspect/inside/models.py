"""Models that are looked into: the taught translator, and random ones of every shape."""

from functools import cache

from headwise.config import ModelConfig
from headwise.inspect.inside.one_translation import OneTranslation, Question, translate_inside
from headwise.inspect.inside.open_inside import InsideModel, inside
from headwise.inspect.inside.switches import Switches
from headwise.models.folder.description import Task
from tests.kinds import loaded, tokenizer
from tests.taught import SOURCES, TARGETS, taught


@cache
def taught_inside() -> InsideModel:
    return inside(taught(), "taught")


@cache
def random_inside(config: ModelConfig) -> InsideModel:
    return inside(loaded(config, Task((("en", "de"),)), tokenizer()), "random")


def translated(switches: Switches = Switches(), number: int = 0, given: bool = False) -> OneTranslation:  # noqa: B008
    translation = TARGETS[number] if given else None
    question = Question(SOURCES[number], "en", "de", translation=translation, switches=switches)
    return translate_inside(taught_inside(), question)


def random_pair(config: ModelConfig) -> OneTranslation:
    """A short pair of texts, which fits into nine positions."""
    return translate_inside(random_inside(config), Question("a dog", "en", "de", translation="ein Hund"))

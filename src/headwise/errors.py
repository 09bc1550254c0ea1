"""Errors that are a person's to fix. The command line prints them as one line, without a traceback."""


class HeadwiseError(Exception):
    """Something a person gave or asked for is wrong; the message says what and what to do."""


class ConfigError(HeadwiseError):
    """A recipe, option or preset that does not exist or does not fit."""


class DataError(HeadwiseError):
    """A corpus that cannot be read as what it claims to be; names the file and, where known, the line."""


class CheckpointError(HeadwiseError):
    """A model folder or checkpoint that is incomplete, damaged or from another version."""


class StoppedError(HeadwiseError):
    """A person, or the system, asked to stop while there was no room to save: what was saved before is all there is."""

    signal = 2
    """The one that asked; whoever received it says which."""


class TrainingError(HeadwiseError):
    """Training cannot go on: too many non-finite steps in a row."""

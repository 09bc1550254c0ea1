"""Errors that users can correct. The command line prints them as one line, without a traceback."""


class HeadwiseError(Exception):
    """An input, an option or a file is wrong; the message says what is wrong and what to do."""


class ConfigError(HeadwiseError):
    """A recipe, an option or a preset that does not exist or does not fit."""


class DataError(HeadwiseError):
    """Data that cannot be read, or not as the format they claim to be; names the file and, if known, the line."""


class CheckpointError(HeadwiseError):
    """A model folder or checkpoint that is incomplete, damaged or from another version."""


class MissingPackageError(HeadwiseError, ImportError):
    """An optional package is not installed; the message has the command that installs it (see `headwise.extras`)."""


class StoppedError(HeadwiseError):
    """A request to stop while the disk was full: only what was saved before is left."""

    signal = 2
    """The signal that requested the stop; set by `StopRequest`."""


class TrainingError(HeadwiseError):
    """Training cannot continue, for example because of too many non-finite steps in a row."""

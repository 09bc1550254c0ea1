"""Recipes: read from TOML, changed by `--set`, turned into the dataclasses of config.py and back into plain tables.

Unknown keys and wrong types are errors: a misspelt key that is silently ignored costs a training run.
"""

import copy
import dataclasses
import difflib
import json
import re
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from headwise.config import ModelConfig
from headwise.errors import ConfigError

C = TypeVar("C")

DEPTH = 20
"""The deepest nesting of a recipe: far more than any needs, far less than Python's stack allows."""

NONE = "none"
"""The value of a key that is not given, whatever a preset sets: TOML has no null."""


def read_recipe(path: Path) -> dict[str, Any]:
    """The tables of a TOML file."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such recipe") from None
    except RecursionError:
        raise ConfigError(f"{path}: not valid TOML: nested too deeply") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from None
    except ValueError:
        raise ConfigError(f"{path}: a number has too many digits") from None
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    if _is_deeper(tables, DEPTH):
        raise ConfigError(f"{path}: tables nested more than {DEPTH} levels deep")
    return tables


def _is_deeper(value: object, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in inner)


def parse_setting(setting: str) -> tuple[str, Any]:
    """Parse `table.key=value`. The value is read as TOML; text that is not TOML is a plain string."""
    name, equals, text = setting.partition("=")
    if not equals or not name.strip():
        raise ConfigError(f"--set needs KEY=VALUE, not {setting!r}")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return name.strip(), text
    except (RecursionError, ValueError):
        value = None
    if value is None or _is_deeper(value, DEPTH) or name.count(".") > DEPTH:
        raise ConfigError(f"--set {name.strip()[:60]}: nested too deeply, or a number has too many digits")
    return name.strip(), value


def override(tables: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The tables with each dotted key of `settings` set."""
    result: dict[str, Any] = copy.deepcopy(dict(tables))
    for name, value in settings.items():
        *parents, key = name.split(".")
        table = result
        for parent in parents:
            if table.get(parent) is None:
                table[parent] = {}
            table = table[parent]
            if not isinstance(table, dict):
                raise ConfigError(f"cannot set {name}: {parent} is not a table")
        table[key] = value
    return result


def overlaid(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables merged: where both have a key, the value of `above` counts; sub-tables are merged too."""
    result = dict(below)
    for key, value in above.items():
        under = result.get(key)
        result[key] = overlaid(under, value) if isinstance(under, Mapping) and isinstance(value, Mapping) else value
    return result


def nested(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Tables without dotted keys: {"attention.heads": 4} becomes {"attention": {"heads": 4}}."""
    result: dict[str, Any] = {}
    for key, value in tables.items():
        first, dot, rest = key.partition(".")
        below = nested({rest: value}) if dot else nested(value) if isinstance(value, Mapping) else value
        result = overlaid(result, {first: below})
    return result


def dotted(tables: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """The leaves of nested tables by their dotted keys, which `override` takes."""
    leaves: dict[str, Any] = {}
    for key, value in tables.items():
        leaves |= dotted(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {prefix + key: value}
    return leaves


def model_config(values: Mapping[str, Any]) -> ModelConfig:
    """The ModelConfig of dotted keys, such as {"width": 64, "attention.heads": 4}."""
    return from_tables(ModelConfig, values, "model.")


def replaced(config: C, values: Mapping[str, Any]) -> C:
    """A copy of a config with these dotted keys changed."""
    where = getattr(config, "where", "")
    return from_tables(type(config), override(to_tables(config), values), where)


def from_tables(kind: type[C], tables: Mapping[str, Any], where: str = "") -> C:
    """Build the dataclass `kind` from plain tables, strictly: every key exists and has the right type."""
    tables = nested(tables)
    check_keys(kind, tables, where)
    return _built(kind, tables, where)


def to_tables(config: object) -> dict[str, Any]:
    """The plain tables of a config: what `from_tables` reads back, and what JSON can hold."""
    tables: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(typing.cast(Any, config))))
    return tables


def check_keys(kind: type, tables: Mapping[str, Any], where: str = "") -> None:
    """Refuse keys that do not exist, and name the key that was probably meant."""
    for table, key, names in _unknown(kind, tables, where):
        near = _near(table + key, [where + name for name in _all_names(kind)])
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(names)}"
        raise ConfigError(f"unknown key {table}{key}: {hint}")


def _unknown(kind: type, tables: Mapping[str, Any], where: str) -> Iterator[tuple[str, str, list[str]]]:
    """Each unknown key: the table it is in, the key, and the keys of that table."""
    fields = _fields(kind)
    for key, value in tables.items():
        if key not in fields:
            yield where, key, list(fields)
            continue
        inner = _table_in(fields[key])
        if inner is not None and isinstance(value, Mapping):
            yield from _unknown(inner, value, f"{where}{key}.")
        elif inner is not None and isinstance(value, list | tuple):
            for number, each in enumerate(value):
                if isinstance(each, Mapping):
                    yield from _unknown(inner, each, f"{where}{key}[{number}].")


def _fields(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(typing.cast(Any, kind))}


def _table_in(hint: Any) -> type | None:
    """The dataclass that a field holds: itself, or None, or several of them."""
    for each in (hint, *typing.get_args(hint)):
        if dataclasses.is_dataclass(each):
            return typing.cast(type, each)
    return None


def _all_names(kind: type) -> Iterator[str]:
    """The dotted names of all keys below a table, sub-tables included."""
    for name, hint in _fields(kind).items():
        yield name
        inner = _table_in(hint)
        if inner is not None:
            yield from (f"{name}.{below}" for below in _all_names(inner))


def _near(unknown: str, names: list[str]) -> list[str]:
    """The one or two dotted names that were probably meant by an unknown one."""
    table, _, key = re.sub(r"\[\d+\]", "", unknown).rpartition(".")
    inside = [name for name in names if not table or name.startswith(f"{table}.")]
    own = [name for name in inside if name.rpartition(".")[0] == table]
    guesses = (
        _ending(f".{key}", inside),  # model.heads: model.attention.heads
        _misspelt(key, own, 0.8),
        [name for name in inside if name.replace(".", "_").endswith(f"_{key}")],  # model.norm_order: model.norm.order
        _ending(f".{key}", names),
        _ending("." + key.rpartition("_")[2], inside) if "_" in key else [],
        _misspelt(key, own, 0.6),
        _misspelt(key, names, 0.75),
    )
    found = next(filter(None, guesses), [])[:2]
    written = unknown.rpartition(".")[0]
    return [name.replace(table, written, 1) if name in own else name for name in found]


def _ending(end: str, names: list[str]) -> list[str]:
    return [name for name in names if name.endswith(end)]


def _misspelt(key: str, names: list[str], cutoff: float) -> list[str]:
    """The name whose last part is nearest to the key, if it is near enough."""
    known = {name.rpartition(".")[2]: name for name in reversed(names)}
    return [known[word] for word in difflib.get_close_matches(key, known, n=1, cutoff=cutoff)]


def _built(kind: type[C], tables: Mapping[str, Any], where: str) -> C:
    fields = _fields(kind)
    return kind(**{key: _value(fields[key], value, where + key) for key, value in tables.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    """The value of a field of this type, or an error that names the type."""
    if dataclasses.is_dataclass(hint):
        return _table(typing.cast(type, hint), value, where)
    origin = typing.get_origin(hint)
    if origin is Annotated:
        kind, *extras = typing.get_args(hint)
        return 0 if isinstance(value, str) and value in extras else _value(kind, value, where)
    if origin is Literal:
        return _choice(typing.get_args(hint), value, where)
    if origin is tuple:
        items = value if isinstance(value, list | tuple) else [value]
        return tuple(_value(typing.get_args(hint)[0], each, f"{where}[{i}]") for i, each in enumerate(items))
    if hint is float and type(value) is int:
        return _float(value, where)
    if origin in (types.UnionType, typing.Union):
        return None if value is None or value == NONE else _value(typing.get_args(hint)[0], value, where)
    if type(value) is not hint:
        raise ConfigError(f"{where} must be {_NAMES.get(hint, str(hint))}, not {value!r}")
    return value


def _choice(choices: tuple[str, ...], value: Any, where: str) -> Any:
    if value not in choices:
        raise ConfigError(f"{where} must be one of {', '.join(choices)}, not {value!r}")
    return value


def _table(kind: type, value: Any, where: str) -> Any:
    if isinstance(value, kind):
        return value
    if not isinstance(value, Mapping):
        hint = f": did you mean {where}.kind?" if "kind" in _fields(kind) else ""
        raise ConfigError(f"{where} must be a table{hint}")
    return _built(kind, value, where + ".")


def _float(value: int, where: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise ConfigError(f"{where}: a number with too many digits") from None


_NAMES = {int: "a whole number", float: "a number", str: "a string", bool: "true or false"}

"""Settings of the server: from a TOML file, the environment and options, under the same names."""

from __future__ import annotations

import dataclasses
import ipaddress
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from headwise.bundled.find import models_folder
from headwise.errors import ConfigError
from headwise.ranges import Between, Checked, Count, Natural, NotNegative, Positive
from headwise.recipe import from_tables, parse_setting, read_recipe

ENVIRONMENT = "HEADWISE_SERVE_"
"""Prefix of the environment variables: HEADWISE_SERVE_PORT sets `port`."""
MEGABYTE = 1_000_000
"""Bytes of a megabyte, the unit of the limits of bodies, files and memory."""


@dataclass(frozen=True)
class ServeSettings(Checked):
    """Everything about a server that its operator can choose."""

    where: ClassVar[str] = "serve."

    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0: all networks of the machine"""
    port: Annotated[int, Between(0, 65535)] = 5000
    """Port to listen on; 0: any free one"""
    models: str = ""
    """Folder with models, or a model or its name; empty: the bundled model and your models folder"""
    device: str = "auto"
    """Device of the models: cpu, cuda, cuda:1 ...; auto: a GPU if there is one"""
    workers: Annotated[int, Between(0, 256)] = 0
    """Processes that translate; 0: a number that suits the cores"""
    threads: Annotated[int, Between(0, 1024)] = 0
    """Threads per worker; 0: the cores divided among the workers"""
    memory: Positive = 4096.0
    """Megabytes of models, as on disk, that a worker keeps loaded"""
    idle: Positive = 3600.0
    """Seconds after which a model that nobody uses is unloaded"""
    beam: Annotated[int, Between(1, 64)] = 4
    """Beam width of a request that does not name one"""
    pivot: bool = False
    """Translate directions that no model has through English"""
    batch_time: Positive = 0.02
    """Seconds of work in a batch; a short request waits for at most two batches"""
    queue: Count = 4_000_000
    """Characters that may wait in the queue; beyond that, requests are refused (503)"""
    cache: Natural = 2_000
    """Translated sentences that are kept for the next request; 0: none"""
    timeout: Positive = 600.0
    """Seconds that a request may take"""
    drain: NotNegative = 30.0
    """Seconds that running requests have to finish after SIGTERM"""
    char_limit: Count = 1_000_000
    """Most characters in a request"""
    batch_limit: Count = 1_000
    """Most texts in a request"""
    alternatives_limit: Annotated[int, Between(0, 63)] = 8
    """Most alternatives per text"""
    beam_limit: Annotated[int, Between(1, 64)] = 8
    """Widest beam that a request may name"""
    glossary_limit: Count = 100_000
    """Most characters in a glossary"""
    quota: Natural = 0
    """Characters that a client of the DeepL API may translate per month, by its key; 0: any number"""
    tokens_limit: Count = 2_048
    """Most tokens that a language model generates for a request"""
    choices_limit: Annotated[int, Between(1, 128)] = 8
    """Most texts that a language model generates for a prompt"""
    body_limit: Positive = 8.0
    """Largest body of a request, in megabytes"""
    file_limit: Positive = 50.0
    """Largest uploaded document, in megabytes"""
    bodies_total: Positive = 500.0
    """Most megabytes of the bodies of all running requests; beyond that, requests are refused (503)"""
    files: bool = True
    """Translate documents (/translate_file)"""
    file_life: Positive = 1800.0
    """Seconds that a translated document can be downloaded"""
    files_total: Positive = 1000.0
    """Most translated documents that are kept, in megabytes"""
    header_timeout: Positive = 10.0
    """Seconds in which a request's headers must arrive"""
    body_timeout: Positive = 60.0
    """Seconds in which a request's body must arrive"""
    connections: Count = 2_048
    """Most connections at a time"""
    state: str = ""
    """Folder of API keys, corrections and glossaries; empty: beside your models folder"""
    key_required: bool = False
    """Refuse requests without an API key"""
    rate: Natural = 0
    """Most requests per minute of a client, by its key or address; 0: no limit"""
    suggestions: bool = False
    """Accept corrections (/suggest), which answer the next request for the same text"""
    trusted_proxies: str = ""
    """Addresses or networks of proxies whose X-Forwarded-For is trusted, separated by commas"""
    cors: str = ""
    """Origins whose pages may call the API, separated by commas; *: any"""
    log: Literal["warning", "info", "debug"] = "info"
    """What is logged: warning, info or debug"""
    log_texts: bool = False
    """Log the texts of requests, at level debug"""

    def __post_init__(self) -> None:
        super().__post_init__()
        for proxy in filter(None, map(str.strip, self.trusted_proxies.split(","))):
            try:
                ipaddress.ip_network(proxy)
            except ValueError:  # a name would match no connection, and all clients would look like one
                if self.trusted_proxies.strip() != "*":
                    raise ConfigError(
                        f"{self.where}trusted_proxies must have addresses or networks such as 10.0.0.0/8, not {proxy!r}"
                    ) from None

    @property
    def state_folder(self) -> Path:
        """The folder of keys, corrections and glossaries, which need not exist."""
        return Path(self.state) if self.state else models_folder().parent / "serve"


def load_settings(
    file: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> ServeSettings:
    """The settings of a server: options override the environment, which overrides the file."""
    tables = read_recipe(Path(file)) if file else {}
    given = {**tables, **_from_environment(environment or {}), **(options or {})}
    return from_tables(ServeSettings, given, ServeSettings.where)


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in environment.items():
        if name.startswith(ENVIRONMENT):
            key = name.removeprefix(ENVIRONMENT).lower()
            try:
                found[key] = parse_value(key, text)
            except ConfigError as error:
                raise ConfigError(f"{name}: {error}") from None
    return found


def parse_value(name: str, text: str) -> Any:
    """The value of a setting that is written as text: what is a string stays one, whatever it looks like."""
    kind = setting_kinds().get(name)
    if kind is str or kind is None or typing.get_origin(kind) is Literal:
        return text
    return parse_setting(f"{name}={text}")[1]


def setting_kinds() -> dict[str, Any]:
    """The type of each setting, without its range."""
    hints = typing.get_type_hints(ServeSettings)
    return {field.name: hints[field.name] for field in dataclasses.fields(ServeSettings)}


def setting_help() -> dict[str, str]:
    """One line about each setting: the text below its field."""
    import ast
    import inspect

    [table] = [node for node in ast.parse(inspect.getsource(ServeSettings)).body if isinstance(node, ast.ClassDef)]
    lines: dict[str, str] = {}
    for field, text in zip(table.body, table.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(text, ast.Expr):
            lines[field.target.id] = str(ast.literal_eval(text.value))
    return lines

"""The prompt of a chat: by the template that the model's folder has, or else as a plain transcript."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from headwise.errors import DataError

Messages = Sequence[dict[str, str]]


@dataclass(frozen=True)
class ChatPrompt:
    """A prompt that the model continues with the assistant's answer."""

    text: str
    stops: list[str] = field(default_factory=list)
    """What ends the answer, beside the model's own end."""


def chat_prompt(folder: Path, messages: Messages) -> ChatPrompt:
    """The prompt of a chat for the model of a folder."""
    template, tokens = _template(folder)
    if template is None:
        lines = [f"{message['role'].capitalize()}: {message['content'].strip()}" for message in messages]
        return ChatPrompt("\n\n".join([*lines, "Assistant:"]), ["\nUser:", "\nSystem:"])
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment  # templates come with models from elsewhere

    def refuse(text: str) -> None:
        raise DataError(f"the model's chat template refuses these messages: {text}")

    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    environment.globals["raise_exception"] = refuse
    names = {**tokens, "bos_token": ""}  # the tokenizer itself begins texts with it, where the model expects it
    try:
        text = environment.from_string(template).render(messages=list(messages), add_generation_prompt=True, **names)
    except jinja2.TemplateError as error:
        raise DataError(f"the model's chat template cannot take these messages: {error}") from None
    return ChatPrompt(text)


def _template(folder: Path) -> tuple[str | None, dict[str, str]]:
    """The template of a folder, and the tokens that it may name."""
    settings = folder / "tokenizer_config.json"
    table = json.loads(settings.read_text(encoding="utf-8")) if settings.is_file() else {}
    tokens = {name: value for name, value in table.items() if name.endswith("_token") and isinstance(value, str)}
    own = folder / "chat_template.jinja"
    if own.is_file():
        return own.read_text(encoding="utf-8"), tokens
    template = table.get("chat_template")
    if isinstance(template, list):  # several, by name
        template = next((each["template"] for each in template if each.get("name") == "default"), None)
    return (template if isinstance(template, str) else None), tokens

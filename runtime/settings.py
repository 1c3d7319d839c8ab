"""The settings a user keeps: one YAML file in the user's config folder, and what the environment says beside it.

    openai: {baseUrl: "http://localhost:11434/v1"}
    models:
      local: {model: "openai:llama3.2", contextTokens: 8192}

YAML, as every other file people write here: its reader knows the line of each value, where the TOML of the standard
library knows none.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from runtime.errors import BadInput, ConfigurationError
from runtime.fields import Fields, Problems
from runtime.files import read_yaml
from runtime.models.endpoint import read_endpoint, read_key, read_proxy
from runtime.models.reach import read_spec
from runtime.models.settings import PROVIDERS, WITHOUT_A_WIRE, ModelEntry, ModelSettings, Timeouts

KEYS = ("openai", "anthropic", "models", "contextTokens", "proxy", "stream", "timeouts")
"""The keys of a settings file."""

_WAITS = {"connect": "connect", "firstByte": "first_byte", "between": "between", "step": "step"}
_VARIABLES = {
    "connect": "STUDIO_CONNECT_SECONDS",
    "first_byte": "STUDIO_FIRST_BYTE_SECONDS",
    "between": "STUDIO_BETWEEN_SECONDS",
    "step": "STUDIO_STEP_SECONDS",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def settings_file(environ: Mapping[str, str] = os.environ) -> Path:
    """The file that is read: the one $STUDIO_SETTINGS names, else `settings.yaml` in the user's config folder."""
    named = environ.get("STUDIO_SETTINGS", "")
    if named:
        return Path(named).expanduser()
    from platformdirs import user_config_path

    return user_config_path("studio-tui", appauthor=False) / "settings.yaml"


def load_settings(path: str | Path | None = None, *, environ: Mapping[str, str] = os.environ) -> ModelSettings:
    """The settings of a file and of the environment, which goes before what the file says for all models.

    `path` None is `settings_file()`; that there is no file in the config folder is no error. Raises BadInput with
    file, line and field, or with the name of the variable; no error shows a key or a password (Q3).
    """
    file = Path(path) if path is not None else settings_file(environ)
    settings = ModelSettings()
    if path is not None or environ.get("STUDIO_SETTINGS") or _is_there(file):
        problems = Problems(str(file))
        settings = _read(Fields.of(read_yaml(file), problems), str(file))
        problems.raise_first()
    return _with_environment(settings, environ)


def _is_there(file: Path) -> bool:
    try:
        return file.exists()
    except OSError:  # what is there but out of reach is an error of reading it
        return True


def _read(fields: Fields, file: str) -> ModelSettings:
    sections = {provider: section for provider in PROVIDERS if (section := fields.inner(provider)) is not None}
    urls, keys = {}, {}
    for provider, section in sections.items():
        urls[provider] = _base_url(section) or ""
        keys[provider] = _key(section) or ""
        section.done(("baseUrl", "key"))
    settings = ModelSettings(
        timeouts=_timeouts(fields, Timeouts()) or Timeouts(),
        proxy=_proxy(fields),
        keys=keys,
        base_urls=urls,
        stream=fields.flag("stream") if fields.has("stream") else True,
        context_tokens=fields.whole("contextTokens", least=1),
        file=file,
    )
    fields.done(KEYS)
    return replace(settings, models=dict(_models(fields, settings.timeouts)))


def _models(fields: Fields, waits: Timeouts) -> Iterator[tuple[str, ModelEntry]]:
    table = fields.inner("models")
    for name in table.table.entries if table is not None else ():
        assert table is not None
        model = table.inner(name)
        assert model is not None
        key_from = model.text("keyFrom")
        if model.has("keyFrom") and not _VARIABLE.match(key_from):
            model.wrong("keyFrom", "S106", "should be the name of an environment variable")
        if model.has("keyFrom") and model.has("key"):
            model.wrong("keyFrom", "S106", "a key comes from one place: give key or keyFrom")
        yield (
            name,
            ModelEntry(
                spec=_spec(name, table, model),
                base_url=_base_url(model) or "",
                key=_key(model),
                key_from=key_from,
                proxy=_proxy(model),
                timeouts=_timeouts(model, waits),
                stream=model.flag("stream") if model.has("stream") else None,
                context_tokens=model.whole("contextTokens", least=1),
            ),
        )
        model.done(("model", "baseUrl", "key", "keyFrom", "contextTokens", "proxy", "stream", "timeouts"))


def _spec(name: str, table: Fields, model: Fields) -> str:
    """What the entry `name` stands for: its `model`, or the name itself if that is a spec."""
    spec = model.text("model", name)
    try:
        parts = read_spec(spec)
        _check_url(parts.base_url)
    except ConfigurationError as error:
        if model.has("model"):
            model.wrong("model", "S106", error.problem)
        else:
            table.problems.error(
                "S103", table.table.keys[name], model.at("model"), "is missing: openai:NAME or anthropic:NAME"
            )
        return spec
    if model.has("model") and (not _NAME.match(name) or name in WITHOUT_A_WIRE):
        taken = "is taken" if name in WITHOUT_A_WIRE else "is up to 64 letters, digits, dots, - and _"
        table.problems.error("S106", table.table.keys[name], model.path[:80], f"a model's name {taken}")
    return spec


def _base_url(fields: Fields) -> str | None:
    if not fields.has("baseUrl"):
        return None
    url = fields.text("baseUrl").strip()
    try:
        _check_url(url)
    except ConfigurationError as error:
        fields.wrong("baseUrl", "S106", error.problem)
    return url


def _check_url(url: str) -> None:
    if url:
        read_endpoint(url, lambda path: path)


def _key(fields: Fields) -> str | None:
    if not fields.has("key"):
        return None
    try:
        return read_key(fields.text("key"), field="key")
    except ConfigurationError as error:
        fields.wrong("key", "S106", error.problem)
        return ""


def _proxy(fields: Fields) -> str | None:
    if not fields.has("proxy"):
        return None
    try:
        return read_proxy(fields.text("proxy"))
    except ConfigurationError as error:
        fields.wrong("proxy", "S106", error.problem)
        return ""


def _timeouts(fields: Fields, others: Timeouts) -> Timeouts | None:
    """The waits of a section; those it leaves out are `others`. None without a section."""
    section = fields.inner("timeouts")
    if section is None:
        return None
    found: dict[str, float] = {}
    for key, name in _WAITS.items():
        seconds = section.seconds(key)
        if seconds == 0:
            section.wrong(key, "S105", "should be more than 0 seconds")
        elif seconds is not None:
            found[name] = seconds
    section.done(tuple(_WAITS))
    return replace(others, **found)


def _with_environment(settings: ModelSettings, environ: Mapping[str, str]) -> ModelSettings:
    waits: dict[str, float] = {}
    for name, variable in _VARIABLES.items():
        if text := environ.get(variable, "").strip():
            waits[name] = _seconds(text, variable)
    proxy, stream, context = settings.proxy, settings.stream, settings.context_tokens
    if "STUDIO_PROXY" in environ:
        proxy = read_proxy(environ["STUDIO_PROXY"], field="STUDIO_PROXY")
    if text := environ.get("STUDIO_STREAM", "").strip():
        if text not in ("true", "false"):
            raise BadInput("should be true or false", field="STUDIO_STREAM")
        stream = text == "true"
    if text := environ.get("STUDIO_CONTEXT_TOKENS", "").strip():
        context = int(text) if re.fullmatch(r"[0-9]{1,12}", text, re.ASCII) else 0
        if not context:
            raise BadInput("should be a whole number of tokens, 1 or more", field="STUDIO_CONTEXT_TOKENS")
    timeouts = replace(settings.timeouts, **waits)
    return replace(settings, timeouts=timeouts, proxy=proxy, stream=stream, context_tokens=context)


def _seconds(text: str, variable: str) -> float:
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,6})?", text, re.ASCII) or float(text) == 0:
        raise BadInput("should be a number of seconds, more than 0", field=variable)
    return float(text)

"""`studio-tui models`: what can be named after --model, how it is reached, and whether it answers."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput, StudioError
from runtime.models.endpoint import Redactor
from runtime.models.listing import ANY, Listed, listed
from runtime.models.probe import Probed, probe
from runtime.models.settings import ModelSettings
from runtime.values.json import Json
from studio_tui.cli import options
from studio_tui.cli.output import columns, one_line, print_json, print_text, tell

if TYPE_CHECKING:
    from runtime.values.record import Attempt

THREADS, TURNS = 20, 50
"""How many of the newest threads, and of the newest turns of each, the estimate is judged by."""


@click.command("models")
@click.argument("models", nargs=-1, type=options.ModelType(), metavar="[MODEL]...")
@click.option("--probe", "ask", is_flag=True, help="Ask each for one word and say how it behaved.")
@options.store
@options.as_json
def command(models: tuple[str, ...], ask: bool, store: str | None, as_json: bool) -> int:
    """List the models of your settings, how each is reached and where its key comes from; never the key itself.

    Beside them offline and script, and the MODELs named here. Where turns of the store were counted by a provider, it
    says how far our estimate was off. With --probe the MODELs named here are asked, else all of the settings.
    Exit status 1: a model that was asked did not answer.

    \b
    Example: studio-tui models --probe openai:llama3.2@http://localhost:11434/v1
    """
    from runtime.settings import load_settings, settings_file

    file, settings = settings_file(), load_settings()
    known = list(listed(settings, *models))
    probes = asyncio.run(_probe_all(known, settings, models)) if ask else {}
    ratios = asyncio.run(_ratios(store)) if _is_there(store) else {}
    if as_json:
        there: Json = {"file": str(file), "exists": bool(settings.file)}
        print_json({"settings": there, "models": [_json(one, ratios, probes.get(one.model)) for one in known]})
    else:
        print_text("\n".join(_lines(file, settings, known, ratios, probes)))
    _warn_of_readers(settings)
    return 0 if all(probed.outcome == "ok" for probed in probes.values()) else 1


async def _probe_all(known: Sequence[Listed], settings: ModelSettings, named: tuple[str, ...]) -> dict[str, Probed]:
    """How each behaved, by the name that is listed: the named models, else all of the settings, one after the other,
    as a local server loads one at a time."""
    from runtime.models.catalog import open_model

    if "script" in named:
        raise BadInput("script answers from a seed and cannot be asked alone", field="MODEL")
    found: dict[str, Probed] = {}
    for name in named or ("offline", *settings.models):
        shown = Redactor()(name)
        if sys.stderr.isatty():
            tell(f"asking {shown} …")
        try:
            model = open_model(name, settings=settings)
        except StudioError as error:
            found[shown] = Probed("settings", "", 0.0, 0, error=str(error))
            continue
        found[shown] = await probe(model)
        close = getattr(model, "aclose", None)
        if close is not None:
            await close()
    return found


def _is_there(store: str | None) -> bool:
    """Whether there is a store to read: listing models makes none."""
    from studio_tui.cli.session import store_url

    return Path(store_url(store).removeprefix("sqlite:///")).exists()


async def _ratios(store: str | None) -> dict[str, tuple[float, int]]:
    """By model, how our estimates compare with what was counted in the newest turns of the store, and in how many
    steps."""
    from runtime.explain import ratio_of
    from studio_tui.cli.session import opened

    by_model: dict[str, list[Attempt]] = {}
    async with opened(store) as runtime:
        for thread in await runtime.store.threads(limit=THREADS):
            for record in await runtime.records(thread.id, limit=TURNS):
                for attempt in record.tiers:
                    if ratio_of([attempt]) is not None:
                        by_model.setdefault(attempt.model, []).append(attempt)
    return {model: (ratio, len(some)) for model, some in by_model.items() if (ratio := ratio_of(some)) is not None}


def _lines(
    file: Path,
    settings: ModelSettings,
    known: Sequence[Listed],
    ratios: Mapping[str, tuple[float, int]],
    probes: Mapping[str, Probed],
) -> Iterator[str]:
    yield f"settings  {file}" + ("" if settings.file else "  (there is none)")
    yield ""
    cells = [
        (one.model, one.spec if one.spec != one.model else "", one.url or one.about, _room(one), _key(one))
        for one in known
    ]
    for one, line in zip(known, columns(cells), strict=True):
        yield line
        if one.spec in ratios:
            yield f"    {_counted(*ratios[one.spec])}"
        if one.model in probes:
            yield f"    {_behaved(probes[one.model])}"


def _room(one: Listed) -> str:
    if not one.url:
        return ""
    return f"{one.context_tokens} tokens" if one.context_tokens else "room: the agent's"


def _key(one: Listed) -> str:
    if not one.url:
        return ""
    if one.key:
        return f"key: {one.key}"
    return f"no key: ${one.missing} is not set" if one.missing else "no key"


def _counted(ratio: float, steps: int) -> str:
    from runtime.explain import off_by

    return f"our estimate was {off_by(ratio)} what it counted in {steps} step{'' if steps == 1 else 's'}"


def _behaved(probed: Probed) -> str:
    """How a model behaved when it was asked, on one line."""
    if probed.outcome != "ok":
        status = f" {probed.status}" if probed.status is not None else ""
        return f"✘ {probed.outcome}{status} after {probed.seconds:.1f} s: {one_line(probed.error or '', 300)}"
    from runtime.explain import off_by

    said = f"“{one_line(probed.text, 40)}”" if probed.text else "no text"
    line = f"✔ ok in {probed.seconds:.1f} s, {said} · est {probed.estimate}"
    ratio = _ratio(probed)
    if probed.usage is None:
        return f"{line} · said –"
    off = f" · est {off_by(ratio)}" if ratio is not None else ""
    return f"{line} · said {_number(probed.usage.input)} in, {_number(probed.usage.output)} out{off}"


def _number(count: int | None) -> str:
    return "–" if count is None else str(count)


def _ratio(probed: Probed) -> float | None:
    counted = probed.usage.input if probed.usage is not None else None
    return probed.estimate / counted if counted else None


def _json(one: Listed, ratios: Mapping[str, tuple[float, int]], probed: Probed | None) -> dict[str, Json]:
    waits = one.timeouts
    value: dict[str, Json] = {
        "model": one.model,
        "is": one.spec,
        "about": one.about or None,
        "any_name": one.spec.endswith(f":{ANY}"),
        "url": one.url or None,
        "context_tokens": one.context_tokens,
        "key": one.key or None,
        "missing": one.missing or None,
        "proxy": one.proxy,
        "stream": one.stream,
        "timeouts": None
        if waits is None
        else {"connect": waits.connect, "firstByte": waits.first_byte, "between": waits.between, "step": waits.step},
        "estimate_ratio": round(ratios[one.spec][0], 4) if one.spec in ratios else None,
        "steps_counted": ratios[one.spec][1] if one.spec in ratios else 0,
    }
    if probed is not None:
        ratio = _ratio(probed)
        usage = probed.usage
        value["probe"] = {
            "outcome": probed.outcome,
            "status": probed.status,
            "error": probed.error,
            "text": probed.text,
            "seconds": round(probed.seconds, 3),
            "estimate": probed.estimate,
            "usage": None if usage is None else {"input": usage.input, "output": usage.output},
            "estimate_ratio": None if ratio is None else round(ratio, 4),
        }
    return value


def _warn_of_readers(settings: ModelSettings) -> None:
    """Say that a file with keys can be read by others on this machine."""
    keys = any(settings.keys.values()) or any(one.key for one in settings.models.values())
    if keys and os.name == "posix" and settings.file and Path(settings.file).stat().st_mode & 0o077:
        tell(f"{settings.file} holds a key and can be read by others: chmod 600 it, or use keyFrom")

"""A handoff in words: how its HISTORY was read, where what is in force comes from, the finding, the reason of a row."""

from __future__ import annotations

import re

from runtime.abl.history_setting import AUTO_COUNT, HistorySetting, LastN
from runtime.explain import LEFT_OUT_WORDS, quoted, ranges
from runtime.explain.words import plural
from runtime.handoff.events import HandoffEvent, ThreadResume
from runtime.values.messages import Message
from studio_tui.views.handed import Gathered, Shown, row_text

ADVICE = "Write full, none, summary_only, auto or a count such as last_5."


def short_place(place: str) -> str:
    """`agents/retail-hub.agent.abl:38` as `retail-hub:38`."""
    return place.rpartition("/")[2].replace(".agent.abl", "")


def written_words(shown: Shown) -> str:
    """HISTORY as it stands in the file."""
    written = shown.event.written
    if written is None:
        return "nothing: the route has no HISTORY"
    return f"HISTORY: {written}" if written else "HISTORY: (nothing after it)"


def read_words(shown: Shown) -> str:
    """How the value is read (H6): what it means, or that it means nothing usable and why."""
    if isinstance(shown.event, ThreadResume):
        return "not applied: the thread was waiting and keeps its own history"
    setting = shown.route.history if shown.route is not None else None
    if setting is None:
        if shown.event.written is not None:
            return "the file has changed since; see what is in force"
        return "no setting, so the default counts"
    told = _reading(setting, shown.event.has_summary)
    problem = next((f"  {one.code}: {_in_short(one.message)}" for one in shown.problems if one.severity != "info"), "")
    return told + problem


def in_force_words(shown: Shown) -> tuple[str, str]:
    """The strategy in force, and in words where it comes from (H5)."""
    event = shown.event
    if isinstance(event, ThreadResume):
        return "own history", f"{plural(event.rows, 'message')} of its own, nothing copied"
    return event.strategy, _source(shown, event)


def match_words(shown: Shown) -> tuple[bool | None, str]:
    """Whether the first model call holds what is in force; None where that is not known."""
    event = shown.event
    if isinstance(event, ThreadResume):
        return None, "a resumed thread: there is no copying to match"
    if event.matches is None:
        told = "posted to another house as it is in force" if event.remote else "the target has not been asked yet"
        return None, told
    return event.matches, "matches what is in force" if event.matches else "does not match what is in force"


def author_words(shown: Shown) -> tuple[bool | None, str]:
    """Whether what is in force is what was written; None if nothing was written."""
    event = shown.event
    if isinstance(event, ThreadResume) or event.written is None:
        return None, "the author wrote no HISTORY here" if event.written is None else "HISTORY is not applied here"
    return event.as_written, "what the author wrote" if event.as_written else "not what the author wrote"


def counted_words(shown: Shown) -> str:
    """`copied 7 · sent 6 + the request`; a resumed thread copies nothing (H13)."""
    event, sent = shown.event, shown.sent
    if isinstance(event, ThreadResume):
        return f"copied nothing · resumed with {plural(event.rows, 'message')}"
    earlier = event.copied - (1 if event.trigger.copied else 0) if sent is None else sent
    return f"copied {event.copied} · sent {earlier} + the request"


def finding(shown: Shown) -> str:
    """The handoff in one or two sentences with the numbers in them, ready to be sent to whoever wrote it (X8)."""
    event = shown.event
    if isinstance(event, ThreadResume):
        own = f"{event.target} was resumed with its own {plural(event.rows, 'message')}"
        applied = f": {_setting_at(shown)} is not applied to a thread that waits" if event.written is not None else ""
        return " ".join([own + applied + ". Fresh values travel by PASS.", *_leaks(shown)])
    wrong = ["Its first model call does not hold what is in force."] if event.matches is False else []
    return " ".join([_strategy_finding(shown, event), *wrong, *_leaks(shown)])


def leak_words(one: Gathered, *, brief: bool = False) -> str:
    """Which line lets a value through: the PASS that names it, or the field that does not say SENSITIVE."""
    if one.passed_at:
        kind = "SENSITIVE field" if one.sensitive else "field"
        return f"PASS at {short_place(one.passed_at)} hands over the {kind} {one.name}"
    marked = f"{short_place(one.place)} does not mark it SENSITIVE"
    if one.sensitive:
        marked = f"it was said outside of what {short_place(one.place)} keeps back"
    if brief:
        return f"holds {one.name}: {marked}"
    where = f"seq {ranges(one.rows)}" if one.rows else plural(one.elsewhere, f"message handled by {one.agent}")
    return f"{one.name} is in {where}, which was copied: {marked}"


def why(shown: Shown, asked: str) -> str:
    """In one sentence, where a message of the caller is for the target, or why it stays. `asked` is a seq or words."""
    wanted = asked.strip()
    row = next((one for one in shown.rows if str(one.seq) == wanted), None) or next(
        (one for one in reversed(shown.rows) if wanted.casefold() in row_text(one).casefold()), None
    )
    target = shown.event.target
    if row is None or not wanted:
        joined = next((one for one in shown.joined if wanted and wanted.casefold() in one.row.text.casefold()), None)
        if joined is not None:
            return f"{quoted(joined.row.text)} was handled by {joined.agent} and copied: full adds customer messages."
        return f"no message of {shown.event.caller} is {wanted!r}; give its seq, or words that stand in it"
    place = f"seq {row.seq} ({quoted(row_text(row), 40)})"
    if row.seq == shown.event.trigger.seq:
        how = "copied, and is" if shown.event.trigger.copied else "not copied, but is"
        return f"{place} was {how} the request of {target}'s first turn."
    if row.seq in shown.copied:
        return f"{place} was copied to {target}: {in_force_words(shown)[0]} is in force."
    reason = shown.reasons.get(row.seq)
    return f"{place} stays with {shown.event.caller}: {LEFT_OUT_WORDS[reason] if reason else 'it was not asked for'}."


def _reading(setting: HistorySetting, has_summary: bool) -> str:
    match setting.read:
        case None:
            return "nothing usable"
        case LastN(0):
            return "last_0: no messages"
        case LastN(count):
            return f"last_{count}: the newest {plural(count, 'message')}, calls with their results"
        case "full":
            return "full: the whole conversation, and what the customer told earlier agents"
        case "none":
            return "none: no messages; PASS, SET and SUMMARY still arrive"
        case "summary_only":
            return "summary_only: no messages, the SUMMARY alone"
        case "auto":
            return (
                "auto: summary_only, for there is a SUMMARY" if has_summary else f"auto: last_{AUTO_COUNT}, no SUMMARY"
            )


def _in_short(message: str) -> str:
    """What is wrong and what to write instead; what falls to which default stands in the next line anyway."""
    wrong, _, rest = message.partition(", so ")
    advice = rest.rpartition(";")[2].strip()
    return f"{wrong}; {advice}" if advice else wrong


def _source(shown: Shown, event: HandoffEvent) -> str:
    if event.source == "route":
        return "the route says so"
    route = "route unusable" if event.written is not None else "nothing on the route"
    if event.source == "project":
        default = shown.default
        place = f"{default.file}:{default.line}" if default is not None and default.line else ""
        at = f" {short_place(place)}" if place else (f" {default.file}" if default is not None else "")
        return f"project default{at} ({route})"
    return f"platform default ({route}, project unset)"


def _strategy_finding(shown: Shown, event: HandoffEvent) -> str:
    got = f"{event.target} got {_got(event)}"
    if event.written is None:
        at = short_place(event.route)
        return f"{got}: the route at {at} has no HISTORY, so {event.strategy} ({event.source} default). {ADVICE}"
    if not event.as_written:
        return f"{got}: {_setting_at(shown)} reads as no setting, so {event.strategy}. {_advice(event.written)}"
    return f"{got}, as {_setting_at(shown)} says: {counted_words(shown).replace(' · ', ', ')}."


def _got(event: HandoffEvent) -> str:
    if event.copied == 0:
        return "no messages"
    if not event.left_out and not event.children_left_out and event.strategy == "full":
        return "everything"
    return f"{event.copied} of {plural(event.caller_rows, 'message')} of {event.caller}"


def _setting_at(shown: Shown) -> str:
    written = shown.event.written or ""
    count = re.fullmatch(r"mode last_n, count (.*)", written, re.IGNORECASE | re.DOTALL)
    told = f"count: {count[1]}" if count else (f"HISTORY: {written}" if written else "an empty HISTORY")
    return f"{told} at {short_place(shown.written_at)}"


def _advice(written: str) -> str:
    """What to write instead: whoever wrote a count of 0 or less, or a word like `off`, meant none."""
    count = re.fullmatch(r"mode last_n, count\s+(-[0-9]+|0+)", written.strip(), re.IGNORECASE)
    if count or written.strip().strip("\"'").lower() in ("off", "no", "nothing", "never", "0", "false"):
        return "Write HISTORY: none."
    return ADVICE


def _leaks(shown: Shown) -> list[str]:
    found = [f"{leak_words(one)}." for one in shown.gathered if one.private and one.got_through]
    if shown.summary_holds:
        found.append(f"SUMMARY hands over the SENSITIVE field {shown.summary_holds}.")
    return found


def holds(shown: Shown, row: Message) -> list[Gathered]:
    """The private values that a copied row of the caller holds."""
    return [one for one in shown.gathered if one.private and row.seq in one.rows]

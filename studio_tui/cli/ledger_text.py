"""The ledger of a turn for people and as JSON: every row with its place or reason, and what was never a row (X1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runtime.explain import Account, InContext, LeftOutRows, NeverStored
from runtime.values.json import Json
from runtime.values.messages import Message
from studio_tui.cli.output import columns, one_line


def lines_of(accounts: Sequence[Account], rows: Mapping[int, Message]) -> Iterator[str]:
    """One line for each account; `rows` gives the texts of single rows that were left out."""
    head = ("in≥", "seq", "role", "", "tokens", "")
    yield from columns([head, *(_line(account, rows) for account in accounts)], right=(0, 1, 4))


def _line(account: Account, rows: Mapping[int, Message]) -> tuple[str, ...]:
    if isinstance(account, InContext):
        again = f"repeats {', '.join(account.repeats)}" if account.repeats else ""
        return (
            str(account.needs), str(account.seq), account.role, one_line(account.text, 60), str(account.tokens), again,
        )  # fmt: skip
    if isinstance(account, LeftOutRows):
        span = str(account.first) if account.count == 1 else f"{account.first}-{account.last}"
        wide = {needs for needs in (account.needs_first, account.needs_last) if needs is not None}
        row = rows.get(account.first) if account.count == 1 else None
        needs = "-".join(map(str, sorted(wide, reverse=True))) or "-"
        text = one_line(row.text, 60) if row is not None else ""
        return (needs, span, row.role if row is not None else "", text, "", f"left out: {account.reason}")
    who = f"{account.what} of {account.name}" if account.name else account.what
    return ("-", "-", "", f"{who}: {one_line(account.text, 50)}", "", f"{account.turn_name}: {account.reason}")


def account_json(account: Account) -> dict[str, Json]:
    """One account; `kind` is `in`, `out` or `never-stored`."""
    if isinstance(account, InContext):
        return {
            "kind": "in", "seq": account.seq, "place": account.place, "role": account.role, "text": account.text,
            "tokens": account.tokens, "needs": account.needs, "is_brief": account.is_request,
            "repeats": list(account.repeats),
        }  # fmt: skip
    if isinstance(account, LeftOutRows):
        return {
            "kind": "out", "from": account.first, "to": account.last, "reason": account.reason,
            "needs": {"from": account.needs_first, "to": account.needs_last},
        }  # fmt: skip
    assert isinstance(account, NeverStored)
    return {
        "kind": "never-stored", "turn": account.turn, "what": account.what, "step": account.step, "name": account.name,
        "text": account.text, "reason": account.reason,
    }  # fmt: skip

"""A step as a curl command: what a shell makes of it is what was sent (A6, Q3)."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.explain import curl_command
from runtime.explain.curl import LONGEST_ARGUMENT
from runtime.values.record import Attempt, TurnRecord

URL = "https://api.example/v1/chat/completions"


@pytest.fixture
def record(turn_on: Any, rows_of: Any) -> TurnRecord:
    """A turn whose step 1 fell over to a second tier."""
    record: TurnRecord = turn_on(
        rows_of("u q"),
        tiers=(
            Attempt(1, "anthropic:a", "status", 503, "busy", url="https://other.example/v1/messages"),
            Attempt(1, "openai:small", "ok", url=URL),
            Attempt(2, "anthropic:a", "ok", url="https://[redacted]@other.example/v1/messages?v=2&key=[redacted]"),
            Attempt(3, "offline", "ok"),
        ),
    )
    return record


def body(**more: object) -> bytes:
    return json.dumps({"model": "m", **more}, ensure_ascii=False).encode("utf-8", "surrogatepass")


def test_a_step_as_a_command(record: TurnRecord) -> None:
    assert curl_command(record, 1, body(stream=True)) == (
        f"curl -N {URL} -H 'content-type: application/json' "
        '-H "authorization: Bearer $OPENAI_API_KEY" '
        '--data-raw \'{"model": "m", "stream": true}\''
    )


def test_Q3_secrets_of_the_address_become_a_variable(record: TurnRecord) -> None:
    words = shlex.split(curl_command(record, 2, body()))
    assert words[:4] == [
        "curl",
        "--user",
        "$MODEL_SECRET",
        "https://other.example/v1/messages?v=2&key=$MODEL_SECRET",
    ]
    assert words[4:10] == [
        "-H", "content-type: application/json", "-H", "x-api-key: $ANTHROPIC_API_KEY", "-H",
        "anthropic-version: 2023-06-01",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("step", "sent", "said"),
    [
        (3, b"{}", "step 3 of turn .* did not go over a wire: offline answered it here"),
        (4, b"{}", "has no step 4; its steps are 1, 2, 3"),
        (1, None, "is gone: it was pruned"),
    ],
)
def test_Q1_what_cannot_be_a_command_is_said(record: TurnRecord, step: int, sent: bytes | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        curl_command(record, step, sent)


def data_of(command: str, folder: Path) -> bytes:
    """What a real shell gives curl as data, by a program of that name that writes its last argument or its stdin."""
    stand_in = folder / "curl"
    stand_in.write_text(
        '#!/bin/sh\nfor last; do :; done\nif [ "$last" = @- ]; then cat; else printf %s "$last"; fi\n', encoding="utf-8"
    )
    stand_in.chmod(0o755)
    script = folder / "script.sh"
    script.write_text(command, encoding="utf-8")
    sh = shutil.which("sh") or "/bin/sh"
    done = subprocess.run(
        [sh, str(script)], env={"PATH": f"{folder}:/usr/bin:/bin"}, capture_output=True, check=True, timeout=30
    )
    return done.stdout


NASTY = 'it\'s "quoted" $HOME `id` \\ \\n % ! \u2028 \x7f \x9b2J \x1b[2J \u202e 漢字 🙂 €'


def test_a_shell_gives_back_the_very_body(record: TurnRecord, tmp_path: Path) -> None:
    command = curl_command(record, 1, body(text=NASTY))
    assert json.loads(data_of(command, tmp_path)) == {"model": "m", "text": NASTY}
    assert not [sign for sign in command if sign != "\n" and not sign.isprintable()]
    assert "漢字 🙂 €" in command


def test_a_body_that_no_argument_can_hold_is_read_from_stdin(record: TurnRecord, tmp_path: Path) -> None:
    text = "BODY\n" + NASTY * (LONGEST_ARGUMENT // len(NASTY) + 1)
    command = curl_command(record, 1, body(text=text))
    assert "<<'BODY'" in command
    assert json.loads(data_of(command, tmp_path)) == {"model": "m", "text": text}


@given(st.text())
def test_any_text_is_quoted_safely(text: str) -> None:
    attempt = Attempt(1, "openai:small", "ok", url=URL)
    record = _Told((attempt,))
    words = shlex.split(curl_command(record, 1, body(text=text)))  # type: ignore[arg-type]  # what it reads of one
    assert json.loads(words[-1])["text"] == text.encode("utf-8", "replace").decode()
    assert words[-2] == "--data-raw"


class _Told:
    turn = "t1"

    def __init__(self, tiers: tuple[Attempt, ...]) -> None:
        self.tiers = tiers

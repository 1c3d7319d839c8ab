"""What every test stands on: no network, no keys, no home folder; hypothesis small here, large in `make fuzz`."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "test",  # the same inputs each time: what is new is looked for in `make fuzz`
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "fuzz", max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "STUDIO_STORE", "NO_COLOR")


@pytest.fixture(autouse=True)
def no_outside(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty home, no keys, and no connection but to this machine. Returns the home."""
    home = tmp_path_factory.mktemp("home")
    for name in (*KEYS, *(name for name in os.environ if name.startswith("STUDIO_"))):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(home))
    connect = socket.socket.connect

    def only_here(self: socket.socket, address: object) -> None:
        host = address[0] if isinstance(address, tuple) else ""
        if host not in ("", "127.0.0.1", "::1", "localhost"):
            raise AssertionError(f"a test tried to reach {host}")
        connect(self, address)  # type: ignore[arg-type]  # the union of address families is the socket's business

    monkeypatch.setattr(socket.socket, "connect", only_here)
    return home

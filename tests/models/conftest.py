"""Fixtures of the wire: both dialects, and a real server on this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.models.dialects import DIALECTS, Dialect
from tests.models.server import ModelServer


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.name)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    """Each dialect in turn."""
    assert isinstance(request.param, Dialect)
    return request.param


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A server on 127.0.0.1 that answers what it is told to."""
    with ModelServer() as server:
        yield server

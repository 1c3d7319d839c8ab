"""A tool of one's own by reference, `package.module:function`: imported only after the user agreed (T9)."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import ConfigurationError
from runtime.tools.definition import Tool

_REFERENCE = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<function>[^\W\d]\w*)\Z")


def is_reference(name: str) -> bool:
    """Whether `name` refers to code (it has a colon) instead of naming a registered tool."""
    return ":" in name


def load(reference: str, *, allow: bool, folder: Path | None = None) -> Tool:
    """The tool that `package.module:function` names. Importing it runs the module's code.

    `allow` is the user's consent. `folder` is where the agent file lies: its modules are found, and those of the
    folder the program was started in, besides what is installed.

    Raises ConfigurationError: no consent, not a reference, no such module or function, a module that fails.
    """
    parts = _REFERENCE.match(reference)
    if not parts:
        raise ConfigurationError(f"a tool of one's own is written package.module:function, not {reference!r}")
    if not allow:
        raise ConfigurationError(f"tool {reference} runs Python code; agree to it with --allow-tools")
    with _findable(folder):
        try:
            module = importlib.import_module(parts["module"])
        except ModuleNotFoundError as error:
            if error.name and (parts["module"] + ".").startswith(error.name + "."):
                raise ConfigurationError(f"tool {reference}: there is no module {error.name}") from None
            raise ConfigurationError(f"tool {reference}: its module needs {error.name}, which is missing") from None
        except (Exception, SystemExit) as error:  # noqa: BLE001 - a module's code may raise anything
            said = " ".join(str(error).split())
            raise ConfigurationError(f"tool {reference}: importing it failed: {type(error).__name__}: {said}") from None
    found = getattr(module, parts["function"], None)
    if found is None:
        raise ConfigurationError(f"tool {reference}: module {parts['module']} has no {parts['function']}")
    if not callable(found) or isinstance(found, type):
        raise ConfigurationError(f"tool {reference}: {parts['function']} is no function")
    made = Tool.of(found)
    made.spec  # a signature that no model can fill is said at once  # noqa: B018
    return made


@contextmanager
def _findable(folder: Path | None) -> Iterator[None]:
    before = list(sys.path)
    sys.path[:0] = ([str(folder.resolve())] if folder else []) + [str(Path.cwd())]
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:] = before

"""Where a model server is: a base URL read into the one address that is posted to, its secrets kept apart (Q3, C58)."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from runtime.errors import ConfigurationError

REDACTED = "[redacted]"

_KEY_LIKE = r"key|token|secret|passw|pwd|sig|auth|credential"
_PROXIES = ("http", "https")
_SECRET_NAME = re.compile(rf"(?i){_KEY_LIKE}|\Acode\Z")
_USER_INFO = re.compile(r"(?<=://)[^\s/?#@]*(?:@[^\s/?#@]*)*(?=@)")
_SECRET_QUERY = re.compile(rf"(?i)([?&;][^=&;\s]*(?:{_KEY_LIKE})[^=&;\s]*=)[^&;\s\"'<>]+")


class Redactor:
    """Takes secrets out of a text: the ones it was given, and what looks like one in any URL. Safe to print."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        spellings = {form for secret in secrets if secret for form in (secret, quote(secret, safe=""))}
        ordered = sorted(spellings, key=len, reverse=True)
        # A secret of one or two letters is taken out only where it stands alone: else no word would be left whole.
        patterns = [re.escape(s) if len(s) > 2 else rf"(?<![^\W_]){re.escape(s)}(?![^\W_])" for s in ordered]
        self._secrets = re.compile("|".join(patterns)) if patterns else None

    def __call__(self, text: str) -> str:
        """`text` with every secret in it replaced."""
        text = _USER_INFO.sub(REDACTED, text)
        text = _SECRET_QUERY.sub(rf"\1{REDACTED}", text)
        return self._secrets.sub(REDACTED, text) if self._secrets else text

    def __repr__(self) -> str:
        return "Redactor()"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model server. `url` holds no secrets and may be shown; the rest is never printed.

    `query` is what follows the `?` on the wire; `basic` is a ready `Authorization` header for user and password, or
    empty. `secrets` are the texts that must be redacted.
    """

    url: str
    scheme: str
    host: str
    query: str = field(default="", repr=False)
    basic: str = field(default="", repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @property
    def address(self) -> str:
        """What is posted to: `url` with its query. Never to be shown."""
        return f"{self.url}?{self.query}" if self.query else self.url

    @property
    def shown(self) -> str:
        """`address` as it may be shown: with stand-ins for user, password and the secrets of the query."""
        url = self.url.replace("://", f"://{REDACTED}@", 1) if self.basic else self.url
        pairs = parse_qsl(self.query, keep_blank_values=True)
        query = "&".join(
            f"{quote(name)}={REDACTED if _SECRET_NAME.search(name) else quote(value, safe='')}" for name, value in pairs
        )
        return f"{url}?{query}" if query else url

    @property
    def local(self) -> bool:
        """Whether the server is on this machine: no proxy stands between."""
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def read_endpoint(base_url: str, path_of: Callable[[str], str], *, field: str = "base URL") -> Endpoint:
    """The endpoint that `base_url` means; `path_of` completes its path, which comes without slashes at its end.

    Raises ConfigurationError for anything but an http or https URL with a host; the error shows no secret.
    """
    text = base_url.strip()
    try:
        parts = urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise ConfigurationError("the URL cannot be read", field=field) from None
    if parts.scheme not in ("http", "https") or not host or re.search(r"[\s\x00-\x1f\x7f]", text):
        shown = Redactor()(text) if "@" not in text else f"{parts.scheme}://{REDACTED}@…"
        raise ConfigurationError(f"a base URL is http://HOST or https://HOST, not {shown!r}", field=field)
    site = f"[{host}]" if ":" in host else host
    site = f"{parts.scheme}://{site}:{port}" if port is not None else f"{parts.scheme}://{site}"
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    token = base64.b64encode(f"{user}:{password}".encode()).decode() if user or password else ""
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    in_query = secret_values(pairs)
    return Endpoint(
        url=site + re.sub(r"/{2,}", "/", path_of(parts.path.rstrip("/"))),
        scheme=parts.scheme,
        host=host,
        query=urlencode(pairs),
        basic=f"Basic {token}" if token else "",
        secrets=tuple(secret for secret in (password or user, token, *in_query) if secret),
    )


def secret_values(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """The values in a query, given as (name, value), whose names are like those of keys."""
    return [value for name, value in pairs if _SECRET_NAME.search(name)]


def read_proxy(url: str, *, field: str = "proxy") -> str:
    """A proxy's URL, or an empty text for none. Raises ConfigurationError, which shows no secret."""
    url = url.strip()
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in _PROXIES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise ConfigurationError("a proxy is http://HOST:PORT or https://HOST:PORT", field=field)
    return url


def read_key(key: str, *, field: str) -> str:
    """A key as it goes into a header, without blanks around it. Raises ConfigurationError, which does not show it."""
    key = key.strip()
    if not key.isascii() or not key.isprintable():
        raise ConfigurationError("the key holds characters that no header can carry", field=field)
    return key

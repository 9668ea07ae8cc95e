"""The gate in front of the server: who may answer, what is refused at once, and what is added to each response.

Each person has a token, in the address that they open, and gets a cookie in exchange for it. Both follow from a random
key in the cache folder, one for each store, so that they stay valid when the server is started again. Where no key can
be kept, each start has a new one.

A page of somebody else that is open in the same browser can send requests here. The cookie is not sent along with those
(SameSite), a name of theirs that points to this machine is refused (Host, against DNS rebinding), and so is a POST from
another origin. The page may load nothing from elsewhere and run no inline script (Content-Security-Policy).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from likewise.errors import InputError

LARGEST_BODY = 2**18  # bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (  # one self-contained file with a script of its own, which may not reach the server
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; sandbox allow-scripts; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}

App = Callable[[Any, Any, Any], Any]


@dataclass
class Allowance:
    """A limit per caller: a rate of requests per second, and a few at once.

    >>> allowance = Allowance(rate=1, burst=2, clock=lambda: 0.0)
    >>> [allowance.spend("ann") for _ in range(3)], allowance.spend("bob")
    ([True, True, False], True)
    """

    rate: float
    burst: float
    clock: Callable[[], float] = time.monotonic
    _left: dict[str, tuple[float, float]] = field(default_factory=dict, init=False)

    def spend(self, caller: str) -> bool:
        """Whether the caller may make one more request now."""
        now = self.clock()
        left, then = self._left.get(caller, (self.burst, now))
        left = min(self.burst, left + (now - then) * self.rate)
        if len(self._left) > 10_000:  # callers who were here once
            self._left.clear()
        self._left[caller] = (left - 1 if left >= 1 else left), now
        return left >= 1

    def give_back(self, caller: str) -> None:
        """Do not count the last request."""
        left, then = self._left.get(caller, (self.burst, self.clock()))
        self._left[caller] = min(self.burst, left + 1), then


def is_own_name(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names this server: an address of numbers, localhost, or one of `names`.

    No page of somebody else has such an address, and so none of them can be behind it.

    >>> [is_own_name(host, ["lab"]) for host in ("127.0.0.1:80", "[::1]:80", "localhost", "LAB:8000", "evil.example")]
    [True, True, True, True, False]
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in {"localhost", *(each.casefold() for each in names)}:
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Gate:
    """An ASGI application in front of another."""

    def __init__(self, app: App, names: Collection[str] = (), largest_body: int = LARGEST_BODY) -> None:
        self.app, self.names, self.largest_body = app, names, largest_body

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        path = scope["path"]

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                added = {**HEADERS, "content-security-policy": REPORT_POLICY if path == "/report" else POLICY}
                if b"cache-control" not in {name for name, _ in message["headers"]}:
                    added["cache-control"] = "no-store"
                message = {**message, "headers": [*message["headers"], *_encoded(added)]}
            await send(message)

        wrong = self._refusal(scope["method"], headers)
        if wrong is None:
            body = await self._read(receive)
            if body is not None:
                await self.app(scope, _replay(body, receive), send_with_headers)
                return
            wrong = self._too_large()
        await _refuse(send_with_headers, *wrong)

    async def _read(self, receive: Any) -> bytes | None:
        """The whole body; None where it is too large, whatever its header says."""
        body, more = b"", True
        while more and len(body) <= self.largest_body:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        return body if len(body) <= self.largest_body else None

    def _refusal(self, method: str, headers: dict[str, str]) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not is_own_name(host, self.names):
            return 403, "The address names another server; open the address that likewise label printed."
        if method not in ("GET", "HEAD"):
            site = headers.get("sec-fetch-site", "same-origin")
            origin = headers.get("origin", f"http://{host}")  # a program sends none, a browser always does
            if site not in ("same-origin", "none") or origin.partition("://")[2] != host:
                return 403, "The request comes from another page; answer on the page of this server."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.largest_body:
            return self._too_large()
        return None

    def _too_large(self) -> tuple[int, str]:
        return 413, f"The message has more than {self.largest_body // 1024} KiB; send fewer answers at a time."


def _replay(body: bytes, receive: Any) -> Any:
    """What gives a body that was read already, and then whatever comes after it."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Any:
        return waiting.pop() if waiting else await receive()

    return give


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _refuse(send: Any, status: int, sentence: str) -> None:
    body = json.dumps({"detail": sentence}).encode()
    headers = {"content-type": "application/json", "content-length": str(len(body))}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})


KEY_BYTES = 32
LONGEST_NAME = 64  # letters


@dataclass(frozen=True)
class Doorkeeper:
    """Tells people by their tokens and cookies.

    >>> door = Doorkeeper(("ann", "bob"), bytes(32))
    >>> door.by_token(door.token("bob")), door.by_token("guess")
    ('bob', None)
    >>> door.by_cookie(door.cookie("ann"))
    'ann'
    """

    people: tuple[str, ...]
    key: bytes

    @property
    def cookie_name(self) -> str:
        """Another for each key: the servers on one machine share the cookies of their browsers, whatever their port."""
        return f"likewise-{self._digest('name', '')[:8]}"

    def token(self, person: str) -> str:
        return self._digest("token", person)[:32]

    def cookie(self, person: str) -> str:
        return self._digest("cookie", person)

    def by_token(self, token: str) -> str | None:
        return self._whose(token, self.token)

    def by_cookie(self, cookie: str) -> str | None:
        return self._whose(cookie, self.cookie)

    def _whose(self, given: str, secret_of: object) -> str | None:
        assert callable(secret_of)
        offered = given.encode(errors="replace")
        matches = [person for person in self.people if hmac.compare_digest(secret_of(person).encode(), offered)]
        return matches[0] if matches else None

    def _digest(self, purpose: str, person: str) -> str:
        return hmac.new(self.key, f"{purpose}\0{person}".encode(), hashlib.sha256).hexdigest()


def load_key(folder: Path, store: str) -> bytes:
    """The key of a store, made where there is none."""
    path = folder / f"{hashlib.sha256(store.encode(errors='surrogateescape')).hexdigest()[:32]}.key"
    with suppress(OSError):
        key = path.read_bytes()
        if len(key) == KEY_BYTES:
            return key
    key = secrets.token_bytes(KEY_BYTES)
    with suppress(OSError):  # it is then the key of this start alone
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        temporary = path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
        temporary.replace(path)
    return key


def read_people(path: Path) -> tuple[str, ...]:
    """The names in a file, one in a line; empty lines and those that begin with # do not count."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read; give --annotators a text file with a name in each line.") from error
    people = [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]
    return check_people(people, str(path))


def check_people(people: Sequence[str], place: str) -> tuple[str, ...]:
    if not people:
        raise InputError(f"{place} names nobody; write a name in each line.")
    for number, name in enumerate(people):
        if len(name) > LONGEST_NAME or not name.isprintable():
            raise InputError(
                f"{place}: {name[:LONGEST_NAME]!r} is no name of up to {LONGEST_NAME} letters; shorten it."
            )
        if name in people[:number]:
            raise InputError(f"{place} names {name!r} twice; give each person a name of their own.")
    return tuple(people)

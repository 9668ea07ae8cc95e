"""Who may answer: a token for each person, in the address that they open, and the cookie that it is exchanged for.

Both follow from a random key that is kept in the cache folder, one for each store, and so stay valid when the server is
started again. Where no key can be kept, there is a new one for each start.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from likewise.errors import InputError

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

"""Where strategies stash what they take out of a context: in memory, in a SQLite file, or in Redis.

Every key begins with tenant and session, and a ``Session`` can name no other: tenants do not meet. Keys are
length-prefixed, so that no choice of names makes two of them equal.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ullage.errors import UserError


class Backend(Protocol):
    """Reads and writes text under a key, and lists and forgets the keys with a prefix."""

    def read(self, key: str) -> str | None:
        """The content under a key, or none."""
        ...

    def write(self, key: str, content: str) -> None:
        """Put content under a key, replacing what was there."""
        ...

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with a prefix."""
        ...

    def forget(self, prefix: str) -> None:
        """Remove all keys that begin with a prefix."""
        ...


def key_of(tenant: str, session: str, ref: str = "") -> str:
    """An unambiguous key: each part preceded by its length in characters."""
    return f"{len(tenant)}:{tenant}/{len(session)}:{session}/{ref}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The part of a store that one session of one tenant can reach."""

    backend: Backend
    tenant: str
    session: str

    def get(self, ref: str) -> str | None:
        """The content stashed under a reference, or none."""
        return self.backend.read(key_of(self.tenant, self.session, ref))

    def put(self, ref: str, content: str) -> None:
        """Stash content under a reference; a second time replaces it."""
        self.backend.write(key_of(self.tenant, self.session, ref), content)

    def refs(self) -> list[str]:
        """All references of this session, sorted."""
        prefix = key_of(self.tenant, self.session)
        return sorted(key.removeprefix(prefix) for key in self.backend.keys(prefix))

    def held(self) -> dict[str, str]:
        """All content of this session by reference."""
        return {ref: content for ref in self.refs() if (content := self.get(ref)) is not None}

    def forget(self) -> None:
        """Remove everything of this session."""
        self.backend.forget(key_of(self.tenant, self.session))


@dataclass(slots=True)
class MemoryBackend:
    """A dictionary; ends with the process."""

    content: dict[str, str] = field(default_factory=dict)

    def read(self, key: str) -> str | None:
        """The content under a key, or none."""
        return self.content.get(key)

    def write(self, key: str, content: str) -> None:
        """Put content under a key, replacing what was there."""
        self.content[key] = content

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with a prefix."""
        return [key for key in self.content if key.startswith(prefix)]

    def forget(self, prefix: str) -> None:
        """Remove all keys that begin with a prefix."""
        for key in self.keys(prefix):
            del self.content[key]


class SqliteBackend:
    """A SQLite file; several processes may share it."""

    def __init__(self, path: str | Path) -> None:
        try:
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None)
            self._db.execute("CREATE TABLE IF NOT EXISTS stash (key TEXT PRIMARY KEY, content TEXT NOT NULL)")
        except sqlite3.Error as error:
            raise UserError(f"store {path}: found {error}; expected a SQLite file that can be written") from error

    def read(self, key: str) -> str | None:
        """The content under a key, or none."""
        row = self._db.execute("SELECT content FROM stash WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def write(self, key: str, content: str) -> None:
        """Put content under a key, replacing what was there."""
        self._db.execute("INSERT OR REPLACE INTO stash VALUES (?, ?)", (key, content))

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with a prefix."""
        rows = self._db.execute("SELECT key FROM stash WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))
        return [str(row[0]) for row in rows]

    def forget(self, prefix: str) -> None:
        """Remove all keys that begin with a prefix."""
        self._db.execute("DELETE FROM stash WHERE substr(key, 1, ?) = ?", (len(prefix), prefix))

    def close(self) -> None:
        """Close the file."""
        self._db.close()


class RedisBackend:
    """A Redis server, reached by its URL; needs the extra ``redis``."""

    def __init__(self, url: str) -> None:
        try:
            import redis  # noqa: PLC0415 - an optional part
        except ImportError as error:
            raise UserError("store redis: the package redis is not installed; pip install 'ullage[redis]'") from error
        self._redis: Any = redis.Redis.from_url(url, decode_responses=True)
        try:
            self._redis.ping()
        except redis.RedisError as error:
            raise UserError(f"store redis: the server does not answer ({type(error).__name__})") from error

    def read(self, key: str) -> str | None:
        """The content under a key, or none."""
        found: str | None = self._redis.get(f"ullage/{key}")
        return found

    def write(self, key: str, content: str) -> None:
        """Put content under a key, replacing what was there."""
        self._redis.set(f"ullage/{key}", content)

    def keys(self, prefix: str) -> list[str]:
        """All keys that begin with a prefix."""
        pattern = "".join(f"\\{c}" if c in "*?[]\\^" else c for c in f"ullage/{prefix}")
        return [str(key).removeprefix("ullage/") for key in self._redis.scan_iter(match=pattern + "*", count=500)]

    def forget(self, prefix: str) -> None:
        """Remove all keys that begin with a prefix."""
        for key in self.keys(prefix):
            self._redis.delete(f"ullage/{key}")

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


def open_backend(where: str) -> Backend:
    """Open ``memory``, ``sqlite:PATH`` or a ``redis://`` URL."""
    if where == "memory":
        return MemoryBackend()
    if where.startswith("sqlite:"):
        return SqliteBackend(where.removeprefix("sqlite:"))
    if where.startswith(("redis://", "rediss://", "unix://")):
        return RedisBackend(where)
    raise UserError(f"store {where!r}: unknown kind; known: memory, sqlite:PATH, redis://…")

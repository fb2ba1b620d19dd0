"""The store keeps tenants and sessions apart on every back-end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ullage.errors import UserError
from ullage.store import Backend, MemoryBackend, Session, SqliteBackend, key_of, open_backend

NAME = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


@pytest.fixture(params=["memory", "sqlite", "redis"])
def backend(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Backend]:
    """Each back-end, empty; Redis only where the variable names a server for tests."""
    if request.param == "redis":
        url = os.environ.get("ULLAGE_TEST_REDIS")
        if not url:
            pytest.skip("ULLAGE_TEST_REDIS names no server for tests")
        found = open_backend(url)
        found.forget("")
        yield found
        found.forget("")
        found.close()  # type: ignore[attr-defined]  # only the Redis back-end, which has it
        return
    if request.param == "memory":
        yield MemoryBackend()
        return
    sqlite = SqliteBackend(tmp_path / "store.db")
    yield sqlite
    sqlite.close()


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(names=st.lists(st.tuples(NAME, NAME), min_size=2, max_size=5, unique=True), ref=NAME)
def test_sessions_never_see_each_other(backend: Backend, names: list[tuple[str, str]], ref: str) -> None:
    """What one session of one tenant writes no other can read, whatever their names are."""
    backend.forget("")
    sessions = [Session(backend=backend, tenant=t, session=s) for t, s in names]
    for n, session in enumerate(sessions):
        session.put(ref, f"content {n}")
    assert [session.get(ref) for session in sessions] == [f"content {n}" for n in range(len(sessions))]
    sessions[0].forget()
    assert sessions[0].get(ref) is None
    assert all(session.refs() == [ref] for session in sessions[1:])


def test_keys_are_unambiguous() -> None:
    """Moving a character from one part to the next gives another key."""
    assert key_of("a", "bc", "d") != key_of("ab", "c", "d")
    assert key_of("a/1:b", "c") != key_of("a", "b/1:c")


def test_sqlite_content_outlives_the_process_that_wrote_it(tmp_path: Path) -> None:
    """A second back-end on the same file reads what the first wrote."""
    first = SqliteBackend(tmp_path / "s.db")
    Session(backend=first, tenant="t", session="s").put("r", "kept")
    first.close()
    second = SqliteBackend(tmp_path / "s.db")
    assert Session(backend=second, tenant="t", session="s").get("r") == "kept"
    second.close()


def test_an_unknown_store_is_one_line() -> None:
    """A misspelt store names what exists."""
    with pytest.raises(UserError, match="unknown kind; known: memory, sqlite:PATH"):
        open_backend("memcached")

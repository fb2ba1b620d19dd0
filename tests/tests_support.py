"""What several test files share: where real recordings are, and parts that only CI must have."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def real_traces(*parts: str) -> Path:
    """A folder or file among the recordings that ``ULLAGE_REAL_TRACES`` names; skips without the variable."""
    root = os.environ.get("ULLAGE_REAL_TRACES")
    if not root:
        missing_part("ULLAGE_REAL_TRACES names no folder of recordings")
    path = Path(str(root)).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"{'/'.join(parts)} is not among the recordings")
    return path


def missing_part(reason: str) -> None:
    """Skip for a missing optional part; where CI provides every part (``ULLAGE_CI``), fail instead."""
    if os.environ.get("ULLAGE_CI"):
        pytest.fail(f"{reason} (CI provides it)")
    pytest.skip(reason)

"""What starting costs: importing the package, or asking for help, loads none of the heavy libraries."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ullage import registry

HEAVY = ("pandas", "matplotlib", "litellm", "datasets", "joblib", "numpy", "pyarrow", "tiktoken", "jinja2")
"""Each takes 0.1 to 5 s to import, or is needed by one command only."""


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter holds after running this code."""
    script = f"import json, sys\n{code}\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.rpartition("\n[")[2].join(("[", ""))))


def run(*arguments: str) -> str:
    """Code that runs the command line with these arguments and survives its exit."""
    return (
        f"sys.argv = ['ullage', *{list(arguments)!r}]\n"
        "from ullage.cli import main\n"
        "try:\n    main()\nexcept SystemExit as done:\n    assert not done.code, done.code"
    )


@pytest.mark.parametrize(
    "code",
    ["import ullage", "import ullage.cli", run("--help"), run("run", "--help"), run("compare", "--help"), run("gate", "--help")],
    ids=["import", "cli", "help", "run help", "compare help", "gate help"],
)
def test_starting_loads_nothing_heavy(code: str) -> None:
    """A person who asks what there is waits for nothing that the answer does not need."""
    assert sorted(loaded(code) & set(HEAVY)) == []


def test_the_package_alone_is_light() -> None:
    """``import ullage`` loads no other module of the harness than errors, nouns or none."""
    ours = {name for name in loaded("import ullage") if name.startswith("ullage.")}
    assert ours <= {"ullage.errors", "ullage.types"}


def test_litellm_is_imported_by_the_gateway_only_when_a_live_call_is_made() -> None:
    """Loading every reader and summariser plug-in does not import it."""
    kinds = [(kind, name) for kind in ("readers", "summarizers", "deciders") for name in registry.names(kind)]
    code = f"from ullage import registry\nfor kind, name in {kinds!r}: registry.load_class(kind, name)"
    assert "litellm" not in loaded(code)


def test_listing_imports_no_plug_in() -> None:
    """Names come from the folder, so that hundreds of strategies cost nothing until one is asked for."""
    held = loaded("from ullage import registry\nnames = registry.names('strategies')\nassert 'null' in names")
    assert not {f"ullage.strategies.{name}" for name in registry.names("strategies")} & held

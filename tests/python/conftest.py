# SPDX-License-Identifier: Apache-2.0
import pytest

pytest_plugins = ["pytester"]


@pytest.fixture
def scripts(tmp_path):
    """Runs a script as a program of its own; returns what it printed and its exit code."""
    import subprocess
    import sys

    def run(text, *arguments, **options):
        path = tmp_path / "script.py"
        path.write_text(text)
        return subprocess.run([sys.executable, str(path), *arguments], capture_output=True,
                              text=True, timeout=120, **options)

    return run

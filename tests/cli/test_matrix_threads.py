"""Threads of the matrix library."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("given", "used"), [(None, "4"), ("26", "26")])
def test_threads_of_matrix_products_sleep_in_commands_unless_somebody_wants_them_to_spin(given, used) -> None:
    code = "import os, sys, spoofspan.cli as cli; cli.atexit.register(lambda: print(os.environ[%r])); cli.main()"
    name = "OPENBLAS_THREAD_TIMEOUT"
    environment = {key: value for key, value in os.environ.items() if key != name} | ({name: given} if given else {})
    command = [sys.executable, "-c", code % name, "--version"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == used

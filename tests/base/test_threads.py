"""Several threads give the same bits as one, in order, and none is left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import pytest

from spoofspan.base.pool import open_pool
from spoofspan.base.threads import in_order, thread_count


def test_results_come_in_order_whichever_ends_first() -> None:
    found = list(in_order(lambda wait: time.sleep(wait) or wait, [0.03, 0.0, 0.02, 0.0, 0.01], 3))
    assert found == [0.03, 0.0, 0.02, 0.0, 0.01]


def test_an_error_comes_out_and_no_thread_stays() -> None:
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError):
        list(in_order(lambda n: 1 // n, [1, 0, 1, 1, 1], 2))
    some = in_order(abs, range(100), 2)
    next(some)
    some.close()
    assert threading.active_count() == before


def test_a_thread_starts_no_threads_of_its_own() -> None:
    assert list(in_order(lambda _: thread_count(3), range(4), 3)) == [1, 1, 1, 1]


@pytest.mark.parametrize(("given", "used"), [(None, "4"), ("26", "26")])
def test_threads_of_matrix_products_sleep_in_commands_unless_somebody_wants_them_to_spin(given, used) -> None:
    code = "import os, sys, spoofspan.cli as cli; cli.atexit.register(lambda: print(os.environ[%r])); cli.main()"
    name = "OPENBLAS_THREAD_TIMEOUT"
    environment = {key: value for key, value in os.environ.items() if key != name} | ({name: given} if given else {})
    command = [sys.executable, "-c", code % name, "--version"]
    printed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] == used


def test_a_process_of_a_pool_has_one_thread() -> None:
    with open_pool(2) as pool:
        assert pool is not None
        assert list(pool.in_order(thread_count, [4, 4])) == [1, 1]

"""Kernels that are forked from one process: as clean as others, and they end when they should."""

import os
import time
from pathlib import Path

import kernels
import pytest
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

pytestmark = pytest.mark.skipif(not kernels.FORKS, reason="kernels are forked on Linux only")


class Manager(KernelManager):
    """Starts what it is given."""

    def __init__(self, command):
        super().__init__()
        self._kernel_spec = KernelSpec(argv=command)


@pytest.fixture(scope="module")
def forking():
    made = kernels.Kernels()
    yield made
    made.close()
    assert not Path(made.address).exists()
    assert made.server.returncode == 0


@pytest.fixture
def begin(forking):
    """Starts a kernel; what it gives runs a cell and returns its messages by kind."""
    both = []

    def begun():
        manager = Manager(forking.command())
        manager.start_kernel()
        client = manager.client()
        both.append((manager, client))
        client.start_channels()
        client.wait_for_ready(timeout=60)

        def run(source):
            messages = {}
            keep = lambda message: messages.update({message["msg_type"]: message["content"]})  # noqa: E731
            client.execute_interactive(source, timeout=60, output_hook=keep)
            return messages

        run.manager, run.client = manager, client
        return run

    yield begun
    for manager, client in both:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.context.destroy()


def said(run, source):
    return eval(run(source)["execute_result"]["data"]["text/plain"])


def alive(process):
    return Path("/proc", str(process)).exists()


def gone(process):
    until = time.monotonic() + 20
    while alive(process) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(process)


def test_one_knows_nothing_of_what_another_did(begin):
    first, second = begin(), begin()
    first("import math; math.pi = x = 3; import os; os.chdir('/'); os.environ['LEFT'] = '1'")
    here = said(second, "import math, os; (math.pi > 3, 'x' in globals(), os.getcwd(), 'LEFT' in os.environ)")
    assert here == (True, False, os.getcwd(), False)


def test_what_is_loaded_has_no_name_before_it_is_imported(begin):
    run = begin()
    assert said(run, "import sys; 'torch' in sys.modules, 'torch' in globals()") == (True, False)
    assert run("torch")["error"]["ename"] == "NameError"


def test_it_has_the_environment_of_the_one_who_asks(begin, monkeypatch):
    monkeypatch.setenv("ASKED", "now")
    assert said(begin(), "import os; os.environ['ASKED'], 'JPY_PARENT_PID' in os.environ") == ("now", False)


def test_a_figure_is_shown_in_the_cell_that_draws_it(begin):
    assert "image/png" in begin()("import matplotlib.pyplot as plt; plt.plot([1, 2]);")["display_data"]["data"]


def test_processes_that_a_cell_starts_can_be_waited_for(begin):
    assert said(begin(), "import subprocess, sys; subprocess.run([sys.executable, '-c', 'exit(3)']).returncode") == 3


def test_it_is_interrupted_and_goes_on(begin):
    run = begin()
    asked = run.client.execute("import time; print('begun', flush=True); time.sleep(60)")
    while run.client.get_iopub_msg(timeout=60)["msg_type"] != "stream":
        pass
    run.manager.interrupt_kernel()
    while (reply := run.client.get_shell_msg(timeout=60))["parent_header"].get("msg_id") != asked:
        pass
    assert reply["content"].get("ename") == "KeyboardInterrupt", reply["content"]
    while run.client.get_iopub_msg(timeout=60)["content"].get("execution_state") != "idle":
        pass  # what it still has to say of the interrupted cell
    assert said(run, "1 + 1") == 2


def test_jupyter_sees_that_one_has_died(begin):
    run = begin()
    process = said(run, "import os; os.getpid()")
    run.client.execute("os._exit(3)")
    assert gone(process)
    until = time.monotonic() + 20
    while run.manager.is_alive() and time.monotonic() < until:
        time.sleep(0.05)
    assert not run.manager.is_alive()


@pytest.mark.parametrize("at_once", [False, True])
def test_it_ends_with_the_one_who_asked(begin, at_once):
    run = begin()
    process = said(run, "import os; os.getpid()")
    run.manager.shutdown_kernel(now=at_once)
    assert gone(process)


def test_libraries_that_cannot_be_loaded_are_no_reason_to_wait(monkeypatch, tmp_path):
    (tmp_path / "matplotlib.py").write_text("raise SystemExit(7)")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="ended with status 7"):
        kernels.Kernels()

"""Kernels for nbval, forked from a process that has loaded the libraries, and so ready at once.

A kernel takes seconds to load PyTorch, Matplotlib and what PyTorch loads at the first step of an optimiser. Forty
chapters would do so one after the other; here one process does it for all of them. It runs no cell: what a chapter
sets or changes is gone with its kernel, and what it does not import has no name in it.

    python tools/kernels.py serve ADDRESS                     load the libraries; fork a kernel for each that asks
    python tools/kernels.py ask ADDRESS -f CONNECTION_FILE    ask for one; stands for it until it ends
"""

import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading

FORKS = sys.platform == "linux"  # the libraries of other systems may hang in a process that was forked


class Kernels:
    """The process that forks; it ends with the one that made it."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.address = os.path.join(self.folder.name, "kernels")
        command = [sys.executable, "-P", __file__, "serve", self.address]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if not self.server.stdout.readline():
            self.close()
            raise RuntimeError(f"no kernels: {' '.join(command)} ended with status {self.server.returncode}")

    def command(self):
        """What starts one of them, for Jupyter."""
        return [sys.executable, "-I", "-S", __file__, "ask", self.address, "-f", "{connection_file}"]

    def close(self):
        """No kernel is asked for any more."""
        self.server.communicate()
        self.folder.cleanup()


def serve(address):
    """Load what chapters load, and fork a kernel for each that asks, until standard input is closed."""
    # Matplotlib asks once, when it is loaded; in a kernel it would find this.
    os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
    import ipykernel.kernelapp  # noqa: F401
    import matplotlib.pyplot  # noqa: F401
    import torch._dynamo  # noqa: F401

    gc.freeze()  # what is loaded stays: no kernel looks through it for garbage
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a kernel here
        print("ready", flush=True)
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            with listener.accept()[0] as asked:
                if os.fork() == 0:
                    listener.close()
                    become(asked)


def become(asked):
    """Be the kernel that was asked for."""
    wanted = json.loads(asked.makefile().readline())
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(null, stream)
    os.chdir(wanted["folder"])
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.environ.pop("JPY_PARENT_PID", None)  # a kernel ends if that is not its parent; here the thread below sees to it
    asked.sendall(f"{os.getpid()}\n".encode())
    threading.Thread(target=lambda: (asked.recv(1), os._exit(1)), daemon=True).start()
    sys.argv = ["ipykernel_launcher", *wanted["options"]]
    try:
        sys.modules["ipykernel.kernelapp"].launch_new_instance()
    finally:
        os._exit(0)


def ask(address, options):
    """Ask for a kernel, hand on what interrupts it, and end when it ends, or when the one that wanted it has."""
    parent = os.getppid()
    with socket.socket(socket.AF_UNIX) as kernel:
        kernel.connect(address)
        wanted = {"options": options, "folder": os.getcwd(), "environment": dict(os.environ)}
        kernel.sendall(json.dumps(wanted).encode() + b"\n")
        number = int(kernel.makefile().readline())
        signal.signal(signal.SIGINT, lambda *_: os.kill(number, signal.SIGINT))
        while os.getppid() == parent and not select.select([kernel], [], [], 1)[0]:
            pass


if __name__ == "__main__":
    ask(sys.argv[2], sys.argv[3:]) if sys.argv[1] == "ask" else serve(sys.argv[2])

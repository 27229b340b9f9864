"""Compare all outputs under other threads, hash seeds and instruction sets of PyTorch, NumPy and OpenBLAS.

    python tools/matrix.py [book/attention.ipynb …]     all chapters if none is named

Each row runs every chapter under settings of its own. A training that amplifies the last bit of a sum gives other
numbers in another row, so it is found here before a reader with another processor finds it.
"""

import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).parents[1]
NUMPY_AVX2, NUMPY_SSE = "X86_V4 AVX512_ICL AVX512_SPR", "X86_V3 X86_V4 AVX512_ICL AVX512_SPR"
TORCH_SSE = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"}
EVERYTHING_SSE = {**TORCH_SSE, "NPY_DISABLE_CPU_FEATURES": NUMPY_SSE, "OPENBLAS_CORETYPE": "Nehalem"}
AVX2 = {
    "ATEN_CPU_CAPABILITY": "avx2",
    "NPY_DISABLE_CPU_FEATURES": NUMPY_AVX2,
    "OPENBLAS_CORETYPE": "Haswell",
}
ROWS = [  # threads, hash seed, switches
    (1, 0, {}),
    (2, 1, {}),
    (1, 1, {"NPY_DISABLE_CPU_FEATURES": NUMPY_SSE}),
    (1, 1, {"OPENBLAS_CORETYPE": "Nehalem"}),
    (1, 1, TORCH_SSE),
    (1, 0, AVX2),
    (1, 0, EVERYTHING_SSE),
    (2, 1, EVERYTHING_SSE),
]
# What the libraries say of themselves under the settings of a row: a processor may lack what was asked for.
ASKED = """
import torch, threadpoolctl
from numpy._core._multiarray_umath import __cpu_baseline__, __cpu_dispatch__, __cpu_features__
numpy = [name for name in (*__cpu_baseline__, *__cpu_dispatch__) if __cpu_features__[name]]
blas = [pool["architecture"] for pool in threadpoolctl.threadpool_info() if "openblas" in pool["filepath"]]
print(torch.backends.cpu.get_cpu_capability(), numpy[-1], *blas[:1] or ["none"])
"""


def main(notebooks):
    """Run all rows; a line for each as soon as it is done, and what failed above it."""
    failed = False
    for threads, seed, switches in ROWS:
        chosen = {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads, "PYTHONHASHSEED": seed}
        settings = {**os.environ, **{name: str(value) for name, value in chosen.items()}, **switches}
        asked = subprocess.run([sys.executable, "-c", ASKED], env=settings, capture_output=True, text=True, check=True)
        found = "PyTorch {}, NumPy {}, OpenBLAS {}".format(*asked.stdout.split())
        command = ["-m", "pytest", "-q", "--nbval", "--nbval-current-env", "-n", "2", "--dist", "loadfile"]
        began = time.monotonic()
        ran = subprocess.run(
            [sys.executable, *command, *notebooks], env=settings, cwd=ROOT, capture_output=True, text=True
        )
        if ran.returncode:
            failed = True
            print(ran.stdout)
        seconds = time.monotonic() - began
        last = ran.stdout.strip().splitlines()[-1]
        print(f"threads {threads}, hash seed {seed}, {found}: {last} ({seconds:.0f} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or ["book"]))

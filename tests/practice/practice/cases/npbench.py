"""npbench: NPBench's programs in Triton (solvers, stencils, linear algebra, small networks).

Inputs are those of its own ``initialize``, what is right is what its NumPy program gives in
float64.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import triton.language as tl

from practice.case import Repository

repository = Repository(
    "zero9178/npbench",
    "9db6718551ccf729f0f5d0a8f2bebe4031a663d2",
    packages={"npbench": "."},
    stand_ins={
        "npbench.infrastructure.triton_framework": {"tl_float": tl.float32},
        "npbench.infrastructure.framework": {"np_float": np.float64, "np_complex": np.complex128},
    },
)

WIDE = {
    np.dtype(np.float32): np.float64,
    np.dtype(np.complex64): np.complex128,
}


def _wide(x):
    """A copy of an input, in float64 where it has a fraction."""
    if isinstance(x, np.ndarray):
        return x.astype(WIDE.get(x.dtype, x.dtype))
    return float(x) if isinstance(x, np.floating) else x


def _torch(x, device):
    return torch.from_numpy(x.copy()).to(device) if isinstance(x, np.ndarray) else x


def _real(x):
    """A result as tensors without an imaginary part."""
    if not isinstance(x, torch.Tensor):
        x = torch.from_numpy(np.atleast_1d(x))
    return torch.view_as_real(x) if x.is_complex() else x


def _about(file, name, datatype, sizes):
    """What npbench knows of a program: the names of its arguments and of its results, its inputs,
    its NumPy program and its name."""
    path = Path(file.__file__)
    root = next(p for p in path.parents if (p / "bench_info").is_dir())
    about = json.loads((root / "bench_info" / f"{name}.json").read_text())["benchmark"]
    package, module = file.__package__, about["module_name"]
    values = {k: np.float32(v) if isinstance(v, float) else v for k, v in sizes.items()}
    if init := about.get("init"):
        np.random.seed(0)
        make = getattr(importlib.import_module(f"{package}.{module}"), init["func_name"])
        made = make(*(values[arg] for arg in init["input_args"]), datatype=datatype)
        names = init["output_args"]
        values.update(zip(names, made if len(names) > 1 else [made], strict=True))
    numpy = importlib.import_module(f"{package}.{module}_numpy")
    return about, values, numpy


def _program(folder, kernels, small, production, name="", **options):
    module = options.pop("module", folder.rpartition("/")[2])
    datatype = options.pop("datatype", np.float32)
    what, mutates = options.pop("info", module), options.pop("mutates", ())
    more, zeros = options.pop("more", {}), options.pop("zeros", False)
    keep = options.pop("keep", None)

    def build(file, device, **sizes):
        about, values, numpy = _about(file, what, datatype, sizes)
        args, function = about["input_args"], about["func_name"]
        mutated = about["output_args"] or mutates

        if zeros:
            file.torch = SimpleNamespace(empty_like=torch.zeros_like, sum=torch.sum)

        def results(call, given):
            out = call(*given.values())
            out = [] if out is None else list(out) if isinstance(out, (tuple, list)) else [out]
            return [_real(x) for x in [*(given[arg] for arg in mutated), *out]]

        def run():
            with torch.device(device):
                for _ in range(2):  # what tunes itself adds to its results while it does
                    given = {arg: _torch(values[arg], device) for arg in args}
                    got = results(getattr(file, function), given)
            return got[:keep]

        def want():
            given = {arg: _wide(values[arg]) for arg in args}
            given |= {arg: given[arg] + n for arg, n in more.items()}
            return results(getattr(numpy, function), given)

        return run, want

    file = f"npbench/benchmarks/{folder}/{module}_triton.py"
    options = dict(rtol=1e-4, atol=1e-5) | options
    repository.case(file, kernels, small=small, production=production, name=name or what, **options)(build)  # fmt: skip


def sizes(names, *values):
    """Sizes by name."""
    return dict(zip(names.split(), values, strict=True))


_program("polybench/adi", "column_sweep_kernel", sizes("TSTEPS N", 2, 20), sizes("TSTEPS N", 20, 200))  # fmt: skip
# No access has a mask.
_program("pythran/arc_distance", "_kernel", dict(N=1000), dict(N=10000000), info="arc_distance", finds="oob-load,oob-store")  # fmt: skip
_program("polybench/atax", "_kernel", sizes("M N", 70, 90), sizes("M N", 10000, 12500))
_program("azimint_hist", "_kernel", sizes("N npt", 4000, 100), sizes("N npt", 4000000, 1000))
_program("azimint_naive", "_kernel", sizes("N npt", 4000, 100), sizes("N npt", 400000, 1000))
# The atomics that add the sums have no mask.
_program("polybench/bicg", "_kernel", sizes("M N", 70, 90), sizes("M N", 10000, 12500), finds="oob-atomic")  # fmt: skip
FLOW = "ny nx nt nit rho nu"
# The walls at the left and at the right are read in rows that the mask of the block leaves out.
_program("cavity_flow", "build_b_kernel, pressure_step_kernel, velocity_update_kernel, grid_sync", sizes(FLOW, 31, 31, 3, 5, 1.0, 0.1), sizes(FLOW, 201, 201, 20, 20, 1.0, 0.1), finds="oob-load")  # fmt: skip
FLOW = "ny nx nit rho nu F"
# It leaves the walls of its new u and v as it finds them, and takes them for zeros.
_program("channel_flow", "_kernel", sizes(FLOW, 21, 21, 5, 1.0, 0.1, 1.0), sizes(FLOW, 101, 101, 10, 1.0, 0.1, 1.0), zeros=True)  # fmt: skip
_program("polybench/cholesky", "_kernel", dict(N=30), dict(N=400), keep=1)
_program("polybench/cholesky2", "_kernel", dict(N=70), dict(N=2000), keep=1)
_program("compute", "_kernel", sizes("M N", 70, 90), sizes("M N", 16000, 16000))
CONTOUR = "NR NM slab_per_bc num_int_pts"
_program("contour_integral", "_kernel", sizes(CONTOUR, 12, 20, 2, 4), sizes(CONTOUR, 150, 300, 2, 32))  # fmt: skip
CONV = "N C_in C_out K H W"
_program("deep_learning/conv2d_bias", "_kernel", sizes(CONV, 2, 3, 5, 3, 12, 13), sizes(CONV, 8, 3, 8, 10, 128, 128), module="conv2d", info="conv2d_bias")  # fmt: skip
for _folder in ("correlation", "covariance", "covariance2"):
    _program(f"polybench/{_folder}", "_kernel, kernel_mean_and_sumsq, kernel_compute_stddev", sizes("M N", 50, 60), sizes("M N", 1200, 1400))  # fmt: skip
_program("crc16", "_compute_lookup_table, _kernel_with_lookup", dict(N=300), dict(N=16000), datatype=None)  # fmt: skip
_program("polybench/deriche", "_kernel", sizes("W H", 40, 30), sizes("W H", 6000, 3000))
# It computes one block of a row, of 8 to 128 elements as tuned: rows of 8 are right in each.
_program("polybench/doitgen", "_kernel", sizes("NR NQ NP", 6, 7, 8), sizes("NR NQ NP", 220, 250, 8), mutates=("A",))  # fmt: skip
_program("polybench/durbin", "_kernel", dict(N=60), dict(N=4000), rtol=2e-3, atol=1e-4)
_program("polybench/fdtd_2d", "_kernel", sizes("TMAX NX NY", 5, 40, 50), sizes("TMAX NX NY", 50, 800, 900))  # fmt: skip
_program("polybench/floyd_warshall", "_kernel", dict(N=40), dict(N=850), datatype=np.int32)
_program("polybench/gemm", "matmul_kernel_float32", sizes("NI NJ NK", 70, 80, 90), sizes("NI NJ NK", 4000, 4100, 4200))  # fmt: skip
_program("polybench/gemver", "_kernel", dict(N=70), dict(N=10000))
_program("polybench/gesummv", "_kernel", dict(N=70), dict(N=14000))
_program("go_fast", "_kernel", dict(N=70), dict(N=20000))
_program("polybench/gramschmidt", "_kernel", sizes("M N", 40, 30), sizes("M N", 600, 500))
_program("weather_stencils/hdiff", "_kernel", sizes("I J K", 12, 13, 10), sizes("I J K", 384, 384, 160), keep=1)  # fmt: skip
_program("polybench/heat_3d", "_kernel, grid_sync", sizes("TSTEPS N", 4, 12), sizes("TSTEPS N", 50, 70))  # fmt: skip
# One more time step than NumPy's.
_program("polybench/jacobi_1d", "_kernel, grid_sync", sizes("TSTEPS N", 10, 300), sizes("TSTEPS N", 800, 34000), more=dict(TSTEPS=1))  # fmt: skip
_program("polybench/jacobi_2d", "_kernel, grid_sync", sizes("TSTEPS N", 6, 40), sizes("TSTEPS N", 200, 700))  # fmt: skip
MM = "NI NJ NK NL"
_program("polybench/k2mm", "_kernel", sizes(MM, 70, 40, 50, 60), sizes(MM, 3000, 3250, 3500, 3750))
_program("polybench/k3mm", "matmul_kernel_float32", sizes(MM + " NM", 70, 40, 50, 60, 30), sizes(MM + " NM", 2700, 3000, 3200, 3500, 3700))  # fmt: skip
_program("deep_learning/lenet", "_kernel", sizes("N H W", 2, 28, 28), sizes("N H W", 8, 176, 176))
_program("polybench/lu", "_kernel", dict(N=30), dict(N=400), keep=1)
_program("polybench/ludcmp", "_kernel", dict(N=30), dict(N=400))
MANDEL = "xmin xmax XN ymin ymax YN maxiter horizon"
_program("mandelbrot1", "_kernel", sizes(MANDEL, -1.75, 0.25, 25, -1.0, 1.0, 30, 20, 2.0), sizes(MANDEL, -2.0, 0.5, 833, -1.25, 1.25, 833, 200, 2.0), share=1e-2)  # fmt: skip
_program("mandelbrot2", "_kernel", sizes(MANDEL, -2.0, 0.5, 25, -1.25, 1.25, 30, 20, 2.0), sizes(MANDEL, -2.25, 0.75, 1000, -1.5, 1.5, 1000, 100, 2.0), share=1e-3)  # fmt: skip
MLP = "C_in N S0 S1 S2"
_program("deep_learning/mlp", "_kernel", sizes(MLP, 3, 8, 60, 70, 50), sizes(MLP, 3, 8, 30000, 10000, 10000))  # fmt: skip
_program("polybench/mvt", "_kernel", dict(N=90), dict(N=22000))
NBODY = "N tEnd dt softening G"
_program("nbody", "_get_acc, _get_energy", sizes(NBODY, 25, 0.3, 0.05, 0.1, 1.0), sizes(NBODY, 100, 2.0, 0.01, 0.1, 1.0))  # fmt: skip
_program("polybench/nussinov", "_kernel", dict(N=30), dict(N=200), datatype=np.int32)
RESNET = "N W H C1 C2"
_program("deep_learning/resnet", "_kernel", sizes(RESNET, 2, 8, 8, 16, 4), sizes(RESNET, 8, 56, 56, 128, 32), rtol=2e-2, atol=5e-3)  # fmt: skip
# scattering_self_energies is left out, as no result of it is right: line 78 takes seven sizes for
# six coordinates, so that a complex number begins amid another one (crosses-dimension), and its
# products of matrices are products of elements in tiles of more than two axes.
_program("polybench/seidel_2d", "_kernel", sizes("TSTEPS N", 2, 20), sizes("TSTEPS N", 40, 200))
_program("deep_learning/softmax", "_kernel", sizes("N H SM", 2, 3, 50), sizes("N H SM", 64, 16, 448))  # fmt: skip
_program("spmv", "_kernel", sizes("M N nnz", 64, 64, 300), sizes("M N nnz", 262144, 262144, 262144))
_program("stockham_fft", "_kernel", sizes("R K", 2, 6), sizes("R K", 2, 16))
_program("polybench/symm", "_kernel", sizes("M N", 30, 40), sizes("M N", 350, 550), keep=1)
_program("polybench/syr2k", "_kernel", sizes("M N", 30, 40), sizes("M N", 350, 400))
_program("polybench/syrk", "_kernel", sizes("M N", 30, 40), sizes("M N", 500, 600))
_program("polybench/trisolv", "_kernel", dict(N=60), dict(N=8000))
_program("polybench/trmm", "_kernel", sizes("M N", 30, 40), sizes("M N", 600, 700))
_program("weather_stencils/vadv", "_kernel", sizes("I J K", 10, 9, 12), sizes("I J K", 180, 180, 160))  # fmt: skip

"""The active driver's answers, and the module paths that lead to it."""

import pytest
from blockscope.backends import GPUTarget, backends
from blockscope.backends.triton_shared.driver import CPUDriver
from blockscope.driver import DriverBase, driver
from blockscope.driver.active import _default_driver
from blockscope.runtime import driver as driver_module


def test_target_is_the_cpu():
    target = driver.active.get_current_target()
    assert isinstance(target, GPUTarget)
    assert target.backend == "cpu"
    assert target.warp_size == 32


def test_device_answers():
    active = driver_module.active
    assert active is driver.active is driver_module.driver.active
    assert active.get_current_device() == 0
    assert active.get_current_stream(0) == 0
    active.set_current_device(0)
    with pytest.raises(ValueError, match="expected 0"):
        active.set_current_device(1)


def test_properties_can_be_computed_with():
    properties = driver.active.utils.get_device_properties(0)
    for name in ("max_shared_mem", "max_num_regs", "multiprocessor_count", "warpSize",
                 "sm_clock_rate", "mem_clock_rate", "mem_bus_width"):  # fmt: skip
        assert properties[name] > 0
    driver.active.utils.set_printf_fifo_size(1 << 20)
    with pytest.raises(ValueError, match="expected more than 0"):
        driver.active.utils.set_printf_fifo_size(-1)


def test_device_interface():
    interface = driver.active.get_device_interface()
    start, end = interface.Event(enable_timing=True), interface.Event(enable_timing=True)
    start.record()
    end.record()
    interface.synchronize()
    assert start.elapsed_time(end) >= 0
    with pytest.raises(RuntimeError, match="two recorded events"):
        start.elapsed_time(interface.Event())
    assert interface.get_device_properties(0).multi_processor_count >= 1
    with interface.stream(interface.Stream()):
        pass


def test_cache_for_benchmarks():
    active = driver.active
    cache = active.get_empty_cache_for_benchmark()
    active.clear_cache(cache)
    assert callable(active.get_benchmarker())


def test_the_timer_of_a_driver_takes_what_do_bench_takes():
    class Driver(CPUDriver):
        get_benchmarker = DriverBase.get_benchmarker

    bench = Driver().get_benchmarker()
    assert len(bench(lambda: None, 0, 1, fast_flush=False, percentiles=[0.2, 0.8])) == 2
    assert bench(lambda: None, rep=1, warmup=0, return_mode="min") > 0


def test_torch_device():
    torch = pytest.importorskip("torch")
    assert driver.active.get_active_torch_device() == torch.device("cpu")


def test_names_of_triton_cpu(monkeypatch):
    from blockscope.driver import cuda

    monkeypatch.setattr(cuda.CudaDriver, "is_active", staticmethod(lambda: False))
    try:
        driver_module.set_active_to_cpu()
        assert driver.active.get_current_target().backend == "cpu"
        assert driver_module.get_active_gpus() == []
        with pytest.raises(RuntimeError, match="set_active_to_gpu found no GPU"):
            driver_module.set_active_to_gpu()
        assert driver.active.get_current_target().backend == "cpu"
    finally:
        driver_module.reset_active()


def test_set_active():
    mine = CPUDriver()
    driver_module.set_active(mine)
    try:
        assert driver_module.active is mine
    finally:
        driver_module.reset_active()
    assert driver_module.active is not mine
    with pytest.raises(TypeError, match="got int"):
        driver.set_active(3)

    class Gpu(CPUDriver):
        def get_current_target(self):
            return GPUTarget("hip", "gfx942", 64)

    with pytest.raises(ValueError, match="'hip', expected one for 'cpu' or 'cuda'"):
        driver.set_active(Gpu())


def test_an_unknown_default_backend_is_an_error(monkeypatch):
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "rocm")
    with pytest.raises(ValueError, match="TRITON_DEFAULT_BACKEND is 'rocm', expected 'cpu' or"):
        _default_driver()
    monkeypatch.setenv("TRITON_DEFAULT_BACKEND", "cpu")
    assert _default_driver().get_current_target().backend == "cpu"


def test_backends():
    assert backends["cpu"].driver.is_active()
    from blockscope.driver.cuda import CudaDriver

    assert backends["nvidia"].driver is CudaDriver
    if not CudaDriver.is_active():
        with pytest.raises(RuntimeError, match="kernels on CPU tensors run without"):
            CudaDriver()

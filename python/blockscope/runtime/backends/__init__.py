"""The ways to run a kernel: on the CPU as a flat program or step by step, and on NVIDIA GPUs."""

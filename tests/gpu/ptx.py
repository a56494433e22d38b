"""Kernels written in PTX: the driver assembles them, so tests of the launcher need no compiler."""

#: add(x, y, out, n): out[i] = x[i] + y[i], one element per thread.
VECTOR_ADD = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry add(.param .u64 px, .param .u64 py, .param .u64 po, .param .u32 pn)
{
  .reg .pred %p;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [px];
  ld.param.u64 %d2, [py];
  ld.param.u64 %d3, [po];
  ld.param.u32 %r1, [pn];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p, %r5, %r1;
  @%p ret;
  mul.wide.s32 %d4, %r5, 4;
  add.s64 %d5, %d1, %d4;
  add.s64 %d6, %d2, %d4;
  add.s64 %d7, %d3, %d4;
  ld.global.f32 %f1, [%d5];
  ld.global.f32 %f2, [%d6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%d7], %f3;
  ret;
}
"""

#: wild(address): stores to an address.
WILD_STORE = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry wild(.param .u64 pa)
{
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [pa];
  mov.u32 %r1, 1;
  st.global.u32 [%d1], %r1;
  ret;
}
"""


def compiled_data(name, ptx, **changes):
    """What the compiler would give for a kernel: its PTX in place of the cubin."""
    data = {
        "name": name,
        "tl": "",
        "plan": "",
        "tlg": "",
        "llir": "",
        "ptx": ptx,
        "cubin": ptx.encode() + b"\0",
        "arch": "sm_90a",
        "num_warps": 4,
        "num_ctas": 1,
        "shared": 0,
        "registers": 0,
        "spill_bytes": 0,
        "global_scratch_size": 0,
        "global_scratch_align": 128,
        "takes_debug_buffer": False,
        "debug_sites": [],
        "times": [],
        "warnings": [],
    }
    return {**data, **changes}

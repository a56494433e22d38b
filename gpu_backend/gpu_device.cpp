// The table of devices. A new one is a row here.
//
// Sources, all NVIDIA's; those that are given with sparsity are halved:
//   A100: "NVIDIA A100 Tensor Core GPU" data sheet (nvidia-a100-datasheet), the SXM 80 GB column;
//         the vector units at fp16 and bf16 from "NVIDIA A100 Tensor Core GPU Architecture",
//         table 1.
//   H100: "NVIDIA H100 Tensor Core GPU" data sheet, the SXM and PCIe columns; the vector units at
//         fp16 and bf16 from "NVIDIA H100 Tensor Core GPU Architecture", table 2.
//   H200: "NVIDIA H200 Tensor Core GPU" data sheet, the SXM column: H100's units, other memory.
//   L40S: "NVIDIA L40S" data sheet.
#include "gpu_backend/gpu_device.h"

namespace blockscope {
namespace {

constexpr bool kTensor = true, kVector = false;

constexpr GpuPeak kA100[] = {
    {kTensor, "fp64", 19.5}, {kTensor, "tf32", 156}, {kTensor, "fp16", 312},
    {kTensor, "bf16", 312},  {kVector, "fp64", 9.7}, {kVector, "fp32", 19.5},
    {kVector, "fp16", 78},   {kVector, "bf16", 39},
};
constexpr GpuPeak kH100[] = {
    {kTensor, "fp64", 67},    {kTensor, "tf32", 494.7}, {kTensor, "fp16", 989.4},
    {kTensor, "bf16", 989.4}, {kTensor, "fp8", 1978.9}, {kVector, "fp64", 33.5},
    {kVector, "fp32", 66.9},  {kVector, "fp16", 133.8}, {kVector, "bf16", 133.8},
};
constexpr GpuPeak kH100Pcie[] = {
    {kTensor, "fp64", 51.2}, {kTensor, "tf32", 378},   {kTensor, "fp16", 756},
    {kTensor, "bf16", 756},  {kTensor, "fp8", 1513},   {kVector, "fp64", 25.6},
    {kVector, "fp32", 51.2}, {kVector, "fp16", 102.4}, {kVector, "bf16", 102.4},
};
constexpr GpuPeak kL40S[] = {
    {kTensor, "tf32", 183},  {kTensor, "fp16", 362.05}, {kTensor, "bf16", 362.05},
    {kTensor, "fp8", 733},   {kVector, "fp32", 91.6},   {kVector, "fp16", 91.6},
    {kVector, "bf16", 91.6},
};

constexpr GpuDevice kDevices[] = {
    {"A100 SXM 80 GB", "a100", "sm_80", 2039, kA100},
    {"L40S", "l40s", "sm_89", 864, kL40S},
    {"H100 SXM", "h100", "sm_90a", 3350, kH100},
    {"H100 PCIe", "h100-pcie", "sm_90a", 2000, kH100Pcie},
    {"H200 SXM", "h200", "sm_90a", 4800, kH100},
};

} // namespace

llvm::ArrayRef<GpuDevice> GpuDevice::all() { return kDevices; }

const GpuDevice *GpuDevice::find(llvm::StringRef name) {
  for (const GpuDevice &device : kDevices)
    if (name == device.alias || name == device.arch ||
        (device.arch.ends_with("a") && name == device.arch.drop_back()))
      return &device;
  return nullptr;
}

} // namespace blockscope

// What OpenCL says of a device: for DeviceInfo, and for the limits of a launch.
#pragma once

#include "runtime/opencl/opencl_executor.h"
#include "schemas/device_generated.h"

namespace fettle::agent {

// Completes what the supervisor described: name, memory limit where none was set, GPU facts.
Result<void> read_opencl_facts(const runtime::OpenClDriver& driver, cl_device_id device,
                               wire::DeviceInfoT& info);
// A warp, a wavefront: of a small kernel, since OpenCL 1.2 tells it of kernels only. 0: not known.
std::uint32_t threads_that_go_together(const runtime::OpenClDriver& driver, cl_context context,
                                       cl_device_id device);
// Texels that an image over a buffer may have; 0: none is, of float16 or of float32.
std::uint64_t texels_of_images(const runtime::OpenClDriver& driver, cl_context context,
                               cl_device_id device);
runtime::OpenClLimits opencl_limits(const wire::GpuFactsT& facts, std::uint64_t texels);
// Bytes at whose multiples a buffer's piece may begin.
std::uint64_t buffer_alignment(const runtime::OpenClDriver& driver, cl_device_id device);

}  // namespace fettle::agent

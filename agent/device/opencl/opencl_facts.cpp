// Queries of a device (opencl_facts.h).
#include "agent/device/opencl/opencl_facts.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <sstream>

namespace fettle::agent {
namespace {

// 0 where the device does not know the question.
template <typename Value>
Value number(const runtime::OpenClDriver& driver, cl_device_id device, cl_device_info what) {
  Value value{};
  driver.call().GetDeviceInfo(device, what, sizeof value, &value, nullptr);
  return value;
}

std::string text(const runtime::OpenClDriver& driver, cl_device_id device, cl_device_info what) {
  std::size_t bytes = 0;
  if (driver.call().GetDeviceInfo(device, what, 0, nullptr, &bytes) != CL_SUCCESS) return "";
  std::string out(bytes, 0);
  if (driver.call().GetDeviceInfo(device, what, bytes, out.data(), nullptr) != CL_SUCCESS) {
    return "";
  }
  while (!out.empty() && (out.back() == 0 || out.back() == ' ')) out.pop_back();
  return out;
}

}  // namespace

Result<void> read_opencl_facts(const runtime::OpenClDriver& driver, cl_device_id device,
                               wire::DeviceInfoT& info) {
  const auto ask32 = [&](cl_device_info what) { return number<cl_uint>(driver, device, what); };
  const auto ask64 = [&](cl_device_info what) { return number<cl_ulong>(driver, device, what); };
  info.name = text(driver, device, CL_DEVICE_NAME);
  if (info.name.empty())
    return Error{ErrorCode::NotFound, "the OpenCL device does not tell its name"};
  info.gpu = std::make_unique<wire::GpuFactsT>();
  wire::GpuFactsT& gpu = *info.gpu;
  gpu.vendor = text(driver, device, CL_DEVICE_VENDOR);
  gpu.api_version = text(driver, device, CL_DEVICE_VERSION);
  gpu.driver_version = text(driver, device, CL_DRIVER_VERSION);
  gpu.compute_units = ask32(CL_DEVICE_MAX_COMPUTE_UNITS);
  gpu.max_threads_per_block = static_cast<std::uint32_t>(
      number<std::size_t>(driver, device, CL_DEVICE_MAX_WORK_GROUP_SIZE));
  std::size_t sizes[8] = {};
  driver.call().GetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, nullptr);
  for (int i = 0; i < 3; ++i) gpu.max_block.push_back(static_cast<std::uint32_t>(sizes[i]));
  gpu.shared_bytes_per_block = ask64(CL_DEVICE_LOCAL_MEM_SIZE);
  gpu.shared_bytes_per_block_optin = gpu.shared_bytes_per_block;
  gpu.shared_is_global =
      number<cl_device_local_mem_type>(driver, device, CL_DEVICE_LOCAL_MEM_TYPE) == CL_GLOBAL;
  gpu.global_memory_bytes = ask64(CL_DEVICE_GLOBAL_MEM_SIZE);
  gpu.l2_bytes = ask64(CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
  gpu.clock_khz = ask32(CL_DEVICE_MAX_CLOCK_FREQUENCY) * 1000;
  gpu.integrated = number<cl_bool>(driver, device, CL_DEVICE_HOST_UNIFIED_MEMORY) == CL_TRUE;
  gpu.vector_width_float = ask32(CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
  gpu.vector_width_half = ask32(CL_DEVICE_PREFERRED_VECTOR_WIDTH_HALF);
  const auto type = number<cl_device_type>(driver, device, CL_DEVICE_TYPE);
  gpu.device_type = type & CL_DEVICE_TYPE_GPU   ? "GPU"
                    : type & CL_DEVICE_TYPE_CPU ? "CPU"
                                                : "accelerator";
  std::istringstream extensions(text(driver, device, CL_DEVICE_EXTENSIONS));
  for (std::string name; extensions >> name;) gpu.extensions.push_back(name);
  if (info.memory_limit_bytes == 0) {
    // One buffer may be no larger than a part of the memory, which its programs have to know.
    info.memory_limit_bytes = gpu.global_memory_bytes / 2;
  }
  return {};
}

std::uint32_t threads_that_go_together(const runtime::OpenClDriver& driver, cl_context context,
                                       cl_device_id device) {
  const auto& call = driver.call();
  const char* text = "__kernel void one(__global float* out) { out[get_global_id(0)] = 1.0f; }";
  cl_int result = CL_SUCCESS;
  cl_program program = call.CreateProgramWithSource(context, 1, &text, nullptr, &result);
  if (result != CL_SUCCESS) return 0;
  std::size_t multiple = 0;
  if (call.BuildProgram(program, 1, &device, "", nullptr, nullptr) == CL_SUCCESS) {
    cl_kernel kernel = call.CreateKernel(program, "one", &result);
    if (result == CL_SUCCESS) {
      call.GetKernelWorkGroupInfo(kernel, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
                                  sizeof multiple, &multiple, nullptr);
      call.ReleaseKernel(kernel);
    }
  }
  call.ReleaseProgram(program);
  return static_cast<std::uint32_t>(multiple);
}

std::uint64_t texels_of_images(const runtime::OpenClDriver& driver, cl_context context,
                               cl_device_id device) {
  if (number<cl_bool>(driver, device, CL_DEVICE_IMAGE_SUPPORT) != CL_TRUE) return 0;
  cl_image_format formats[256];
  cl_uint count = 0;
  if (driver.call().GetSupportedImageFormats(context, CL_MEM_READ_ONLY,
                                             CL_MEM_OBJECT_IMAGE1D_BUFFER, std::size(formats),
                                             formats, &count) != CL_SUCCESS) {
    return 0;
  }
  const std::span known(formats, std::min<std::size_t>(count, std::size(formats)));
  for (const cl_channel_type wanted : {CL_FLOAT, CL_HALF_FLOAT}) {
    const bool found = std::ranges::any_of(known, [&](const cl_image_format& format) {
      return format.image_channel_order == CL_RGBA && format.image_channel_data_type == wanted;
    });
    if (!found) return 0;
  }
  return number<std::size_t>(driver, device, CL_DEVICE_IMAGE_MAX_BUFFER_SIZE);
}

runtime::OpenClLimits opencl_limits(const wire::GpuFactsT& facts, std::uint64_t texels) {
  runtime::OpenClLimits out{};
  for (std::size_t i = 0; i < 3; ++i) out.max_block[i] = facts.max_block[i];
  out.threads_per_block = facts.max_threads_per_block;
  out.local_bytes = facts.shared_bytes_per_block;
  out.texels = texels;
  return out;
}

std::uint64_t buffer_alignment(const runtime::OpenClDriver& driver, cl_device_id device) {
  const auto bits = number<cl_uint>(driver, device, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
  return std::max<std::uint64_t>(bits / 8, 64);
}

}  // namespace fettle::agent

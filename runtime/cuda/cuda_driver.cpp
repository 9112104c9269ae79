// Loading the driver and naming its errors (cuda_driver.h).
#include "runtime/cuda/cuda_driver.h"

#include <dlfcn.h>
#include <sstream>

#include "runtime/symbol.h"

namespace fettle::runtime {
namespace {

// "" or the first symbol that the library lacks.
std::string find_calls(void* library, CudaCalls& calls) {
#define FETTLE_FIND(call, symbol) \
  if (!find_symbol(library, symbol, calls.call)) return symbol
  FETTLE_FIND(init, "cuInit");
  FETTLE_FIND(driver_version, "cuDriverGetVersion");
  FETTLE_FIND(error_name, "cuGetErrorName");
  FETTLE_FIND(error_string, "cuGetErrorString");
  FETTLE_FIND(device_count, "cuDeviceGetCount");
  FETTLE_FIND(device, "cuDeviceGet");
  FETTLE_FIND(device_name, "cuDeviceGetName");
  FETTLE_FIND(device_attribute, "cuDeviceGetAttribute");
  FETTLE_FIND(device_memory, "cuDeviceTotalMem_v2");
  FETTLE_FIND(create_context, "cuCtxCreate_v2");
  FETTLE_FIND(create_stream, "cuStreamCreate");
  FETTLE_FIND(synchronize, "cuStreamSynchronize");
  FETTLE_FIND(allocate, "cuMemAlloc_v2");
  FETTLE_FIND(free, "cuMemFree_v2");
  FETTLE_FIND(allocate_host, "cuMemAllocHost_v2");
  FETTLE_FIND(upload, "cuMemcpyHtoD_v2");
  FETTLE_FIND(download, "cuMemcpyDtoH_v2");
  FETTLE_FIND(set_bytes, "cuMemsetD8Async");
  FETTLE_FIND(create_event, "cuEventCreate");
  FETTLE_FIND(record_event, "cuEventRecord");
  FETTLE_FIND(wait_for_event, "cuEventSynchronize");
  FETTLE_FIND(elapsed_ms, "cuEventElapsedTime");
  FETTLE_FIND(load_module, "cuModuleLoadDataEx");
  FETTLE_FIND(unload_module, "cuModuleUnload");
  FETTLE_FIND(function, "cuModuleGetFunction");
  FETTLE_FIND(function_attribute, "cuFuncGetAttribute");
  FETTLE_FIND(set_function_attribute, "cuFuncSetAttribute");
  FETTLE_FIND(launch, "cuLaunchKernel");
#undef FETTLE_FIND
  find_symbol(library, "cuDeviceGetPCIBusId", calls.pci_bus_id);
  find_symbol(library, "cuFuncGetParamInfo", calls.parameter);
  find_symbol(library, "cuStreamBeginCapture_v2", calls.begin_capture);
  find_symbol(library, "cuStreamEndCapture", calls.end_capture);
  find_symbol(library, "cuGraphInstantiateWithFlags", calls.instantiate);
  find_symbol(library, "cuGraphInstantiate", calls.instantiate_with_log);
  find_symbol(library, "cuGraphUpload", calls.upload_graph);
  find_symbol(library, "cuGraphLaunch", calls.launch_graph);
  find_symbol(library, "cuGraphDestroy", calls.destroy_graph);
  find_symbol(library, "cuGraphExecDestroy", calls.destroy_ready_graph);
  return "";
}

struct Meaning {
  CUresult result;
  ErrorCode code;
  bool lost;  // the context is gone with it
};
constexpr Meaning kMeanings[] = {
    {CUDA_ERROR_OUT_OF_MEMORY, ErrorCode::OutOfMemory, false},
    {CUDA_ERROR_INVALID_PTX, ErrorCode::BuildError, false},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ErrorCode::LoadError, false},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, ErrorCode::LoadError, false},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, ErrorCode::LoadError, false},
    {CUDA_ERROR_INVALID_IMAGE, ErrorCode::LoadError, false},
    {CUDA_ERROR_INVALID_SOURCE, ErrorCode::LoadError, false},
    {CUDA_ERROR_NOT_FOUND, ErrorCode::LoadError, false},
    {CUDA_ERROR_INVALID_VALUE, ErrorCode::InvalidArgument, false},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, ErrorCode::OutOfResources, false},
    {CUDA_ERROR_LAUNCH_TIMEOUT, ErrorCode::RunTimeout, true},
    {CUDA_ERROR_ILLEGAL_ADDRESS, ErrorCode::Crash, true},
    {CUDA_ERROR_HARDWARE_STACK_ERROR, ErrorCode::Crash, true},
    {CUDA_ERROR_ILLEGAL_INSTRUCTION, ErrorCode::Crash, true},
    {CUDA_ERROR_MISALIGNED_ADDRESS, ErrorCode::Crash, true},
    {CUDA_ERROR_INVALID_ADDRESS_SPACE, ErrorCode::Crash, true},
    {CUDA_ERROR_INVALID_PC, ErrorCode::Crash, true},
    {CUDA_ERROR_ASSERT, ErrorCode::Crash, true},
    {CUDA_ERROR_LAUNCH_FAILED, ErrorCode::Crash, true},
    {CUDA_ERROR_CONTEXT_IS_DESTROYED, ErrorCode::WorkerLost, true},
    {CUDA_ERROR_ECC_UNCORRECTABLE, ErrorCode::WorkerLost, true},
    {CUDA_ERROR_UNKNOWN, ErrorCode::WorkerLost, true},
};

}  // namespace

Error CudaDriver::error(CUresult result, const char* call) const {
  const char *name = nullptr, *words = nullptr;
  if (calls_.error_name) calls_.error_name(result, &name);
  if (calls_.error_string) calls_.error_string(result, &words);
  Error out{ErrorCode::Internal, std::string(call) + ": " +
                                     (name ? name : "error " + std::to_string(int(result))) +
                                     (words ? std::string(", ") + words : "")};
  for (const Meaning& meaning : kMeanings) {
    if (meaning.result != result) continue;
    out.code = meaning.code;
    lost_ = lost_ || meaning.lost;
  }
  return out;
}

Result<void> CudaDriver::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return {};
  return error(result, call);
}

Result<std::unique_ptr<CudaDriver>> CudaDriver::load(const std::string& names) {
  std::unique_ptr<CudaDriver> out(new CudaDriver);
  std::string tried;
  void* library = nullptr;
  std::istringstream list(names);
  for (std::string name; !library && std::getline(list, name, ',');) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) tried += std::string(tried.empty() ? "" : "; ") + dlerror();
  }
  if (!library) {
    return Error{ErrorCode::NotFound, "no CUDA driver here: " + tried};
  }
  if (const std::string lacks = find_calls(library, out->calls_); !lacks.empty()) {
    return Error{ErrorCode::Unsupported, "the CUDA driver has no " + lacks};
  }
  if (auto begun = out->check(out->calls_.init(0), "cuInit"); !begun) {
    begun.error().code = ErrorCode::NotFound;
    return std::move(begun).error();
  }
  if (auto told = out->check(out->calls_.driver_version(&out->version_), "cuDriverGetVersion");
      !told) {
    return std::move(told).error();
  }
  return out;
}

}  // namespace fettle::runtime

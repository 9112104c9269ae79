// Loading OpenCL and naming its errors (opencl_driver.h).
#include "runtime/opencl/opencl_driver.h"

#include <dlfcn.h>
#include <sstream>

namespace fettle::runtime {
namespace {

// "" or the first symbol that the library lacks.
std::string find_calls(void* library, OpenClCalls& calls) {
#define FETTLE_FIND(call)                                                          \
  calls.call = reinterpret_cast<decltype(calls.call)>(dlsym(library, "cl" #call)); \
  if (!calls.call) return "cl" #call
  FETTLE_FIND(GetPlatformIDs);
  FETTLE_FIND(GetPlatformInfo);
  FETTLE_FIND(GetDeviceIDs);
  FETTLE_FIND(GetDeviceInfo);
  FETTLE_FIND(CreateContext);
  FETTLE_FIND(CreateCommandQueue);
  FETTLE_FIND(CreateBuffer);
  FETTLE_FIND(CreateSubBuffer);
  FETTLE_FIND(CreateImage);
  FETTLE_FIND(GetSupportedImageFormats);
  FETTLE_FIND(ReleaseMemObject);
  FETTLE_FIND(EnqueueReadBuffer);
  FETTLE_FIND(EnqueueWriteBuffer);
  FETTLE_FIND(EnqueueFillBuffer);
  FETTLE_FIND(EnqueueNDRangeKernel);
  FETTLE_FIND(Flush);
  FETTLE_FIND(Finish);
  FETTLE_FIND(GetEventProfilingInfo);
  FETTLE_FIND(ReleaseEvent);
  FETTLE_FIND(CreateProgramWithSource);
  FETTLE_FIND(BuildProgram);
  FETTLE_FIND(GetProgramBuildInfo);
  FETTLE_FIND(ReleaseProgram);
  FETTLE_FIND(CreateKernel);
  FETTLE_FIND(GetKernelInfo);
  FETTLE_FIND(GetKernelArgInfo);
  FETTLE_FIND(GetKernelWorkGroupInfo);
  FETTLE_FIND(SetKernelArg);
  FETTLE_FIND(ReleaseKernel);
#undef FETTLE_FIND
  return "";
}

struct Meaning {
  cl_int result;
  const char* name;
  ErrorCode code;
  bool lost;
};
#define FETTLE_ROW(name, code, lost) {name, #name, ErrorCode::code, lost}
constexpr Meaning kMeanings[] = {
    FETTLE_ROW(CL_DEVICE_NOT_FOUND, NotFound, false),
    FETTLE_ROW(CL_DEVICE_NOT_AVAILABLE, WorkerLost, true),
    FETTLE_ROW(CL_COMPILER_NOT_AVAILABLE, LoadError, false),
    FETTLE_ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE, OutOfMemory, false),
    FETTLE_ROW(CL_OUT_OF_RESOURCES, OutOfResources, true),  // also what a fault is called
    FETTLE_ROW(CL_OUT_OF_HOST_MEMORY, OutOfMemory, true),
    FETTLE_ROW(CL_PROFILING_INFO_NOT_AVAILABLE, Internal, false),
    FETTLE_ROW(CL_BUILD_PROGRAM_FAILURE, BuildError, false),
    FETTLE_ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET, InvalidArgument, false),
    FETTLE_ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, Crash, true),
    FETTLE_ROW(CL_IMAGE_FORMAT_NOT_SUPPORTED, Unsupported, false),
    FETTLE_ROW(CL_INVALID_VALUE, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_MEM_OBJECT, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_IMAGE_FORMAT_DESCRIPTOR, Unsupported, false),
    FETTLE_ROW(CL_INVALID_IMAGE_SIZE, OutOfResources, false),
    FETTLE_ROW(CL_INVALID_IMAGE_DESCRIPTOR, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_OPERATION, Unsupported, false),
    FETTLE_ROW(CL_INVALID_BUILD_OPTIONS, BuildError, false),
    FETTLE_ROW(CL_INVALID_PROGRAM_EXECUTABLE, LoadError, false),
    FETTLE_ROW(CL_INVALID_KERNEL_NAME, LoadError, false),
    FETTLE_ROW(CL_INVALID_ARG_INDEX, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_ARG_VALUE, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_ARG_SIZE, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_KERNEL_ARGS, InvalidArgument, false),
    FETTLE_ROW(CL_INVALID_WORK_DIMENSION, OutOfResources, false),
    FETTLE_ROW(CL_INVALID_WORK_GROUP_SIZE, OutOfResources, false),
    FETTLE_ROW(CL_INVALID_WORK_ITEM_SIZE, OutOfResources, false),
    FETTLE_ROW(CL_INVALID_GLOBAL_WORK_SIZE, OutOfResources, false),
    FETTLE_ROW(CL_INVALID_BUFFER_SIZE, OutOfMemory, false),
    FETTLE_ROW(CL_INVALID_COMMAND_QUEUE, WorkerLost, true),
    FETTLE_ROW(CL_INVALID_CONTEXT, WorkerLost, true),
};
#undef FETTLE_ROW

}  // namespace

Error OpenClDriver::error(cl_int result, const char* call) const {
  for (const Meaning& meaning : kMeanings) {
    if (meaning.result != result) continue;
    lost_ = lost_ || meaning.lost;
    return {meaning.code, std::string(call) + ": " + meaning.name};
  }
  return {ErrorCode::Internal, std::string(call) + ": error " + std::to_string(result)};
}

Result<void> OpenClDriver::check(cl_int result, const char* call) const {
  if (result == CL_SUCCESS) return {};
  return error(result, call);
}

Result<std::unique_ptr<OpenClDriver>> OpenClDriver::load(const std::string& names) {
  std::unique_ptr<OpenClDriver> out(new OpenClDriver);
  std::string tried;
  void* library = nullptr;
  std::istringstream list(names);
  for (std::string name; !library && std::getline(list, name, ',');) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) tried += std::string(tried.empty() ? "" : "; ") + dlerror();
  }
  if (!library) return Error{ErrorCode::NotFound, "no OpenCL here: " + tried};
  if (const std::string lacks = find_calls(library, out->calls_); !lacks.empty()) {
    return Error{ErrorCode::Unsupported, "this OpenCL has no " + lacks + ", which is of 1.2"};
  }
  return out;
}

}  // namespace fettle::runtime

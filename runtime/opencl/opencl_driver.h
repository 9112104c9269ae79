// OpenCL, loaded when it is wanted: the ICD loader or a vendor's library itself, its calls of
// version 1.2 that are used here, and what its errors mean for a candidate.
#pragma once

#include <CL/cl.h>
#include <memory>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::runtime {

// By their own names without "cl".
struct OpenClCalls {
  decltype(&::clGetPlatformIDs) GetPlatformIDs;
  decltype(&::clGetPlatformInfo) GetPlatformInfo;
  decltype(&::clGetDeviceIDs) GetDeviceIDs;
  decltype(&::clGetDeviceInfo) GetDeviceInfo;
  decltype(&::clCreateContext) CreateContext;
  decltype(&::clCreateCommandQueue) CreateCommandQueue;
  decltype(&::clCreateBuffer) CreateBuffer;
  decltype(&::clCreateSubBuffer) CreateSubBuffer;
  decltype(&::clCreateImage) CreateImage;
  decltype(&::clGetSupportedImageFormats) GetSupportedImageFormats;
  decltype(&::clReleaseMemObject) ReleaseMemObject;
  decltype(&::clEnqueueReadBuffer) EnqueueReadBuffer;
  decltype(&::clEnqueueWriteBuffer) EnqueueWriteBuffer;
  decltype(&::clEnqueueFillBuffer) EnqueueFillBuffer;
  decltype(&::clEnqueueNDRangeKernel) EnqueueNDRangeKernel;
  decltype(&::clFlush) Flush;
  decltype(&::clFinish) Finish;
  decltype(&::clGetEventProfilingInfo) GetEventProfilingInfo;
  decltype(&::clReleaseEvent) ReleaseEvent;
  decltype(&::clCreateProgramWithSource) CreateProgramWithSource;
  decltype(&::clBuildProgram) BuildProgram;
  decltype(&::clGetProgramBuildInfo) GetProgramBuildInfo;
  decltype(&::clReleaseProgram) ReleaseProgram;
  decltype(&::clCreateKernel) CreateKernel;
  decltype(&::clGetKernelInfo) GetKernelInfo;
  decltype(&::clGetKernelArgInfo) GetKernelArgInfo;
  decltype(&::clGetKernelWorkGroupInfo) GetKernelWorkGroupInfo;
  decltype(&::clSetKernelArg) SetKernelArg;
  decltype(&::clReleaseKernel) ReleaseKernel;
};

class OpenClDriver {
 public:
  // The first of `names` (commas between) that loads. NotFound: none does.
  static Result<std::unique_ptr<OpenClDriver>> load(const std::string& names);

  const OpenClCalls& call() const { return calls_; }
  // "clBuildProgram: CL_BUILD_PROGRAM_FAILURE", with the code that fits.
  Result<void> check(cl_int result, const char* call) const;
  Error error(cl_int result, const char* call) const;
  // The device is gone: only a fresh process can go on.
  bool lost() const { return lost_; }

 private:
  OpenClDriver() = default;
  OpenClCalls calls_{};
  mutable bool lost_ = false;
};

// What the rest needs to reach one device. `queue` is in order and profiles.
struct OpenClQueue {
  const OpenClDriver& driver;
  cl_context context = nullptr;
  cl_device_id device = nullptr;
  cl_command_queue queue = nullptr;
};

}  // namespace fettle::runtime

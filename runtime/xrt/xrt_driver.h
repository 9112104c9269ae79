// XRT, loaded when it is wanted: the calls of libxrt_coreutil's C interface that are used here, and
// its errors. The library itself loads a device's driver library from the folder $XILINX_XRT.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::runtime {

// By their own names without "xrt", as XRT's xrt_device.h, xrt_bo.h, xrt_kernel.h and xrt_ini.h
// declare them (2.13; all are there since 2.11). Handles are pointers. Functions
// that return int say 0, those that return handles not null, when they have done it.
struct XrtCalls {
  using Handle = void*;
  Handle (*DeviceOpen)(unsigned index);
  Handle (*DeviceOpenByBDF)(const char* address);  // "0000:03:00.1"
  int (*DeviceClose)(Handle device);
  int (*DeviceLoadXclbin)(Handle device, const void* xclbin);  // all of the file
  int (*DeviceGetXclbinUUID)(Handle device, unsigned char uuid[16]);
  Handle (*BOAlloc)(Handle device, std::size_t bytes, std::uint64_t flags, std::uint32_t group);
  int (*BOFree)(Handle buffer);
  std::uint64_t (*BOAddress)(Handle buffer);
  void* (*BOMap)(Handle buffer);
  int (*BOSync)(Handle buffer, int direction, std::size_t bytes, std::size_t offset);
  Handle (*PLKernelOpenExclusive)(Handle device, const unsigned char uuid[16], const char* name);
  int (*KernelClose)(Handle kernel);
  int (*KernelArgGroupId)(Handle kernel, int argument);  // negative: none
  int (*KernelReadRegister)(Handle kernel, std::uint32_t offset, std::uint32_t* value);
  int (*KernelWriteRegister)(Handle kernel, std::uint32_t offset, std::uint32_t value);
  Handle (*RunOpen)(Handle kernel);
  int (*RunSetArg)(Handle run, int argument, ...);
  int (*RunStart)(Handle run);
  int (*RunWaitFor)(Handle run, unsigned milliseconds);  // XrtRunState
  int (*RunClose)(Handle run);
  int (*IniStringSet)(const char* key, const char* value);
};

// enum xclBOSyncDirection.
enum XrtSync : int { kXrtToDevice = 0, kXrtFromDevice = 1 };

// enum ert_cmd_state.
enum XrtRunState : int { kXrtCompleted = 4, kXrtTimeout = 8 };
std::string name_of_run_state(int state);  // "ERT_CMD_STATE_ABORT"

class XrtDriver {
 public:
  // The first of `names` (commas between) that loads. NotFound: none does, or there is no driver
  // library where it looks for one. The library stays, and logs to a file of this process.
  static Result<std::unique_ptr<XrtDriver>> load(const std::string& names);

  const XrtCalls& call() const { return calls_; }
  // "xrtDeviceOpen: Could not open device with index '0'": what it has logged since the last time,
  // else the system's word for errno.
  Error error(ErrorCode code, const std::string& call) const;

 private:
  XrtDriver(const XrtCalls& calls, int log);
  XrtCalls calls_;
  int log_;                        // -1: the library logs elsewhere
  mutable std::int64_t told_ = 0;  // bytes of the log
};

}  // namespace fettle::runtime

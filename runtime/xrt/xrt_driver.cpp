// Loading XRT and telling its errors (xrt_driver.h).
#include "runtime/xrt/xrt_driver.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <sstream>

#include "runtime/symbol.h"

namespace fettle::runtime {
namespace {

// "" or the first symbol that the library lacks.
std::string find_calls(void* library, XrtCalls& calls) {
#define FETTLE_FIND(call) \
  if (!find_symbol(library, "xrt" #call, calls.call)) return "xrt" #call
  FETTLE_FIND(DeviceOpen);
  FETTLE_FIND(DeviceOpenByBDF);
  FETTLE_FIND(DeviceClose);
  FETTLE_FIND(DeviceLoadXclbin);
  FETTLE_FIND(DeviceGetXclbinUUID);
  FETTLE_FIND(BOAlloc);
  FETTLE_FIND(BOFree);
  FETTLE_FIND(BOAddress);
  FETTLE_FIND(BOMap);
  FETTLE_FIND(BOSync);
  FETTLE_FIND(PLKernelOpenExclusive);
  FETTLE_FIND(KernelClose);
  FETTLE_FIND(KernelArgGroupId);
  FETTLE_FIND(KernelReadRegister);
  FETTLE_FIND(KernelWriteRegister);
  FETTLE_FIND(RunOpen);
  FETTLE_FIND(RunSetArg);
  FETTLE_FIND(RunStart);
  FETTLE_FIND(RunWaitFor);
  FETTLE_FIND(RunClose);
#undef FETTLE_FIND
  find_symbol(library, "xrtIniStringSet", calls.IniStringSet);  // null where there is none
  return "";
}

// What the library will look for in $XILINX_XRT/lib. Where it finds none, it ends the process.
const char* driver_library() {
  const char* mode = std::getenv("XCL_EMULATION_MODE");
  if (!mode) return "libxrt_core.so.2";
  const std::string emulated = mode;
  return emulated == "hw_emu" ? "libxrt_hwemu.so.2"
                              : (emulated == "sw_emu" ? "libxrt_swemu.so.2" : "libxrt_noop.so.2");
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Sets $XILINX_XRT, which XRT's setup.sh sets in a shell, where it is not set: to the folder whose
// lib/ the library was found in, else /usr.
Result<void> find_driver_library(const void* of_library) {
  std::string tried;
  const auto serves = [&](const std::string& folder) {
    const std::string file = folder + "/lib/" + driver_library();
    if (access(file.c_str(), R_OK) == 0) return true;
    tried += (tried.empty() ? "" : ", ") + file;
    return false;
  };
  if (const char* set = std::getenv("XILINX_XRT")) {
    if (serves(set)) return {};
    return Error{ErrorCode::NotFound,
                 "XILINX_XRT names no folder of XRT with a device's driver: no " + tried};
  }
  Dl_info facts{};
  const bool known = dladdr(of_library, &facts) && facts.dli_fname;
  const std::string folder = folder_of(known ? facts.dli_fname : "");
  for (const std::string& root : {folder_of(folder), std::string("/usr")}) {
    if (root.empty() || !serves(root)) continue;
    setenv("XILINX_XRT", root.c_str(), 1);
    return {};
  }
  std::string help;
  if (access((folder + "/" + driver_library()).c_str(), R_OK) == 0) {
    help = "; it is in " + folder +
           ": set XILINX_XRT to a folder whose lib is a symbolic link to that";
  }
  return Error{
      ErrorCode::NotFound,
      "XILINX_XRT is not set, and XRT's driver of a device is not where XRT looks for it: no " +
          tried + help};
}

// A file that the library logs to from now on, for good; -1: it logs as it wants.
int make_log(const XrtCalls& calls) {
  if (!calls.IniStringSet) return -1;
  const int log = static_cast<int>(syscall(__NR_memfd_create, "xrt-log", 1u));
  const std::string path = "/proc/self/fd/" + std::to_string(log);
  if (log < 0 || calls.IniStringSet("Runtime.runtime_log", path.c_str()) != 0) return -1;
  return log;
}

}  // namespace

std::string name_of_run_state(int state) {
  static constexpr const char* names[] = {"0",         "NEW",        "QUEUED",  "RUNNING",
                                          "COMPLETED", "ERROR",      "ABORT",   "SUBMITTED",
                                          "TIMEOUT",   "NORESPONSE", "SKERROR", "SKCRASHED"};
  if (state < 1 || state >= static_cast<int>(std::size(names))) return std::to_string(state);
  return std::string("ERT_CMD_STATE_") + names[state];
}

Error XrtDriver::error(ErrorCode code, const std::string& call) const {
  const int number = errno;
  std::string logged;
  char text[4096];
  ssize_t n = 0;
  while (log_ >= 0 && (n = pread(log_, text, sizeof text, told_)) > 0) {
    told_ += n;
    logged.append(text, static_cast<std::size_t>(n));
  }
  // "[date] [XRT] Tid: 7,  ERROR: what": the last one's words.
  constexpr const char* kMark = "ERROR: ";
  const std::size_t at = logged.rfind(kMark);
  if (at != std::string::npos) {
    const std::size_t begin = at + std::strlen(kMark), end = logged.find('\n', begin);
    return {code, call + ": " + logged.substr(begin, end - begin)};
  }
  // XRT's numbers are sometimes negative.
  return {code, call + ": " + (number == 0 ? "failed" : std::strerror(std::abs(number)))};
}

Result<std::unique_ptr<XrtDriver>> XrtDriver::load(const std::string& names) {
  std::string tried;
  void* library = nullptr;
  std::istringstream list(names);
  for (std::string name; !library && std::getline(list, name, ',');) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) tried += std::string(tried.empty() ? "" : "; ") + dlerror();
  }
  if (!library) return Error{ErrorCode::NotFound, "no XRT here: " + tried};
  XrtCalls calls{};
  if (const std::string lacks = find_calls(library, calls); !lacks.empty()) {
    return Error{ErrorCode::Unsupported, "this XRT has no " + lacks + ", which is of 2.11"};
  }
  if (auto found = find_driver_library(reinterpret_cast<const void*>(calls.DeviceOpen)); !found) {
    return std::move(found).error();
  }
  static const int log = make_log(calls);
  return std::unique_ptr<XrtDriver>(new XrtDriver(calls, log));
}

XrtDriver::XrtDriver(const XrtCalls& calls, int log) : calls_(calls), log_(log) {
  struct stat facts{};
  if (log_ >= 0 && fstat(log_, &facts) == 0) told_ = facts.st_size;
}

}  // namespace fettle::runtime

// A stand-in for NVIDIA's driver, for machines without a GPU: memory is the CPU's, the kernels
// are those of tests/data/cuda by their names. It says what goes wrong as the driver does: an
// error sticks, a bad kernel has a log. It is NVML, too. FETTLE_STAND_IN makes it worse:
// "none" knows no GPU,
// "crash" dies as it is initialised, "small" has 1 MiB of memory, "hang" never opens a GPU.
#include <cuda.h>
#include <time.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#undef cuEventElapsedTime
#undef cuCtxCreate

namespace {

struct Function {
  std::string name;
  int asked_shared = 0;
};
struct Module {
  std::string text;
  std::map<std::string, Function> functions;
};
struct Event {
  double ms = 0;
};

// Launches that were captured.
using Graph = std::vector<std::function<CUresult()>>;
Graph* capturing = nullptr;

CUresult stuck = CUDA_SUCCESS;   // after a fault every call fails so
CUresult coming = CUDA_SUCCESS;  // told when somebody waits
bool endless = false;
std::map<std::uint64_t, std::size_t> blocks;  // what is allocated
std::size_t used = 0;

bool told(const char* what) {
  const char* set = std::getenv("FETTLE_STAND_IN");
  return set && std::strcmp(set, what) == 0;
}
double now_ms() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}
CUresult wait_for_all() {
  while (endless) pause();
  if (coming != CUDA_SUCCESS) stuck = coming;
  return stuck;
}
float* pointer(std::uint64_t address) { return reinterpret_cast<float*>(address); }

// Arguments of the kernels that take (in, out, n).
struct Vector {
  std::uint64_t in, out;
  std::int32_t n;
};

CUresult run(const std::string& name, unsigned threads, const std::uint8_t* bytes,
             std::size_t size) {
  if (name == "nothing") return CUDA_SUCCESS;
  if (name == "store_one")
    return *pointer(*reinterpret_cast<const std::uint64_t*>(bytes)) = 1, CUDA_SUCCESS;
  if (name == "scalars") {
    if (size != 40) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
    std::uint64_t out;
    std::int32_t small;
    std::int64_t large;
    float real;
    double precise;
    std::memcpy(&out, bytes, 8);
    std::memcpy(&small, bytes + 8, 4);
    std::memcpy(&large, bytes + 16, 8);
    std::memcpy(&real, bytes + 24, 4);
    std::memcpy(&precise, bytes + 32, 8);
    const float told[] = {static_cast<float>(small), static_cast<float>(large >> 32), real,
                          static_cast<float>(precise)};
    std::memcpy(pointer(out), told, sizeof told);
    return CUDA_SUCCESS;
  }
  if (name == "matmul") {
    std::uint64_t at[3];
    std::int32_t n;
    std::memcpy(at, bytes, 24);
    std::memcpy(&n, bytes + 24, 4);
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        float sum = 0;
        for (int k = 0; k < n; ++k) sum += pointer(at[0])[i * n + k] * pointer(at[1])[k * n + j];
        pointer(at[2])[i * n + j] = sum;
      }
    }
    return CUDA_SUCCESS;
  }
  if (size < 20) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  Vector v;
  std::memcpy(&v, bytes, 20);
  const timespec a_little{0, 2'000'000};
  if (name == "slow") nanosleep(&a_little, nullptr);
  for (std::int32_t i = 0; i < v.n && i < static_cast<std::int32_t>(threads); ++i) {
    float& out = pointer(v.out)[i];
    if (name == "count") {
      out = out == out ? out + 1 : 1;
      continue;
    }
    if (name == "leave_part" && i >= v.n - 10) break;
    out = name == "one_wrong" && i == 7 ? 0 : 2 * pointer(v.in)[i];
  }
  if (name == "write_behind") pointer(v.out)[v.n + 1] = 1;
  if (name == "write_before") pointer(v.out)[-1] = 1;
  if (name == "write_input") pointer(v.in)[5] = 3;
  if (name == "write_wild") coming = CUDA_ERROR_ILLEGAL_ADDRESS;
  if (name == "trap") coming = CUDA_ERROR_LAUNCH_FAILED;
  if (name == "endless") endless = true;
  return CUDA_SUCCESS;
}

}  // namespace

#define CALL extern "C" __attribute__((visibility("default"))) CUresult

CALL cuInit(unsigned) {
  if (told("crash")) raise(SIGSEGV);
  while (told("hang")) pause();
  return CUDA_SUCCESS;
}
CALL cuDriverGetVersion(int* version) { return *version = 12060, CUDA_SUCCESS; }
CALL cuGetErrorName(CUresult error, const char** name) {
  static const std::map<CUresult, const char*> names = {
      {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
      {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX"},
      {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
      {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
      {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
      {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
      {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
      {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"}};
  const auto at = names.find(error);
  *name = at == names.end() ? nullptr : at->second;
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CALL cuGetErrorString(CUresult, const char** words) {
  return *words = "said by the stand-in", CUDA_SUCCESS;
}
CALL cuDeviceGetCount(int* count) { return *count = told("none") ? 0 : 1, CUDA_SUCCESS; }
CALL cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
CALL cuDeviceGetName(char* name, int size, CUdevice) {
  return std::snprintf(name, static_cast<std::size_t>(size), "Stand-in GPU"), CUDA_SUCCESS;
}
CALL cuDeviceGetPCIBusId(char* id, int size, CUdevice) {
  return std::snprintf(id, static_cast<std::size_t>(size), "0000:17:00.0"), CUDA_SUCCESS;
}

CALL nvmlInit_v2() { return CUDA_SUCCESS; }
CALL nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** gpu) {
  *gpu = &stuck;
  return std::strcmp(id, "0000:17:00.0") == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
CALL nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) {
  return *mhz = which == 1 ? 1410 : 9, CUDA_SUCCESS;
}
CALL nvmlDeviceGetTemperature(void*, int, unsigned* degrees) { return *degrees = 41, CUDA_SUCCESS; }
CALL nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* reasons) {
  return *reasons = 0x04, CUDA_SUCCESS;
}
CALL cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  return *bytes = (told("small") ? 1u : 1024u) << 20, CUDA_SUCCESS;
}
CALL cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice) {
  static const std::map<CUdevice_attribute, int> known = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 8},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 7},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 8},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 166912},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 4 << 20}};
  const auto at = known.find(attribute);
  if (at == known.end()) return CUDA_ERROR_INVALID_VALUE;  // as an old driver says it
  return *value = at->second, CUDA_SUCCESS;
}
CALL cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice) {
  return *context = reinterpret_cast<CUcontext>(1), CUDA_SUCCESS;
}
CALL cuStreamCreate(CUstream* stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(1), CUDA_SUCCESS;
}
CALL cuStreamSynchronize(CUstream) { return wait_for_all(); }
CALL cuMemAlloc(CUdeviceptr* at, std::size_t bytes) {
  if (stuck != CUDA_SUCCESS) return stuck;
  if (used + bytes > (told("small") ? 16u : 1024u) << 20) return CUDA_ERROR_OUT_OF_MEMORY;
  void* memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
  *at = reinterpret_cast<CUdeviceptr>(memory);
  blocks[*at] = bytes;
  used += bytes;
  return CUDA_SUCCESS;
}
CALL cuMemFree(CUdeviceptr at) {
  if (stuck != CUDA_SUCCESS) return stuck;
  const auto found = blocks.find(at);
  if (found == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  used -= found->second;
  blocks.erase(found);
  std::free(pointer(at));
  return CUDA_SUCCESS;
}
CALL cuMemAllocHost(void** at, std::size_t bytes) { return *at = std::malloc(bytes), CUDA_SUCCESS; }
CALL cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  if (const CUresult done = wait_for_all(); done != CUDA_SUCCESS) return done;
  return std::memcpy(pointer(to), from, bytes), CUDA_SUCCESS;
}
CALL cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  if (const CUresult done = wait_for_all(); done != CUDA_SUCCESS) return done;
  return std::memcpy(to, pointer(from), bytes), CUDA_SUCCESS;
}
CALL cuMemsetD8Async(CUdeviceptr at, unsigned char value, std::size_t bytes, CUstream) {
  if (stuck != CUDA_SUCCESS) return stuck;
  return std::memset(pointer(at), value, bytes), CUDA_SUCCESS;
}
CALL cuEventCreate(CUevent* event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS;
}
CALL cuEventRecord(CUevent event, CUstream) {
  if (stuck != CUDA_SUCCESS) return stuck;
  return reinterpret_cast<Event*>(event)->ms = now_ms(), CUDA_SUCCESS;
}
CALL cuEventSynchronize(CUevent) { return wait_for_all(); }
CALL cuEventElapsedTime(float* ms, CUevent from, CUevent to) {
  *ms = static_cast<float>(reinterpret_cast<Event*>(to)->ms - reinterpret_cast<Event*>(from)->ms);
  return stuck;
}
CALL cuModuleLoadDataEx(CUmodule* to, const void* image, unsigned count, CUjit_option* options,
                        void** values) {
  if (stuck != CUDA_SUCCESS) return stuck;
  auto module = std::make_unique<Module>();
  module->text = static_cast<const char*>(image);
  if (module->text.find(".version") == std::string::npos) return CUDA_ERROR_INVALID_IMAGE;
  if (module->text.find("no_such_instruction") != std::string::npos) {
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] != CU_JIT_ERROR_LOG_BUFFER) continue;
      std::strcpy(static_cast<char*>(values[i]),
                  "ptxas application ptx input, line 1; fatal   : Parsing error near "
                  "'no_such_instruction': syntax error\n");
    }
    return CUDA_ERROR_INVALID_PTX;
  }
  *to = reinterpret_cast<CUmodule>(module.release());
  return CUDA_SUCCESS;
}
CALL cuModuleUnload(CUmodule module) {
  delete reinterpret_cast<Module*>(module);
  return stuck;
}
CALL cuModuleGetFunction(CUfunction* to, CUmodule from, const char* name) {
  Module& module = *reinterpret_cast<Module*>(from);
  if (module.text.find(std::string(".entry ") + name + "(") == std::string::npos) {
    return CUDA_ERROR_NOT_FOUND;
  }
  Function& function = module.functions[name];
  function.name = name;
  *to = reinterpret_cast<CUfunction>(&function);
  return CUDA_SUCCESS;
}
CALL cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction) {
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 16;
  return CUDA_SUCCESS;
}
CALL cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int value) {
  return reinterpret_cast<Function*>(function)->asked_shared = value, CUDA_SUCCESS;
}
CALL cuLaunchKernel(CUfunction from, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream,
                    void**, void** extra) {
  if (stuck != CUDA_SUCCESS) return stuck;
  const Function& function = *reinterpret_cast<Function*>(from);
  if (shared > 49152 && static_cast<int>(shared) > function.asked_shared) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const auto* from_bytes = static_cast<const std::uint8_t*>(extra[1]);
  std::vector<std::uint8_t> bytes(from_bytes, from_bytes + *static_cast<std::size_t*>(extra[3]));
  const unsigned threads = grid_x * grid_y * grid_z * block_x * block_y * block_z;
  auto launch = [name = function.name, threads, bytes] {
    return run(name, threads, bytes.data(), bytes.size());
  };
  if (!capturing) return launch();
  return capturing->push_back(launch), CUDA_SUCCESS;
}
CALL cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                        std::size_t* size) {
  static const std::vector<std::size_t> of_vector = {8, 8, 4}, of_scalars = {8, 4, 8, 4, 8},
                                        of_matmul = {8, 8, 8, 4}, of_one = {8}, none;
  const std::string& name = reinterpret_cast<Function*>(function)->name;
  const auto& sizes = name == "scalars"     ? of_scalars
                      : name == "matmul"    ? of_matmul
                      : name == "nothing"   ? none
                      : name == "store_one" ? of_one
                                            : of_vector;
  if (index >= sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    *offset = (*offset + sizes[i] - 1) / sizes[i] * sizes[i] + (i < index ? sizes[i] : 0);
  }
  *size = sizes[index];
  return CUDA_SUCCESS;
}
CALL cuStreamBeginCapture(CUstream, CUstreamCaptureMode) {
  return capturing = new Graph, CUDA_SUCCESS;
}
CALL cuStreamEndCapture(CUstream, CUgraph* graph) {
  *graph = reinterpret_cast<CUgraph>(capturing);
  return capturing = nullptr, CUDA_SUCCESS;
}
CALL cuGraphInstantiate(CUgraphExec* ready, CUgraph graph, unsigned long long) {
  return *ready = reinterpret_cast<CUgraphExec>(new Graph(*reinterpret_cast<Graph*>(graph))),
         CUDA_SUCCESS;
}
CALL cuGraphLaunch(CUgraphExec ready, CUstream) {
  for (const auto& launch : *reinterpret_cast<Graph*>(ready)) {
    if (const CUresult done = launch(); done != CUDA_SUCCESS) return done;
  }
  return stuck;
}
CALL cuGraphDestroy(CUgraph graph) {
  delete reinterpret_cast<Graph*>(graph);
  return CUDA_SUCCESS;
}
CALL cuGraphExecDestroy(CUgraphExec ready) {
  delete reinterpret_cast<Graph*>(ready);
  return CUDA_SUCCESS;
}

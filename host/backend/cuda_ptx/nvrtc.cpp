// Calls of NVRTC, by its C interface (nvrtc.h).
#include "host/backend/cuda_ptx/nvrtc.h"

#include <dlfcn.h>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "host/backend/cuda_ptx/toolkits.h"

namespace fettle::backend::cuda_ptx {
namespace {

// The interface is the same since CUDA 8: declared here, so that no toolkit is needed to build.
using Program = struct NvrtcProgram*;
using Status = int;  // 0: fine
struct Calls {
  Status (*Version)(int*, int*);
  Status (*CreateProgram)(Program*, const char*, const char*, int, const char* const*,
                          const char* const*);
  Status (*DestroyProgram)(Program*);
  Status (*AddNameExpression)(Program, const char*);
  Status (*GetLoweredName)(Program, const char*, const char**);
  Status (*CompileProgram)(Program, int, const char* const*);
  Status (*GetPTXSize)(Program, std::size_t*);
  Status (*GetPTX)(Program, char*);
  Status (*GetProgramLogSize)(Program, std::size_t*);
  Status (*GetProgramLog)(Program, char*);
  const char* (*GetErrorString)(Status);
};

struct Nvrtc {
  Calls call{};
  int cuda = 0;         // 1300 of 13.0; 0: not here
  std::string include;  // folder of CUDA's headers; "": none found
  std::string why;      // not here
};

constexpr const char* kLibraries[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                      "libnvrtc.so"};

void* open_library(std::string& why) {
  if (const char* named = std::getenv("FETTLE_NVRTC")) {
    void* library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (!library) why = dlerror();
    return library;
  }
  std::vector<std::string> folders{""};  // the loader's own
  for (const auto& toolkit : toolkits()) {
    for (const char* folder : {"lib64", "lib"}) folders.push_back(toolkit / folder / "");
  }
  for (const std::string& folder : folders) {
    for (const char* name : kLibraries) {
      if (void* library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    }
  }
  why =
      "there is no libnvrtc here, which compiles CUDA C++: `./dev setup cuda` brings one, or name "
      "the library by FETTLE_NVRTC";
  return nullptr;
}

std::filesystem::path folder_of(void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || !info.dli_fname) return {};
  std::error_code none;
  return std::filesystem::canonical(info.dli_fname, none).parent_path();
}

// NVRTC asks the loader for its own second library by name alone, which finds it where the first
// one lies only if that is one of the system's folders, or if it is loaded already.
void load_builtins(const std::filesystem::path& folder) {
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!entry.path().filename().string().starts_with("libnvrtc-builtins.so")) continue;
    (void)!dlopen(entry.path().c_str(), RTLD_NOW | RTLD_LOCAL);
  }
}

// Beside the library as toolkits and NVIDIA's Python packages lay them out.
std::string headers_of(const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  if (folder.empty()) return "";
  std::error_code none;
  for (const fs::path& place :
       {folder / "../include", folder / "../../../include", fs::path("/usr/local/cuda/include")}) {
    if (fs::exists(place / "cuda_fp16.h", none)) return fs::canonical(place, none);
  }
  return "";
}

Nvrtc load() {
  Nvrtc nvrtc;
  void* library = open_library(nvrtc.why);
  if (!library) return nvrtc;
  const auto find = [&](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library, name));
    if (!call) nvrtc.why = std::string("this NVRTC has no ") + name;
  };
  Calls& call = nvrtc.call;
  find(call.Version, "nvrtcVersion");
  find(call.CreateProgram, "nvrtcCreateProgram");
  find(call.DestroyProgram, "nvrtcDestroyProgram");
  find(call.AddNameExpression, "nvrtcAddNameExpression");
  find(call.GetLoweredName, "nvrtcGetLoweredName");
  find(call.CompileProgram, "nvrtcCompileProgram");
  find(call.GetPTXSize, "nvrtcGetPTXSize");
  find(call.GetPTX, "nvrtcGetPTX");
  find(call.GetProgramLogSize, "nvrtcGetProgramLogSize");
  find(call.GetProgramLog, "nvrtcGetProgramLog");
  find(call.GetErrorString, "nvrtcGetErrorString");
  int major = 0, minor = 0;
  if (!nvrtc.why.empty() || call.Version(&major, &minor) != 0) return nvrtc;
  const std::filesystem::path folder = folder_of(reinterpret_cast<void*>(call.Version));
  load_builtins(folder);
  nvrtc.include = headers_of(folder);
  nvrtc.cuda = major * 100 + minor;
  return nvrtc;
}

// Loaded once. What it leaves in the process stays.
const Nvrtc& loaded() {
  static const Nvrtc nvrtc = load();
  return nvrtc;
}

std::string version_text(int cuda) {
  return std::to_string(cuda / 100) + "." + std::to_string(cuda % 100);
}

class Compilation {
 public:
  explicit Compilation(const Nvrtc& nvrtc) : nvrtc_(nvrtc) {}
  ~Compilation() {
    if (program_) nvrtc_.call.DestroyProgram(&program_);
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  Result<Ptx> run(const std::string& text, const std::string& file,
                  const std::vector<std::string>& options,
                  const std::vector<std::string>& kernels) {
    const Calls& call = nvrtc_.call;
    if (auto made =
            check(call.CreateProgram(&program_, text.c_str(), file.c_str(), 0, nullptr, nullptr));
        !made) {
      return std::move(made).error();
    }
    for (const std::string& kernel : kernels) {
      if (auto named = check(call.AddNameExpression(program_, kernel.c_str())); !named) {
        return std::move(named).error();
      }
    }
    std::vector<const char*> words;
    for (const std::string& option : options) words.push_back(option.c_str());
    if (const Status status =
            call.CompileProgram(program_, static_cast<int>(words.size()), words.data());
        status != 0) {
      return Error{ErrorCode::BuildError,
                   std::string("NVRTC: ") + call.GetErrorString(status) + ": " + log()};
    }
    Ptx ptx;
    for (const std::string& kernel : kernels) {
      const char* name = nullptr;
      if (auto found = check(call.GetLoweredName(program_, kernel.c_str(), &name)); !found) {
        return std::move(found).error().in("looking for the kernel " + kernel);
      }
      ptx.names.emplace_back(name);
    }
    std::size_t size = 0;
    if (auto told = check(call.GetPTXSize(program_, &size)); !told) return std::move(told).error();
    ptx.text.resize(size);
    if (auto told = check(call.GetPTX(program_, ptx.text.data())); !told) {
      return std::move(told).error();
    }
    while (!ptx.text.empty() && ptx.text.back() == 0) ptx.text.pop_back();
    return ptx;
  }

 private:
  Result<void> check(Status status) const {
    if (status == 0) return {};
    return Error{ErrorCode::BuildError,
                 std::string("NVRTC: ") + nvrtc_.call.GetErrorString(status)};
  }

  std::string log() const {
    std::size_t size = 0;
    if (nvrtc_.call.GetProgramLogSize(program_, &size) != 0) return "";
    std::string text(size, 0);
    if (nvrtc_.call.GetProgramLog(program_, text.data()) != 0) return "";
    while (!text.empty() && (text.back() == 0 || text.back() == '\n')) text.pop_back();
    return text;
  }

  const Nvrtc& nvrtc_;
  Program program_ = nullptr;
};

}  // namespace

Result<Ptx> compile_cuda(const std::string& text, const std::string& file,
                         const std::string& options, const std::vector<std::string>& kernels,
                         const space::GpuTarget& target) {
  const Nvrtc& nvrtc = loaded();
  if (nvrtc.cuda == 0) return Error{ErrorCode::NotFound, nvrtc.why};
  if (nvrtc.cuda > target.driver) {
    return Error{ErrorCode::Unsupported, "this NVRTC, of CUDA " + version_text(nvrtc.cuda) +
                                             ", writes PTX that the device's driver, of CUDA " +
                                             version_text(target.driver) +
                                             ", does not take: FETTLE_NVRTC names another"};
  }
  std::vector<std::string> words = {"--gpu-architecture=compute_" + std::to_string(target.sm)};
  if (!nvrtc.include.empty()) words.push_back("--include-path=" + nvrtc.include);
  std::istringstream more(options);
  for (std::string word; more >> word;) words.push_back(word);
  return Compilation(nvrtc).run(text, file, words, kernels);
}

}  // namespace fettle::backend::cuda_ptx

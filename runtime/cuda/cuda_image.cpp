// Loading modules (cuda_image.h).
#include "runtime/cuda/cuda_image.h"

#include <algorithm>
#include <array>

namespace fettle::runtime {
namespace {

// An option's value travels in the pointer itself.
void* value(std::size_t number) { return reinterpret_cast<void*>(number); }

// One line for a person: without the compiler's own line breaks, and not without end.
std::string told(const char* log) {
  constexpr std::size_t kMost = 2000;
  std::string out(log);
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  for (std::size_t at; (at = out.find('\n')) != std::string::npos;) out.replace(at, 1, "; ");
  if (out.size() > kMost) {
    out.resize(kMost);
    out += " …";
  }
  return out;
}

}  // namespace

Result<std::unique_ptr<LoadedImage>> CudaLoader::load(const wire::ImageT& image, ByteView bytes) {
  std::array<char, 8192> log{};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), value(log.size() - 1)};
  // PTX is text that ends in a zero; a cubin knows its own length.
  std::string terminated(bytes.begin(), bytes.end());
  CUmodule module = nullptr;
  const CUresult result =
      driver_.call().load_module(&module, terminated.c_str(), 2, options, values);
  if (result != CUDA_SUCCESS) {
    Error error = driver_.error(result, "cuModuleLoadDataEx");
    if (log[0] != 0) error.message += ": " + told(log.data());
    return error;
  }
  auto out = std::make_unique<CudaImage>(driver_, module);
  for (const auto& entry : image.entries) {
    CudaKernel kernel;
    kernel.name = entry->name;
    auto found =
        driver_.check(driver_.call().function(&kernel.function, module, entry->name.c_str()),
                      "cuModuleGetFunction");
    if (!found) return std::move(found).error().in("looking for the kernel '" + entry->name + "'");
    const auto ask = [&](CUfunction_attribute attribute, int& to) {
      return driver_.check(driver_.call().function_attribute(&to, attribute, kernel.function),
                           "cuFuncGetAttribute");
    };
    for (auto asked : {ask(CU_FUNC_ATTRIBUTE_NUM_REGS, kernel.registers),
                       ask(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, kernel.local_bytes),
                       ask(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel.static_shared_bytes),
                       ask(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel.max_threads)}) {
      if (!asked) return std::move(asked).error();
    }
    out->kernels_.push_back(std::move(kernel));
  }
  return std::unique_ptr<LoadedImage>(std::move(out));
}

}  // namespace fettle::runtime

// Compiling programs (opencl_image.h).
#include "runtime/opencl/opencl_image.h"

namespace fettle::runtime {
namespace {

// One line for a person: without the compiler's own line breaks, and not without end.
std::string told(std::string log) {
  constexpr std::size_t kMost = 2000;
  while (!log.empty() && (log.back() == '\n' || log.back() == ' ' || log.back() == 0)) {
    log.pop_back();
  }
  for (std::size_t at; (at = log.find('\n')) != std::string::npos;) log.replace(at, 1, "; ");
  if (log.size() > kMost) {
    log.resize(kMost);
    log += " …";
  }
  return log;
}

std::string build_log(const OpenClQueue& queue, cl_program program) {
  std::size_t bytes = 0;
  const auto ask = queue.driver.call().GetProgramBuildInfo;
  if (ask(program, queue.device, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes) != CL_SUCCESS) return "";
  std::string log(bytes, ' ');
  if (ask(program, queue.device, CL_PROGRAM_BUILD_LOG, bytes, log.data(), nullptr) != CL_SUCCESS) {
    return "";
  }
  return told(std::move(log));
}

}  // namespace

OpenClImage::OpenClImage(const OpenClDriver& driver, cl_program program, const wire::ImageT& image)
    : driver_(driver), program_(program) {
  for (const auto& entry : image.entries) entries_.push_back({program, entry->name});
}

Result<std::unique_ptr<LoadedImage>> OpenClLoader::load(const wire::ImageT& image, ByteView bytes) {
  const OpenClCalls& call = queue_.driver.call();
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const std::size_t length = bytes.size();
  cl_int result = CL_SUCCESS;
  cl_program program = call.CreateProgramWithSource(queue_.context, 1, &text, &length, &result);
  if (auto made = queue_.driver.check(result, "clCreateProgramWithSource"); !made) {
    return std::move(made).error();
  }
  auto out = std::make_unique<OpenClImage>(queue_.driver, program, image);
  // So that a launch's arguments can be held to what its kernel takes.
  const std::string options = image.build_options + " -cl-kernel-arg-info";
  result = call.BuildProgram(program, 1, &queue_.device, options.c_str(), nullptr, nullptr);
  if (result != CL_SUCCESS) {
    Error error = queue_.driver.error(result, "clBuildProgram");
    if (const std::string log = build_log(queue_, program); !log.empty()) {
      error.message += ": " + log;
    }
    return error;
  }
  return std::unique_ptr<LoadedImage>(std::move(out));
}

}  // namespace fettle::runtime

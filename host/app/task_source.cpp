// Task lists by what was typed (task_source.h).
#include "host/app/task_source.h"

#include <charconv>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "host/app/message.h"
#include "host/backend/backend.h"
#include "host/model/kernel_file.h"
#include "host/model/pieces/onnx_tasks.h"

namespace fettle::app {
namespace {

Result<model::TaskList> list_of(const TaskSource& source, const model::Accelerates& accelerates) {
  const std::string& what = source.what;
  if (model::is_onnx_file(what)) {
    return model::load_onnx_tasks(what, source.onnx, accelerates);
  }
  const bool extents = !source.onnx.extents.empty();
  if (extents || !source.onnx.known_numbers.empty()) {
    return Error{ErrorCode::InvalidArgument,
                 std::string(extents ? "--extent" : "--constant") + " is for ONNX files"};
  }
  if (model::is_kernel_file(what)) return model::load_kernel(what);
  std::error_code none;  // a name that no file can have
  const bool file = what.ends_with(".json") || what.find('/') != std::string::npos ||
                    std::filesystem::is_regular_file(what, none);
  return file ? model::load_workload_file(what) : model::load_network(what);
}

void take_extent(TaskSource& source, const std::string& given) {
  const std::size_t equals = given.rfind('=');
  std::int64_t extent = 0;
  const char* end = given.data() + given.size();
  if (equals == std::string::npos ||
      std::from_chars(given.data() + equals + 1, end, extent).ptr != end || extent < 1) {
    throw CLI::ValidationError("--extent", "'" + given + "' is not NAME=NUMBER");
  }
  if (given.find('=') != equals) {  // "N=1,H=16"
    throw CLI::ValidationError(
        "--extent", "takes one NAME=NUMBER, and may be given several times, not '" + given + "'");
  }
  const auto [at, added] = source.onnx.extents.emplace(given.substr(0, equals), extent);
  if (!added && at->second != extent) {
    throw CLI::ValidationError("--extent", "gives " + at->first +
                                               " twice: " + std::to_string(at->second) + " and " +
                                               std::to_string(extent));
  }
}

void take_constant(TaskSource& source, const std::string& given) {
  const std::size_t equals = given.rfind('=');
  std::vector<double> numbers;
  const char* at = given.data() + (equals == std::string::npos ? given.size() : equals);
  const char* const end = given.data() + given.size();
  while (at != end) {  // at '=' or ','
    double number = 0;
    const auto [stopped, failed] = std::from_chars(at + 1, end, number);
    if (failed != std::errc{} || (stopped != end && *stopped != ',')) break;
    numbers.push_back(number);
    at = stopped;
  }
  if (at != end || equals == 0 || numbers.empty()) {
    throw CLI::ValidationError("--constant", "'" + given + "' is not NAME=NUMBER[,NUMBER...]");
  }
  const auto [known, added] = source.onnx.known_numbers.emplace(given.substr(0, equals), numbers);
  if (!added && known->second != numbers) {
    throw CLI::ValidationError("--constant", "gives " + known->first + " twice");
  }
}

}  // namespace

void add_onnx_options(CLI::App& command, TaskSource& source) {
  source.onnx.warn = warn;
  command
      .add_option_function<std::vector<std::string>>(
          "--constant",
          [&source](const std::vector<std::string>& given) {
            for (const std::string& one : given) take_constant(source, one);
          },
          "An input of the ONNX file that is always this, such as rate=16000: the program has it "
          "no more; one number for all of its elements, or as many as it has, sizes=1,3,64,64; "
          "once for each input")
      ->type_name("NAME=NUMBERS");
  command
      .add_option_function<std::vector<std::string>>(
          "--extent",
          [&source](const std::vector<std::string>& given) {
            for (const std::string& one : given) take_extent(source, one);
          },
          "An extent that the ONNX file leaves open, such as batch=1; once for each")
      ->type_name("NAME=NUMBER");
}

CLI::Option* add_model_source(CLI::App& command, TaskSource& source, const std::string& help) {
  add_onnx_options(command, source);
  return command.add_option("MODEL", source.what, help);
}

CLI::Option* add_task_source(CLI::App& command, TaskSource& source) {
  add_onnx_options(command, source);
  return command.add_option(
      "NETWORK|MODEL|WORKLOADS|KERNEL", source.what,
      fmt::format("A network that fettle knows ({}), an ONNX file (.onnx), a JSON file of "
                  "workloads, or a kernel of your own (.cl, .cu, .ptx, .c) with a .toml of its "
                  "knobs beside it, as in examples/",
                  fmt::join(model::network_names(), ", ")));
}

model::Accelerates accelerates_of(const space::Target& target) {
  const backend::Backend* backend = backend::find_backend(target.backend());
  if (!backend || !backend->accelerates()) return nullptr;
  return [target](const space::Workload& workload) {
    return backend::open_task(workload, target).ok();
  };
}

Result<model::TaskList> load_tasks(const TaskSource& source,
                                   const model::Accelerates& accelerates) {
  auto list = list_of(source, accelerates);
  if (!list) return list;
  for (const model::SkippedTask& skipped : list->skipped) {
    warn("skipped: " + skipped.title + ": " + skipped.reason);
  }
  if (list->tasks.empty()) {
    std::string text = source.what + " holds no task that can be tuned";
    if (accelerates) text += std::string(" on an accelerator: ") + kAccelerated;
    return Error{ErrorCode::Unsupported, std::move(text), {}};
  }
  return list;
}

}  // namespace fettle::app

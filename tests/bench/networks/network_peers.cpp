// Models, conversions, command lines (network_peers.h).
#include "tests/bench/networks/network_peers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "host/model/onnx/import.h"
#include "host/process/child_process.h"
#include "host/process/run_program.h"
#include "schemas/fill/fill.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kModelSeed = 1, kInputStream = 1;
constexpr double kInputLimit = 1.7;  // evenly from both sides of 0: a deviation of about 1
constexpr std::chrono::minutes kConversion{20};

// Huge pages for what malloc takes, for all alike: the system grants them to those who ask. With
// addresses that are always the same a run would always have the same luck; they are left to
// chance, and contenders started several times.
std::vector<std::string> in_environment(std::vector<std::string> argv) {
  argv.insert(argv.begin(), {"env", "GLIBC_TUNABLES=glibc.malloc.hugetlb=1"});
  return argv;
}

std::vector<std::string> script(const std::string& python, const std::string& peer,
                                const ModelFiles& model) {
  return {python,
          "-W",
          "ignore",
          FETTLE_NETWORK_PEER_SCRIPT,
          peer,
          model.onnx,
          model.folder,
          "--shape",
          fmt::format("{}", fmt::join(model.shape, ","))};
}

// The last line, where an installer or a traceback says what went wrong.
std::string last_line(std::string said) {
  while (!said.empty() && said.back() == '\n') said.pop_back();
  return said.empty() ? "it said nothing" : said.substr(said.rfind('\n') + 1);
}

}  // namespace

const std::vector<std::string>& network_peer_names() {
  static const std::vector<std::string> names{"onnxruntime", "ncnn", "mnn", "openvino"};
  return names;
}

bool takes_quantized(const std::string& peer) {
  return peer == "onnxruntime" || peer == "openvino";
}

Result<ModelFiles> write_model(const std::string& network, const std::string& folder,
                               model::ZooNumbers numbers) {
  const model::ZooNetwork* known = model::find_in_zoo(network);
  if (!known)
    return Error{ErrorCode::InvalidArgument, "no network '" + network + "' in the zoo", {}};
  std::error_code failed;
  const bool quantized = numbers != model::ZooNumbers::Float32;
  const fs::path at = fs::path(folder) / (quantized ? network + "-int8" : network);
  fs::create_directories(at, failed);
  if (failed) return Error{ErrorCode::Io, "no folder " + at.string() + ": " + failed.message(), {}};
  ModelFiles files{at / "model.onnx", at / "input", {}, at};
  if (auto written = model::write_zoo_network(*known, kModelSeed, files.onnx, numbers); !written) {
    return std::move(written).error();
  }
  const auto graph = model::import_onnx(files.onnx);
  if (!graph) return graph.error();
  if (graph->inputs.size() != 1 ||
      graph->type(graph->inputs.front()).scalar != ir::Scalar::Float32) {
    return Error{ErrorCode::Unsupported, network + " has not one input of float32", {}};
  }
  const model::TensorType& type = graph->type(graph->inputs.front());
  files.shape = type.shape;
  wire::FillT fill;
  fill.kind = wire::FillKind::UniformReal;
  fill.dtype = wire::ScalarType::Float32;
  fill.high = kInputLimit;
  fill.stream = kInputStream;
  std::string bytes(static_cast<std::size_t>(type.bytes()), '\0');
  if (auto filled = fill_bytes(fill, {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
      !filled) {
    return std::move(filled).error();
  }
  if (!process::write_file(files.input, bytes)) {
    return Error{ErrorCode::Io, "cannot write " + files.input, {}};
  }
  return files;
}

Result<std::string> python_with_peers() {
  const process::ScratchFolder scratch;
  process::RunPlan plan;
  plan.argv = {FETTLE_NETWORK_PEERS};
  plan.output = scratch.file("python");
  plan.limit = kConversion;
  auto ran = process::run_program(plan);
  if (!ran) return std::move(ran).error();
  if (ran->status != 0) return Error{ErrorCode::NotFound, last_line(ran->said), {}};
  return last_line(process::read_file(plan.output));
}

Result<void> convert_model(const std::string& python, const std::string& peer,
                           const ModelFiles& model) {
  process::RunPlan plan;
  plan.argv = script(python, peer, model);
  plan.argv.push_back("--convert");
  plan.limit = kConversion;
  auto ran = process::run_program(plan);
  if (!ran) return std::move(ran).error().in("converting the model");
  if (ran->status == 0) return {};
  return Error{ErrorCode::Unsupported, "cannot convert the model: " + last_line(ran->said), {}};
}

std::vector<std::string> peer_command(const std::string& python, const std::string& peer,
                                      const ModelFiles& model, unsigned threads) {
  std::vector<std::string> argv = script(python, peer, model);
  argv.insert(argv.end(), {"--input", model.input, "--threads", std::to_string(threads)});
  return in_environment(std::move(argv));
}

std::vector<std::string> yardstick_command(const std::string& python, const ModelFiles& model,
                                           unsigned threads) {
  return peer_command(python, "onnxruntime-unoptimised", model, threads);
}

std::vector<std::string> our_command(const std::string& network_file, const ModelFiles& model,
                                     const std::vector<int>& cores) {
  const auto folder = process::own_folder();
  const std::string program = "fettle-network-contender";
  std::vector<std::string> argv{folder ? *folder + "/" + program : program, network_file,
                                model.input};
  for (const int core : cores) argv.push_back(std::to_string(core));
  return in_environment(std::move(argv));
}

}  // namespace fettle::bench

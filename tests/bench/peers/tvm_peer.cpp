// Questions and answers in JSON (tvm_peer.h).
#include "tests/bench/peers/tvm_peer.h"

#include <cstring>
#include <nlohmann/json.hpp>

#include "host/process/run_program.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr std::chrono::minutes kTune{120}, kInstall{30};

// Unsupported: it refuses, in its words.
Result<Json> read(Result<std::string> line) {
  if (!line) return std::move(line).error();
  Json said = Json::parse(*line, nullptr, false);
  if (!said.is_object()) return Error{ErrorCode::Malformed, "TVM's script says no JSON", {}};
  if (said.contains("refused") && said["refused"].is_string()) {
    return Error{ErrorCode::Unsupported, "TVM: " + said["refused"].get<std::string>(), {}};
  }
  return said;
}

// Its tensors as files, and the rest of it.
Result<Json> described(const AskedProcess& process, const Layer& layer) {
  const Shape& s = layer.shape;
  const bool plain = layer.kind == LayerKind::Convolution && !layer.volume &&
                     !layer.channels_first && !layer.int8 && !layer.half && !layer.gelu &&
                     s.groups == 1;
  if (!plain) {
    return Error{ErrorCode::Unsupported, "TVM: only plain float32 convolutions, NHWC, here", {}};
  }
  Json json = {{"input", {s.batch, s.height, s.width, s.in_channels}},
               {"weight", {s.kernel[0], s.kernel[1], s.in_channels, s.out_channels}},
               {"bias", {s.out_channels}},
               {"output", {s.batch, s.out_height, s.out_width, s.out_channels}},
               {"stride", s.stride},
               {"padding", s.pad},
               {"dilation", s.dilation},
               {"relu", layer.relu},
               {"files", Json::object()}};
  json["residual"] = json["output"];
  // Each layer has its own.
  const std::string stem = std::to_string(std::hash<std::string>()(layer.workload.canonical()));
  for (const auto& [name, values] : {std::pair{"input", &layer.input},
                                     {"weight", &layer.weight},
                                     {"bias", &layer.bias},
                                     {"residual", &layer.residual}}) {
    if (values->empty()) continue;
    std::string bytes(values->size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), values->data(), bytes.size());
    const std::string file = process.file(stem + "." + name);
    if (!process::write_file(file, bytes)) return Error{ErrorCode::Io, "cannot write " + file, {}};
    json["files"][name] = file;
  }
  return json;
}

class TvmPeer final : public Contender {
 public:
  TvmPeer(AskedProcess& process, std::string title)
      : process_(process), title_(std::move(title)), name_("tvm") {}

  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return name_; }
  Result<void> run(std::uint32_t times) override {
    const Json question = {{"run", title_}, {"times", times}};
    auto told = read(process_.ask(question.dump()));
    if (!told) return std::move(told).error();
    if (!told->contains("ns") || !(*told)["ns"].is_number()) {
      return Error{ErrorCode::Malformed, "TVM's script tells no time", {}};
    }
    nanoseconds_ = (*told)["ns"];
    return {};
  }
  double device_nanoseconds() const override { return nanoseconds_; }
  long interruptions() const override { return process_.interruptions(); }
  Result<std::vector<float>> output() override {
    const std::string file = process_.file("output");
    const Json question = {{"output", title_}, {"file", file}};
    if (auto told = read(process_.ask(question.dump())); !told) return std::move(told).error();
    const std::string bytes = process::read_file(file);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

 private:
  AskedProcess& process_;
  std::string title_, name_;
  double nanoseconds_ = 0;
};

}  // namespace

Result<TuneFigures> parse_tvm_tune(const std::string& line) {
  auto told = read(line);
  if (!told) return std::move(told).error();
  TuneFigures figures;
  double trials = 0, failed = 0;
  for (const auto& [name, to] : {std::pair{"seconds", &figures.seconds},
                                 {"trials", &trials},
                                 {"failed", &failed},
                                 {"best_ns", &figures.told_ns}}) {
    if (!told->contains(name) || !(*told)[name].is_number() || (*told)[name].get<double>() < 0) {
      return Error{
          ErrorCode::Malformed, std::string("TVM's script tells no number '") + name + "'", {}};
    }
    *to = (*told)[name].get<double>();
  }
  figures.trials = static_cast<unsigned>(trials);
  figures.failed = static_cast<unsigned>(failed);
  if (figures.seconds > 0 && figures.trials > 0 && figures.told_ns > 0) return figures;
  return Error{ErrorCode::Malformed, "TVM's script tells of no tuning: " + line, {}};
}

Result<std::string> python_with_tvm() {
  const process::ScratchFolder scratch;
  process::RunPlan plan;
  plan.argv = {FETTLE_TVM_INSTALLER};
  plan.output = scratch.file("python");
  plan.limit = kInstall;
  const auto ran = process::run_program(plan);
  if (!ran) return ran.error();
  if (ran->status != 0) {
    return Error{ErrorCode::Unsupported, "TVM cannot be had here: " + ran->said, {}};
  }
  std::string python = process::read_file(plan.output);
  while (python.ends_with('\n')) python.pop_back();
  return python;
}

Result<std::unique_ptr<TvmProcess>> TvmProcess::start(const std::string& python, unsigned threads) {
  std::unique_ptr<TvmProcess> out(new TvmProcess);
  // Its threads stay where the process may run; its tensors get huge pages where there are some.
  auto process = AskedProcess::start(
      python,
      {"env", "TVM_NUM_THREADS=" + std::to_string(threads), "TVM_BIND_THREADS=0",
       "GLIBC_TUNABLES=glibc.malloc.hugetlb=1", python, "-W", "ignore", FETTLE_TVM_SCRIPT},
      {});
  if (!process) return std::move(process).error();
  out->process_ = std::move(*process);
  auto greeting = read(out->process_->greeting("runs no TVM"));
  if (!greeting) return std::move(greeting).error();
  out->version_ =
      "TVM " + greeting->value("tvm", "?") + " for " + greeting->value("target", "an unknown CPU");
  return out;
}

Result<TuneFigures> TvmProcess::tune(const Layer& layer, unsigned trials, std::uint64_t seed) {
  auto told = described(*process_, layer);
  if (!told) return std::move(told).error();
  const Json question = {{"tune", layer.workload.title()},
                         {"layer", std::move(*told)},
                         {"trials", trials},
                         {"seed", seed}};
  auto line = process_->ask(question.dump(), kTune);
  if (!line) return std::move(line).error();
  return parse_tvm_tune(*line);
}

Result<void> TvmProcess::run_on(const std::vector<int>& cores) {
  auto done = read(process_->ask(Json{{"cores", cores}}.dump()));
  if (!done) return std::move(done).error();
  return {};
}

NamedPeer TvmProcess::peer(const Layer& layer) {
  return {"tvm",
          std::unique_ptr<Contender>(std::make_unique<TvmPeer>(*process_, layer.workload.title()))};
}

}  // namespace fettle::bench

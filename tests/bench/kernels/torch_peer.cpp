// PyTorch's process, and its ways as contenders (torch_peer.h).
#include "tests/bench/kernels/torch_peer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr const char* kPrefix = "torch_";

const char* name_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::Convolution:
      return "convolution";
    case LayerKind::Dense:
      return "dense";
    case LayerKind::BatchMatmul:
      return "batch_matmul";
    case LayerKind::Softmax:
      return "softmax";
    case LayerKind::LayerNorm:
      return "layer_norm";
  }
  return "";
}

using Extents = std::vector<std::int64_t>;

// A picture's or volume's axes in the layer's layout.
Extents places(const Layer& layer, std::int64_t depth, std::int64_t height, std::int64_t width,
               std::int64_t channels) {
  const std::int64_t n = layer.shape.batch;
  if (layer.volume) return {n, depth, height, width, channels};
  if (layer.channels_first) return {n, channels, height, width};
  return {n, height, width, channels};
}

// Of every tensor that the layer has.
Json shapes_of(const Layer& layer) {
  const Shape& s = layer.shape;
  const Extents channels{s.out_channels};
  switch (layer.kind) {
    case LayerKind::Convolution: {
      const std::int64_t in = s.in_channels / s.groups, out = s.out_channels;
      Extents weight{s.kernel[0], s.kernel[1], in, out};
      if (layer.volume) weight.insert(weight.begin(), s.deep_kernel);
      if (layer.channels_first) weight = {out, in, s.kernel[0], s.kernel[1]};
      return {{"input", places(layer, s.depth, s.height, s.width, s.in_channels)},
              {"weight", weight},
              {"bias", channels},
              {"residual", places(layer, s.out_depth, s.out_height, s.out_width, out)}};
    }
    case LayerKind::Dense:
      return {{"input", Extents{s.batch, s.in_channels}},
              {"weight", Extents{s.in_channels, s.out_channels}},
              {"bias", channels},
              {"residual", Extents{s.batch, s.out_channels}}};
    case LayerKind::BatchMatmul:
      return {{"input", Extents{s.batch, s.height, s.in_channels}},
              {"weight", Extents{s.batch, s.in_channels, s.out_channels}}};
    case LayerKind::Softmax:
    case LayerKind::LayerNorm: {
      const Extents row{s.in_channels};
      const auto rows = static_cast<std::int64_t>(layer.input.size()) / s.in_channels;
      return {{"input", Extents{rows, s.in_channels}}, {"weight", row}, {"bias", row}};
    }
  }
  return {};
}

Result<Json> described(const TorchProcess& process, const Layer& layer) {
  const Shape& s = layer.shape;
  Json json = shapes_of(layer);
  json["kind"] = name_of(layer.kind);
  json["int8"] = layer.int8, json["half"] = layer.half;
  json["tf32"] = layer.workload.dag().allow_tf32;
  json["volume"] = layer.volume, json["channels_first"] = layer.channels_first;
  json["relu"] = layer.relu, json["gelu"] = layer.gelu;
  json["groups"] = s.groups;
  const auto window = [&](const std::array<std::int64_t, 2>& flat, std::int64_t deep) {
    return layer.volume ? Extents{deep, flat[0], flat[1]} : Extents{flat[0], flat[1]};
  };
  json["stride"] = window(s.stride, s.deep_stride);
  json["padding"] = window(s.pad, s.deep_pad);
  json["dilation"] = window(s.dilation, s.deep_dilation);
  json["files"] = Json::object();
  for (const auto& [name, values] : {std::pair{"input", &layer.input},
                                     {"weight", &layer.weight},
                                     {"bias", &layer.bias},
                                     {"residual", &layer.residual}}) {
    if (values->empty()) continue;
    std::string bytes(values->size() * sizeof(float), '\0');
    std::memcpy(bytes.data(), values->data(), bytes.size());
    if (!process::write_file(process.file(name), bytes)) {
      return Error{ErrorCode::Io, "cannot write " + process.file(name), {}};
    }
    json["files"][name] = process.file(name);
  }
  return json;
}

class TorchPeer final : public Contender {
 public:
  TorchPeer(TorchProcess& process, std::string way)
      : process_(process), way_(std::move(way)), name_(kPrefix + way_) {}

  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return way_; }
  Result<void> run(std::uint32_t times) override {
    auto told = process_.ask({{"run", way_}, {"times", times}});
    if (!told) return std::move(told).error();
    nanoseconds_ = (*told)["ns"];
    return {};
  }
  double device_nanoseconds() const override { return nanoseconds_; }
  long interruptions() const override { return process_.interruptions(); }
  Result<std::vector<float>> output() override {
    const std::string file = process_.file("output");
    auto told = process_.ask({{"output", way_}, {"file", file}});
    if (!told) return std::move(told).error();
    const std::string bytes = process::read_file(file);
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

 private:
  TorchProcess& process_;
  std::string way_, name_;
  double nanoseconds_ = 0;
};

// 9.15.1 of 91501.
std::string cudnn_version(int number) {
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

// Unsupported: it refuses, in its words.
Result<Json> read(Result<std::string> line, const std::string& python) {
  if (!line) return std::move(line).error();
  Json said = Json::parse(*line, nullptr, false);
  if (!said.is_object()) {
    return Error{ErrorCode::Internal, python + " says what is no JSON", {}};
  }
  if (said.contains("refused")) {
    return Error{ErrorCode::Unsupported, said["refused"].get<std::string>(), {}};
  }
  return said;
}

}  // namespace

Result<std::unique_ptr<TorchProcess>> TorchProcess::start(const std::string& python,
                                                          TorchDevice device,
                                                          const std::vector<int>& cores) {
  std::unique_ptr<TorchProcess> out(new TorchProcess);
  out->python_ = python;
  const char* where = device == TorchDevice::Cuda ? "cuda" : "cpu";
  auto process =
      AskedProcess::start(python,
                          {python, "-W", "ignore", FETTLE_TORCH_SCRIPT, "--device", where,
                           "--threads", std::to_string(std::max<std::size_t>(cores.size(), 1))},
                          cores);
  if (!process) return std::move(process).error();
  out->process_ = std::move(*process);
  auto greeting = read(out->process_->greeting("runs no PyTorch"), python);
  if (!greeting) return std::move(greeting).error();
  out->version_ = "PyTorch " + greeting->value("torch", "?");
  if ((*greeting)["cudnn"].is_number()) {
    out->version_ += ", cuDNN " + cudnn_version((*greeting)["cudnn"]);
  }
  return out;
}

Result<Json> TorchProcess::ask(const Json& question) {
  return read(process_->ask(question.dump()), python_);
}

std::vector<NamedPeer> make_torch_peers(TorchProcess& process, const Layer& layer) {
  const auto ways = [&]() -> Result<Json> {
    auto told = described(process, layer);
    if (!told) return told;
    return process.ask({{"layer", *told}});
  }();
  std::vector<NamedPeer> peers;
  if (!ways) {
    peers.push_back({"torch", ways.error()});
    return peers;
  }
  for (const Json& way : (*ways)["ways"]) {
    peers.push_back(
        {kPrefix + way.get<std::string>(),
         std::unique_ptr<Contender>(std::make_unique<TorchPeer>(process, way.get<std::string>()))});
  }
  return peers;
}

}  // namespace fettle::bench

// Making a tiny network (tiny_network.h).
#include "tests/support/tiny_network.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/support/candidates/dense.h"

namespace fettle::test {
namespace {

enum Buffer : std::uint32_t {
  kImage,
  kWeights1,
  kBias1,
  kWeights2,
  kBias2,
  kPacked,
  kArena,
  kScores
};
constexpr std::uint64_t kHiddenAt = 128;  // in the arena

Bytes code_of(const std::string& arch) {
  std::ifstream file(FETTLE_CANDIDATES "/dense_" + arch + ".bin", std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// Small numbers of both signs, whose sums have no rounding errors.
Bytes floats(std::size_t count, std::uint32_t seed) {
  Bytes bytes(count * sizeof(float));
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    const float value = static_cast<float>(static_cast<int>(seed >> 28) - 8) / 8;
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  return bytes;
}

const float* as_floats(const Bytes& bytes) { return reinterpret_cast<const float*>(bytes.data()); }

std::unique_ptr<wire::Hash> hash_of(ByteView bytes) {
  return std::make_unique<wire::Hash>(content_hash(bytes));
}

wire::Arg at(std::uint32_t buffer, std::uint64_t offset = 0) {
  return wire::Arg(wire::ArgKind::Buffer, buffer, offset, 0, 0);
}
wire::Arg number(int value) { return wire::Arg(wire::ArgKind::Int64, 0, 0, value, 0); }

void add_launch(wire::ProgramT& program, wire::Phase phase, int extent,
                std::vector<wire::Arg> args) {
  auto launch = std::make_unique<wire::LaunchT>();
  launch->phase = phase;
  launch->parallel_extent = static_cast<std::uint32_t>(extent);
  launch->args = std::move(args);
  program.launches.push_back(std::move(launch));
}

void add_layer(wire::NetworkT& network, const char* title, const char* node, double operations) {
  auto layer = std::make_unique<wire::NetworkLayerT>();
  layer->title = title;
  layer->nodes = {node};
  layer->prepare_launches = layer->run_launches = 1;
  layer->operations = operations;
  layer->expected_ns = 1000;
  network.layers.push_back(std::move(layer));
}

std::unique_ptr<wire::NetworkTensorT> tensor_of(const char* name, int extent,
                                                std::uint32_t buffer) {
  auto tensor = std::make_unique<wire::NetworkTensorT>();
  tensor->name = name;
  tensor->dtype = wire::ScalarType::Float32;
  tensor->shape = {1, extent};
  tensor->buffer = buffer;
  return tensor;
}

std::vector<float> dense(const std::vector<float>& in, const Bytes& weights, const Bytes& bias,
                         int outputs, bool relu) {
  std::vector<float> out(as_floats(bias), as_floats(bias) + outputs);
  for (int j = 0; j < outputs; ++j) {
    const float* row = as_floats(weights) + static_cast<std::size_t>(j) * in.size();
    for (std::size_t i = 0; i < in.size(); ++i) out[static_cast<std::size_t>(j)] += in[i] * row[i];
    if (relu) out[static_cast<std::size_t>(j)] = std::max(out[static_cast<std::size_t>(j)], 0.0f);
  }
  return out;
}

}  // namespace

bool have_tiny_network(const std::string& arch) { return !code_of(arch).empty(); }

void TinyNetwork::make() {
  const auto k = static_cast<std::size_t>(inputs), h = static_cast<std::size_t>(hidden),
             n = static_cast<std::size_t>(outputs);
  contents = {floats(h * k, 1), floats(h, 2), floats(n * h, 3), floats(n, 4), code_of(arch)};
  network = {};
  network.name = "tiny";
  network.target = "{\"arch\":\"" + arch + "\",\"backend\":\"cpu_llvm\"}";
  network.arena_bytes = network.live_bytes = h * sizeof(float);
  network.inputs.push_back(tensor_of("image", inputs, kImage));
  network.outputs.push_back(tensor_of("scores", outputs, kScores));
  add_layer(network, "dense and relu", "Gemm_0", 2.0 * inputs * hidden);
  add_layer(network, "dense", "Gemm_1", 2.0 * hidden * outputs);

  network.program = std::make_unique<wire::ProgramT>();
  wire::ProgramT& program = *network.program;
  auto image = std::make_unique<wire::ImageT>();
  image->blob = hash_of(contents[4]);
  image->cpu = std::make_unique<wire::CpuLayoutT>();
  image->cpu->arch = arch;
  image->cpu->text_bytes = image->cpu->memory_bytes = contents[4].size();
  image->entries.push_back(std::make_unique<wire::EntryPointT>());
  image->entries[0]->name = "entry";
  program.images.push_back(std::move(image));

  const struct {
    const char* name;
    std::size_t floats;
    wire::BufferRole role;
    int content;  // -1: none
  } rows[] = {{"image", k, wire::BufferRole::Input, -1},
              {"weights 1", h * k, wire::BufferRole::Constant, 0},
              {"bias 1", h, wire::BufferRole::Constant, 1},
              {"weights 2", n * h, wire::BufferRole::Constant, 2},
              {"bias 2", n, wire::BufferRole::Constant, 3},
              {"packed", h * k + n * h, wire::BufferRole::Scratch, -1},
              {"arena", h + kHiddenAt / sizeof(float), wire::BufferRole::Scratch, -1},
              {"scores", n, wire::BufferRole::Output, -1}};
  for (const auto& row : rows) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = row.name;
    buffer->bytes = row.floats * sizeof(float);
    buffer->role = row.role;
    if (row.content >= 0) {
      buffer->fill = std::make_unique<wire::FillT>();
      buffer->fill->kind = wire::FillKind::Blob;
      buffer->fill->blob = hash_of(contents[static_cast<std::size_t>(row.content)]);
    }
    program.buffers.push_back(std::move(buffer));
  }
  const std::uint64_t second = h * k * sizeof(float);
  using wire::Phase;
  add_launch(program, Phase::Prepare, inputs,
             {number(kPackWeights), at(kWeights1), at(kPacked), number(inputs), number(hidden)});
  add_launch(
      program, Phase::Prepare, hidden,
      {number(kPackWeights), at(kWeights2), at(kPacked, second), number(hidden), number(outputs)});
  add_launch(program, Phase::Run, hidden,
             {number(kDense), at(kImage), at(kPacked), at(kBias1), at(kArena, kHiddenAt),
              number(inputs), number(hidden), number(1)});
  add_launch(program, Phase::Run, outputs,
             {number(kDense), at(kArena, kHiddenAt), at(kPacked, second), at(kBias2), at(kScores),
              number(hidden), number(outputs), number(0)});
}

Bytes TinyNetwork::file() const {
  const std::vector<ByteView> views(contents.begin(), contents.end());
  std::ostringstream out;
  if (auto written = write_network_file(network, views, out); !written) {
    std::fprintf(stderr, "%s\n", written.error().text().c_str());
    std::abort();
  }
  const std::string text = std::move(out).str();
  return Bytes(text.begin(), text.end());
}

void TinyNetwork::write(const std::string& path) const {
  const Bytes bytes = file();
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
}

std::vector<float> TinyNetwork::answer(const std::vector<float>& input) const {
  return dense(dense(input, contents[0], contents[1], hidden, true), contents[2], contents[3],
               outputs, false);
}

}  // namespace fettle::test

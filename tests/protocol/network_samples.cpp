// Samples of network files (network_samples.h).
#include "tests/protocol/network_samples.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "schemas/network/file_layout.h"

namespace fettle {
namespace {

std::unique_ptr<wire::Hash> hash_of(ByteView bytes) {
  return std::make_unique<wire::Hash>(content_hash(bytes));
}

std::unique_ptr<wire::BufferT> buffer_of(const char* name, std::uint64_t bytes,
                                         wire::BufferRole role) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = name;
  buffer->bytes = bytes;
  buffer->role = role;
  return buffer;
}

std::unique_ptr<wire::LaunchT> launch_of(wire::Phase phase, std::uint32_t entry,
                                         std::vector<std::uint32_t> buffers) {
  auto launch = std::make_unique<wire::LaunchT>();
  launch->phase = phase;
  launch->entry = entry;
  for (const std::uint32_t buffer : buffers) {
    launch->args.push_back(wire::Arg(wire::ArgKind::Buffer, buffer, 0, 0, 0));
  }
  return launch;
}

std::unique_ptr<wire::NetworkTensorT> tensor_of(const char* name, std::vector<std::int64_t> shape,
                                                std::uint32_t buffer) {
  auto tensor = std::make_unique<wire::NetworkTensorT>();
  tensor->name = name;
  tensor->dtype = wire::ScalarType::Float32;
  tensor->shape = std::move(shape);
  tensor->buffer = buffer;
  return tensor;
}

std::unique_ptr<wire::NetworkLayerT> layer_of(const char* title, std::uint32_t prepare,
                                              std::uint32_t run) {
  auto layer = std::make_unique<wire::NetworkLayerT>();
  layer->title = title;
  layer->nodes = {"Gemm_0", "Relu_1"};
  layer->prepare_launches = prepare;
  layer->run_launches = run;
  layer->operations = 2048;
  layer->expected_ns = 700;
  layer->configuration = "{\"tile\":[4,8]}";
  return layer;
}

std::unique_ptr<wire::ImageT> image_of(ByteView blob) {
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::CpuImage;
  image->blob = hash_of(blob);
  for (const std::uint64_t offset : {0, 64, 128}) {
    image->entries.push_back(std::make_unique<wire::EntryPointT>());
    image->entries.back()->name = "entry" + std::to_string(offset);
    image->entries.back()->offset = offset;
  }
  image->cpu = std::make_unique<wire::CpuLayoutT>();
  image->cpu->arch = "aarch64";
  image->cpu->text_bytes = image->cpu->memory_bytes = 256;
  return image;
}

}  // namespace

NetworkSample sample_network() {
  NetworkSample sample;
  sample.contents = {Bytes(640, 0x3c), Bytes(200, 0x90)};
  sample.network.name = "two layers";
  sample.network.target = "{\"backend\":\"cpu_llvm\"}";
  sample.network.cpu_features = {"neon"};
  sample.network.threads = 2;
  sample.network.arena_bytes = 256;
  sample.network.live_bytes = 192;
  sample.network.inputs.push_back(tensor_of("image", {1, 4, 16}, 0));
  sample.network.outputs.push_back(tensor_of("scores", {10}, 4));
  sample.network.layers.push_back(layer_of("dense 64x10", 1, 1));
  sample.network.layers.push_back(layer_of("softmax 10", 0, 1));

  sample.network.program = std::make_unique<wire::ProgramT>();
  auto& program = *sample.network.program;
  program.target = "aarch64-linux-gnu";
  program.images.push_back(image_of(sample.contents[1]));
  program.buffers.push_back(buffer_of("image", 256, wire::BufferRole::Input));
  program.buffers.push_back(buffer_of("weights", 640, wire::BufferRole::Constant));
  program.buffers.push_back(buffer_of("packed", 640, wire::BufferRole::Scratch));
  program.buffers.push_back(buffer_of("arena", 256, wire::BufferRole::Scratch));
  program.buffers.push_back(buffer_of("scores", 40, wire::BufferRole::Output));
  program.buffers[1]->fill = std::make_unique<wire::FillT>();
  program.buffers[1]->fill->kind = wire::FillKind::Blob;
  program.buffers[1]->fill->blob = hash_of(sample.contents[0]);
  program.launches.push_back(launch_of(wire::Phase::Prepare, 0, {1, 2}));
  program.launches.push_back(launch_of(wire::Phase::Run, 1, {0, 2, 3}));
  program.launches.push_back(launch_of(wire::Phase::Run, 2, {3, 4}));
  program.max_threads = 2;
  return sample;
}

Bytes network_file_of(const NetworkSample& sample) {
  std::vector<ByteView> contents(sample.contents.begin(), sample.contents.end());
  std::ostringstream out;
  if (auto written = write_network_file(sample.network, contents, out); !written) {
    std::fprintf(stderr, "%s\n", written.error().text().c_str());
    std::abort();
  }
  const std::string text = out.str();
  return Bytes(text.begin(), text.end());
}

Bytes with_right_hash(Bytes file) {
  using namespace file_layout;
  if (file.size() < kHeaderBytes) return file;
  std::uint64_t described = 0;
  std::memcpy(&described, &file[kDescriptionBytesAt], sizeof described);
  if (described > file.size() - kHeaderBytes) return file;
  const wire::Hash hash =
      content_hash(ByteView(file).subspan(kHeaderBytes, static_cast<std::size_t>(described)));
  std::memcpy(&file[kHashAt], &hash, sizeof hash);
  return file;
}

}  // namespace fettle

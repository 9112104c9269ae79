// A network with a stream for VTA, on the simulated accelerator; and where there is none.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "runtime/network/loaded_network.h"
#include "tests/support/vta_candidates.h"

namespace fettle::runtime {
namespace {

std::unique_ptr<wire::NetworkTensorT> bytes_of_buffer(const wire::ProgramT& program,
                                                      std::uint32_t buffer) {
  auto tensor = std::make_unique<wire::NetworkTensorT>();
  tensor->name = program.buffers[buffer]->name;
  tensor->dtype = wire::ScalarType::Int8;
  tensor->shape = {static_cast<std::int64_t>(program.buffers[buffer]->bytes)};
  tensor->buffer = buffer;
  return tensor;
}

Bytes vta_network() {
  wire::NetworkT network;
  network.target = "{\"backend\":\"vta\"}";
  network.program = std::make_unique<wire::ProgramT>(test::vta_candidate_program(kGood));
  const wire::ProgramT& program = *network.program;
  network.inputs.push_back(bytes_of_buffer(program, 0));
  network.outputs.push_back(bytes_of_buffer(program, 1));
  network.layers.push_back(std::make_unique<wire::NetworkLayerT>());
  network.layers[0]->title = "twice";
  network.layers[0]->run_launches = 1;
  std::vector<ByteView> contents;
  for (const auto& buffer : program.buffers) {
    if (buffer->fill && buffer->fill->kind == wire::FillKind::Blob && buffer->fill->bytes.empty()) {
      contents.push_back(test::vta_candidate_blob(*buffer->fill->blob));
    }
  }
  std::ostringstream out;
  const auto written = write_network_file(std::move(network), contents, out);
  EXPECT_TRUE(written.ok());
  const std::string text = out.str();
  return Bytes(text.begin(), text.end());
}

TEST(NetworkOnVta, TheSimulatorRunsItsStreams) {
  const Bytes file = vta_network();
  NetworkOptions options;
  options.make_accelerator = make_simulated_network_accelerator;
  auto loaded = LoadedNetwork::load(file, options);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  for (int seed = 1; seed < 3; ++seed) {
    const auto input = (*loaded)->input(0);
    for (std::size_t i = 0; i < input.size(); ++i) {
      input[i] = static_cast<std::uint8_t>(static_cast<int>(i * 7 % 41) * seed - 40);
    }
    std::vector<std::uint64_t> cycles(1);
    ASSERT_TRUE((*loaded)->run(cycles).ok());
    EXPECT_GT(cycles[0], 0u);
    const auto output = (*loaded)->output(0);
    for (std::size_t i = 0; i < output.size(); ++i) {
      ASSERT_EQ(static_cast<std::int8_t>(output[i]), 2 * static_cast<std::int8_t>(input[i])) << i;
    }
  }
}

TEST(NetworkOnVta, WhereThereIsNoAcceleratorItIsRefused) {
  const Bytes file = vta_network();
  auto refused = LoadedNetwork::load(file, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_NE(refused.error().message.find("the accelerator VTA"), std::string::npos);
}

}  // namespace
}  // namespace fettle::runtime

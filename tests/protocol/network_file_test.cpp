// Network files: round trip, what is refused and in which words, truncation everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <sstream>

#include "schemas/network/file_layout.h"
#include "tests/protocol/network_samples.h"

namespace fettle {
namespace {

Result<void> refusal_of(ByteView file) {
  auto read = read_network_file(file);
  if (read) return {};
  return std::move(read).error();
}

TEST(NetworkFile, RoundTrip) {
  const NetworkSample sample = sample_network();
  const Bytes file = network_file_of(sample);
  auto network = read_network_file(file);
  ASSERT_TRUE(network.ok()) << network.error().text();
  EXPECT_EQ(network->name, "two layers");
  EXPECT_EQ(network->cpu_features, std::vector<std::string>{"neon"});
  EXPECT_EQ(network->threads, 2u);
  ASSERT_EQ(network->layers.size(), 2u);
  EXPECT_EQ(network->layers[0]->configuration, "{\"tile\":[4,8]}");
  ASSERT_EQ(network->blobs.size(), 2u);
  EXPECT_EQ(network->blobs[1]->offset % 64, 0u);
  EXPECT_EQ(network->blobs[1]->offset + 200, file.size());
  EXPECT_TRUE(check_blobs(*network, file).ok());
  const auto blobs = blobs_of(*network, file);
  for (const Bytes& content : sample.contents) {
    const ByteView found = blobs(content_hash(content));
    EXPECT_TRUE(std::equal(found.begin(), found.end(), content.begin(), content.end()));
  }
  EXPECT_TRUE(blobs(content_hash(Bytes{1})).empty());
}

TEST(NetworkFile, EqualNetworksGiveEqualFilesAndEqualBlobsLieThereOnce) {
  NetworkSample sample = sample_network();
  const Bytes file = network_file_of(sample);
  sample.contents.push_back(sample.contents[0]);
  EXPECT_EQ(network_file_of(sample), file);
  auto again = read_network_file(file);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(network_file_of({std::move(*again), sample.contents}), file);
}

TEST(NetworkFile, TruncationSaysByHowMuch) {
  const Bytes file = network_file_of(sample_network());
  for (std::size_t size = 0; size < file.size(); ++size) {
    Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    part.shrink_to_fit();
    auto refused = refusal_of(part);
    ASSERT_FALSE(refused.ok()) << size;
    EXPECT_EQ(refused.error().code, ErrorCode::Malformed);
    if (size == 0) continue;
    const std::size_t wanted = size < file_layout::kHeaderBytes ? 64 : file.size();
    EXPECT_EQ(refused.error().message, "the network file ends early: it has " +
                                           std::to_string(size) + " of " + std::to_string(wanted) +
                                           " bytes");
  }
}

TEST(NetworkFile, DamageOfTheHeaderIsTold) {
  const Bytes file = network_file_of(sample_network());
  const struct {
    std::size_t at;
    ErrorCode code;
    const char* says;
  } rows[] = {
      {0, ErrorCode::Malformed, "does not begin with FETTLNET"},
      {file_layout::kVersionAt, ErrorCode::VersionMismatch,
       "version 0, this program reads version 1"},
      {file_layout::kReservedAt, ErrorCode::Malformed, "must be 0"},
      {file_layout::kDescriptionBytesAt, ErrorCode::Malformed, "another hash"},
      {file_layout::kDescriptionBytesAt + 7, ErrorCode::Malformed, "does not end within it"},
      {file_layout::kFileBytesAt + 7, ErrorCode::Malformed, "ends early"},
      {file_layout::kHashAt, ErrorCode::Malformed, "another hash"},
      {file_layout::kHeaderBytes + 20, ErrorCode::Malformed, "another hash"},
  };
  for (const auto& row : rows) {
    Bytes damaged = file;
    damaged[row.at] ^= 1;
    auto refused = refusal_of(damaged);
    ASSERT_FALSE(refused.ok()) << row.at;
    EXPECT_EQ(refused.error().code, row.code);
    EXPECT_NE(refused.error().message.find(row.says), std::string::npos) << refused.error().text();
  }
  Bytes longer = file;
  longer.push_back(0);
  EXPECT_NE(refusal_of(longer).error().message.find("goes on behind its end"), std::string::npos);
}

TEST(NetworkFile, AFlippedBitOfABlobIsFoundByItsHash) {
  Bytes file = network_file_of(sample_network());
  file.back() ^= 1;
  auto network = read_network_file(file);
  ASSERT_TRUE(network.ok());
  auto checked = check_blobs(*network, file);
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("blob 1, 200 bytes"), std::string::npos);
}

// What no file may say; written, and read from a file that says so all the same.
TEST(NetworkFile, WhatADescriptionMayNotSay) {
  using Change = std::function<void(NetworkSample&)>;
  const struct {
    const char* says;
    Change change;
  } rows[] = {
      {"program without launches", [](auto& s) { s.network.program->launches.clear(); }},
      {"without a target", [](auto& s) { s.network.target.clear(); }},
      {"input 0 has no name", [](auto& s) { s.network.inputs[0]->name.clear(); }},
      {"input 0 names no buffer", [](auto& s) { s.network.inputs[0]->buffer = 5; }},
      {"the role Scratch", [](auto& s) { s.network.inputs[0]->buffer = 3; }},
      {"has an axis of length 0", [](auto& s) { s.network.inputs[0]->shape[1] = 0; }},
      {"has an axis of length -4", [](auto& s) { s.network.inputs[0]->shape[1] = -4; }},
      {"input 0 is too large", [](auto& s) { s.network.inputs[0]->shape = {1 << 30, 1 << 30}; }},
      {"too many axes", [](auto& s) { s.network.inputs[0]->shape.resize(17, 1); }},
      {"output 0 has 44 bytes, its buffer has 40",
       [](auto& s) { s.network.outputs[0]->shape[0] = 11; }},
      {"in the buffer of another",
       [](auto& s) {
         s.network.outputs.push_back(std::make_unique<wire::NetworkTensorT>(*s.network.outputs[0]));
         s.network.outputs[1]->name = "again";
       }},
      {"has the name of another",
       [](auto& s) {
         s.network.outputs.push_back(std::make_unique<wire::NetworkTensorT>(*s.network.outputs[0]));
       }},
      {"has the role Output and is no output", [](auto& s) { s.network.outputs.clear(); }},
      {"layers have 0 prepare and 2 run launches, the program has 1 and 2",
       [](auto& s) { s.network.layers[0]->prepare_launches = 0; }},
      {"layer 1 has no title", [](auto& s) { s.network.layers[1]->title.clear(); }},
      {"negative or not finite", [](auto& s) { s.network.layers[1]->expected_ns = -1; }},
      {"the plan's memory", [](auto& s) { s.network.arena_bytes = std::uint64_t{1} << 40; }},
      {"buffer 1 names a blob that is not in the file",
       [](auto& s) { s.contents.erase(s.contents.begin()); }},
      {"image 0 names a blob that is not in the file", [](auto& s) { s.contents.pop_back(); }},
      {"buffer 1 has 512 bytes, its blob has 640",
       [](auto& s) { s.network.program->buffers[1]->bytes = 512; }},
      {"image 0 has more bytes than memory",
       [](auto& s) {
         s.network.program->images[0]->cpu->memory_bytes = 190,
         s.network.program->images[0]->cpu->text_bytes = 190;
       }},
      {"image 0: entry 'entry128' lies outside its text",
       [](auto& s) {
         s.contents[1].resize(128);
         *s.network.program->images[0]->blob = content_hash(s.contents[1]);
       }},
      {"image 0: entry 'entry64' lies outside its text",
       [](auto& s) { s.network.program->images[0]->bytes.assign(4, 0x90); }},
      {"blob 2 is empty", [](auto& s) { s.contents.push_back({}); }},
  };
  for (const auto& row : rows) {
    NetworkSample sample = sample_network();
    row.change(sample);
    std::vector<ByteView> contents(sample.contents.begin(), sample.contents.end());
    std::ostringstream out;
    auto written = write_network_file(std::move(sample.network), contents, out);
    ASSERT_FALSE(written.ok()) << row.says;
    const Error& error = written.error();
    EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
    EXPECT_NE(error.message.find(row.says), std::string::npos) << error.text();
    EXPECT_TRUE(out.str().empty());
  }
}

TEST(NetworkFile, ADiskThatRefusesIsAnError) {
  const NetworkSample sample = sample_network();
  std::vector<ByteView> contents(sample.contents.begin(), sample.contents.end());
  std::ostream refusing(nullptr);
  auto written = write_network_file(sample_network().network, contents, refusing);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, ErrorCode::Io);
}

}  // namespace
}  // namespace fettle

// What a program computes is read from a board in as few runs as hold it.
#include <optional>

#include <gtest/gtest.h>

#include "host/tune/read_outputs.h"
#include "schemas/wire/limits.h"
#include "tests/unit/tune_doubles.h"

namespace fettle::tune {
namespace {

class ReadOutputs : public ::testing::Test {
 protected:
  // Buffers with a role and bytes of their own number; number 0 is an input.
  void buffers(const std::vector<std::size_t>& bytes) {
    for (std::size_t b = 0; b < bytes.size(); ++b) {
      program.buffers.push_back(std::make_unique<wire::BufferT>());
      program.buffers[b]->role = b % 2 == 0 ? wire::BufferRole::Input : wire::BufferRole::Output;
      program.buffers[b]->bytes = bytes[b];
    }
  }
  Result<std::vector<Bytes>> read() {
    doubles::ScriptedRunner runner([this](std::uint64_t, const wire::MeasureRequestT& request) {
      ++runs;
      if (code) return doubles::failure(wire::Stage::Load, *code);
      auto outcome = doubles::measurement(1000);
      const wire::MeasureOptionsT& options = *request.options;
      auto& sent = outcome.body.AsMeasurement()->read;
      std::uint64_t offset = options.read_offset;
      for (std::size_t b = options.read_buffer; b < program.buffers.size(); ++b) {
        if (program.buffers[b]->role != wire::BufferRole::Output) continue;
        for (; offset < program.buffers[b]->bytes && sent.size() < options.read_bytes; ++offset) {
          sent.push_back(static_cast<std::uint8_t>(b + offset));
        }
        offset = 0;
      }
      if (lost) sent.clear();
      return outcome;
    });
    return read_outputs(runner, stop, program, 1);
  }
  void expect_right(const std::vector<Bytes>& outputs) {
    std::size_t o = 0;
    for (std::size_t b = 1; b < program.buffers.size(); b += 2, ++o) {
      ASSERT_LT(o, outputs.size());
      ASSERT_EQ(outputs[o].size(), program.buffers[b]->bytes);
      for (std::size_t i = 0; i < outputs[o].size(); ++i) {
        ASSERT_EQ(outputs[o][i], static_cast<std::uint8_t>(b + i)) << o << " at " << i;
      }
    }
    EXPECT_EQ(o, outputs.size());
  }

  wire::ProgramT program;
  doubles::Flag stop;
  int runs = 0;
  std::optional<ErrorCode> code;
  bool lost = false;
};

TEST_F(ReadOutputs, ManySmallOnesTakeOneRun) {
  buffers({64, 4, 64, 100, 64, 1, 64, 300});
  const auto outputs = read();
  ASSERT_TRUE(outputs) << outputs.error().text();
  expect_right(*outputs);
  EXPECT_EQ(runs, 1);
}

TEST_F(ReadOutputs, LargeOnesTakeARunForEachMiBOfAll) {
  const std::size_t mib = limits::kPieceBytes;
  buffers({8, mib - 3, 8, 2 * mib, 8, 7, 8, mib});
  const auto outputs = read();
  ASSERT_TRUE(outputs) << outputs.error().text();
  expect_right(*outputs);
  EXPECT_EQ(runs, 5);
}

TEST_F(ReadOutputs, WhatIsWrongWithOneOutputIsNoOldAgentsDoing) {
  buffers({8, 16});
  code = ErrorCode::Malformed;
  const auto outputs = read();
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::Malformed);
}

TEST_F(ReadOutputs, AnOldAgentIsNamed) {
  buffers({8, 16, 8, 16});
  code = ErrorCode::Malformed;
  auto outputs = read();
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::Unsupported);
  code.reset(), lost = true;
  outputs = read();
  ASSERT_FALSE(outputs);
  EXPECT_NE(outputs.error().message.find("too old"), std::string::npos);
  code = ErrorCode::Crash, lost = false;
  outputs = read();
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().code, ErrorCode::Crash);
}

}  // namespace
}  // namespace fettle::tune

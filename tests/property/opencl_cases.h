// Random programs in OpenCL C: for which devices, and whether what they computed is right.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "host/backend/backend.h"
#include "host/space/gpu_target.h"
#include "host/space/reference.h"
#include "host/space/wire_types.h"
#include "host/space/workload.h"
#include "schemas/wire/codec.h"
#include "tests/property/random_workload.h"
#include "tests/support/compare.h"

namespace fettle::property {

// The device's own target, and four that its driver plays: a desktop's GPU, with local memory of
// its own, and Malis, with vectors of four and images over buffers, two of them with products of
// bytes by fours, by Arm's extension and by Khronos's.
inline std::vector<space::GpuTarget> opencl_targets(const space::GpuTarget& mine) {
  space::GpuTarget stages = mine, fours = mine;
  stages.shared_is_global = false, stages.vector_width = 1, stages.warp = 8;
  stages.threads_per_block = 128, stages.shared_bytes = 16 << 10;
  stages.registers_per_thread = 128;
  fours.shared_is_global = true, fours.vector_width = 4, fours.warp = 4;
  fours.threads_per_block = 256, fours.shared_bytes = 32 << 10, fours.registers_per_thread = 128;
  fours.image_texels = 63488;
  space::GpuTarget arm = fours, khronos = fours;
  arm.extensions = {"cl_arm_integer_dot_product_accumulate_int8"};
  khronos.extensions = {"cl_khr_integer_dot_product"};
  return {mine, stages, fours, arm, khronos};
}

// What the extensions say of their functions, for drivers that do not have them, nor run them if
// they declare them.
inline constexpr const char* kDots =
    "#define arm_dot_acc played_arm_dot_acc\n"
    "int arm_dot_acc(char4 a, char4 b, int sum) {\n"
    "  return sum + a.s0 * b.s0 + a.s1 * b.s1 + a.s2 * b.s2 + a.s3 * b.s3;\n"
    "}\n"
    "#define dot_4x8packed_ss_int played_dot_4x8packed_ss_int\n"
    "int dot_4x8packed_ss_int(uint a, uint b) {\n"
    "  const int4 all = convert_int4(as_char4(a)) * convert_int4(as_char4(b));\n"
    "  return all.s0 + all.s1 + all.s2 + all.s3;\n"
    "}\n";

// A CPU of vectors of eight, as PoCL describes one: where there is no device to ask.
inline space::GpuTarget pocl_target() {
  space::GpuTarget t;
  t.backend = "opencl_c", t.vector_width = 8, t.shared_is_global = true, t.warp = 1;
  t.threads_per_block = 64, t.registers_per_thread = 256, t.registers_per_block = 1 << 24;
  t.shared_bytes = 1 << 20;
  return t;
}

struct OpenClCase {
  std::string what;  // workload and configuration
  std::string sketch, type;
  wire::ProgramT program;
  std::string source;
  space::ExpectedTensor expected;  // its tolerance is this program's
};

// A program of the workload's. images: it reads through images what it can, on a device that has
// some. Fails the test where it cannot be built.
inline OpenClCase case_of(std::mt19937_64& rng, const space::Workload& workload,
                          const space::GpuTarget& target, bool images) {
  OpenClCase out;
  const auto task = backend::open_task(workload.dag(), target.target());
  EXPECT_TRUE(task) << workload.canonical() << ": " << task.error().text();
  if (!task) return out;
  auto configuration = (*task)->space().random(rng);
  if (images) {
    auto json = nlohmann::json::parse((*task)->space().to_json(configuration));
    json["knobs"]["images"] = {1};
    auto parsed = (*task)->space().parse(json.dump());
    EXPECT_TRUE(parsed) << json << ": " << parsed.error().text();
    if (!parsed) return out;
    configuration = std::move(*parsed);
  }
  out.sketch = (*task)->space().sketches()[configuration.sketch].name;
  out.type = ir::to_string(workload.dag().stages.front().buffer->type);
  out.what = workload.canonical() + " " + (*task)->space().to_json(configuration);
  const auto built = (*task)->build(configuration);
  EXPECT_TRUE(built) << out.what << ": " << built.error().text();
  if (!built) return out;
  auto program = decode_program(encode(*built->program));
  EXPECT_TRUE(program) << out.what << ": " << program.error().text();
  const auto expected = space::evaluate(workload.dag());
  EXPECT_TRUE(expected) << out.what << ": " << expected.error().text();
  if (!program || !expected) return out;
  auto& text = program->images[0]->bytes;
  if (!target.extensions.empty()) {
    const std::string_view plays(kDots);
    text.insert(text.begin(), plays.begin(), plays.end());
  }
  out.source.assign(text.begin(), text.end());
  out.program = std::move(*program);
  out.expected = expected->front();
  out.expected.tolerance.absolute *= built->facts->error_growth;
  return out;
}

// Of the i-th case; every fourth is of int8, every tenth a convolution that has Winograd's
// algorithm, every second of those of float16, and all are of int8 for devices with products of
// bytes. Fails the test where it cannot
// be built.
inline OpenClCase draw_case(std::mt19937_64& rng, std::uint64_t i, const space::GpuTarget& target) {
  const bool bytes = !target.extensions.empty();
  const space::Workload workload = i % 10 == 2 && !bytes
                                       ? random_winograd_workload(rng, i % 20 == 12)
                                       : random_workload(rng, i % 4 == 3 || bytes);
  OpenClCase out = case_of(rng, workload, target, false);
  out.what = "number " + std::to_string(i) + ": " + out.what;
  return out;
}

// A program that reads through images what it can, of operators whose channels are fours.
inline OpenClCase draw_texel_case(std::mt19937_64& rng, const space::GpuTarget& target) {
  RandomFields random(rng);
  const char* const kOperators[] = {"conv2d", "conv2d", "depthwise_conv2d", "dense"};
  const std::string op = kOperators[random.number(0, 3)];
  nlohmann::json fields = {{"op", op}};
  if (op == "dense") {
    fields.update({{"batch", random.number(1, 6)},
                   {"in_features", random.number(3, 60)},
                   {"out_features", 4 * random.number(1, 16)}});
  } else {
    fields.update({{"height", random.number(4, 9)},
                   {"width", random.number(4, 9)},
                   {"kernel", {3, 3}},
                   {"pad", random.pair(0, 1)}});
    if (op == "conv2d") {
      fields.update(
          {{"in_channels", 4 * random.number(1, 5)}, {"out_channels", 4 * random.number(1, 8)}});
    } else {
      fields["channels"] = 4 * random.number(1, 8);
    }
  }
  fields["dtype"] = random.number(0, 1) ? "float32" : "float16";
  fields["tail"] = random.tail();
  return case_of(rng, *space::Workload::parse(fields), target, true);
}

// "": the program's output is what is expected.
inline std::string wrong_output(const wire::ProgramT& program, const std::vector<Bytes>& buffers,
                                const space::ExpectedTensor& expected) {
  const auto type = space::wire_type(expected.type.scalar);
  for (std::size_t b = 0; b < program.buffers.size(); ++b) {
    if (program.buffers[b]->role != wire::BufferRole::Output) continue;
    return testing::difference(testing::as_numbers(buffers[b], type),
                               testing::as_numbers(expected.bytes, type),
                               expected.tolerance.absolute, expected.tolerance.relative);
  }
  return "no output";
}

}  // namespace fettle::property

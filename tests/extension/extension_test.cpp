// The stack machine's back end in one process: every configuration computes what the reference
// does, the device conforms, and hostile images are refused.
#include <gtest/gtest.h>

#include <random>

#include "agent/device/registry.h"
#include "host/space/reference.h"
#include "host/space/wire_types.h"
#include "tests/conformance/device_conformance.h"
#include "tests/extension/instruction.h"
#include "tests/extension/machine_programs.h"
#include "tests/extension/stack_backend.h"
#include "tests/extension/stack_device.h"
#include "tests/property/random_workload.h"
#include "tests/support/compare.h"

namespace fettle::agent {

std::string nothing_missing() { return ""; }

INSTANTIATE_TEST_SUITE_P(Extension, Conformance,
                         ::testing::Values(ConformingKind{
                             "Stack", wire::DeviceKind::Extension, true, nothing_missing,
                             extension::machine_candidate, extension::machine_answer}));

}  // namespace fettle::agent

namespace fettle::extension {
namespace {

struct Added : ::testing::Environment {
  void SetUp() override {
    agent::add_device_row(stack_device_row());
    backend::add_backend(stack_backend());
  }
};
const auto* const added = ::testing::AddGlobalTestEnvironment(new Added);

wire::DeviceInfoT device_info(const char* slots = nullptr) {
  agent::DeviceConfig config;
  config.key = "box";
  if (slots) config.settings[kSlotsName] = slots;
  return stack_device_row().describe(config, agent::SystemRoot());
}

std::unique_ptr<agent::Device> open_device(const wire::DeviceInfoT& info) {
  return std::get<agent::WorkerRow>(stack_device_row().worker).open(info).value();
}

TEST(Extension, RandomConfigurationsEqualTheReference) {
  std::mt19937_64 rng(20261123);
  const wire::DeviceInfoT info = device_info("4096");
  const auto device = open_device(info);
  const space::Target target = backend::target_for(info).value();
  for (int i = 0; i < 150; ++i) {
    const space::Workload workload = property::random_workload(rng, i % 3 == 0);
    const auto task = backend::open_task(workload.dag(), target);
    ASSERT_TRUE(task) << task.error().text();
    const space::Configuration c = (*task)->space().random(rng);
    SCOPED_TRACE(workload.canonical() + " " + (*task)->space().to_json(c));
    const auto built = (*task)->build(c);
    ASSERT_TRUE(built) << built.error().text();
    EXPECT_EQ((*task)->features(c).value(), built->facts->features);
    EXPECT_EQ((*task)->facts(c)->operations, built->facts->operations);
    const auto program = decode_program(encode(*built->program));
    ASSERT_TRUE(program) << program.error().text();
    const auto prepared =
        device->prepare(*program, {1}, [](const wire::Hash&) { return ByteView(); });
    ASSERT_TRUE(prepared) << prepared.error().text();
    ASSERT_TRUE(device->run(1));
    ASSERT_TRUE(device->check_surroundings());
    const space::ExpectedTensor right = space::evaluate(workload.dag())->front();
    const auto type = space::wire_type(right.type.scalar);
    std::uint32_t output = 0;
    while (program->buffers[output]->role != wire::BufferRole::Output) ++output;
    const ByteView bytes = device->read(output).value();
    EXPECT_EQ("", testing::difference(testing::as_numbers({bytes.begin(), bytes.end()}, type),
                                      testing::as_numbers(right.bytes, type),
                                      right.tolerance.absolute * built->facts->error_growth,
                                      right.tolerance.relative));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(Extension, TheTargetFollowsFromTheDeviceAndItsCorrections) {
  const wire::DeviceInfoT info = device_info("100");
  EXPECT_EQ(backend::target_for(info)->canonical(),
            R"({"backend":"stack","memory_bytes":67108864,"slots":100})");
  const backend::HardwareValue fewer[] = {{kSlotsName, 20}}, more[] = {{kSlotsName, 200}};
  EXPECT_EQ(backend::target_for(info, fewer)->canonical(),
            R"({"backend":"stack","memory_bytes":67108864,"slots":20})");
  EXPECT_EQ(backend::target_for(info, more).error().code, ErrorCode::InvalidArgument);
}

// A constraint between two knobs, and what the target's size leaves out.
TEST(Extension, SmallMachinesAndLargeTilesAreRefused) {
  const space::Workload workload =
      space::Workload::parse(std::string(R"({"op":"dense","in_features":8,"out_features":16})"))
          .value();
  const auto open = [&](const char* slots) {
    return backend::open_task(workload.dag(), backend::target_for(device_info(slots)).value())
        .value();
  };
  const auto task = open("64");
  for (const char* tile : {"4", "16"}) {
    const auto parsed = task->space().parse(
        std::string(R"({"sketch":"stack_loops","knobs":{"unroll":[1],"tile":[)") + tile + "]}}");
    EXPECT_EQ(parsed.ok(), std::string(tile) == "4");
  }
  const space::Configuration first = task->space().at(0);
  const float needed = task->features(first).value()[1];
  EXPECT_EQ(task->screen(task->features(first).value()), nullptr);
  EXPECT_NE(task->screen(std::vector<float>{0, 65, 0}), nullptr);
  ASSERT_GT(needed, 2);
  space::Target tiny = space::Target::parse(R"({"backend":"stack","slots":2})").value();
  const auto built = backend::open_task(workload.dag(), tiny).value()->build(first);
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().code, ErrorCode::BuildError);
}

// Whatever is changed in an image: it is refused, or runs to an end within its buffers. Runs that
// would not end are not tried.
TEST(Extension, DamagedImagesAreRefused) {
  const auto device = open_device(device_info());
  const auto load = [&](const wire::ProgramT& program) {
    return device->prepare(program, {1}, [](const wire::Hash&) { return ByteView(); });
  };
  wire::ProgramT program = doubling_program(4);
  ASSERT_TRUE(load(program));
  auto& bytes = program.images[0]->bytes;
  const std::vector<std::uint8_t> whole = bytes;
  for (std::size_t length = 1; length < whole.size(); ++length) {
    bytes.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    const auto loaded = load(program);
    ASSERT_FALSE(loaded) << length;
    EXPECT_EQ(loaded.error().code, ErrorCode::LoadError);
  }
  const std::size_t code = sizeof(FunctionHeader);
  for (const std::size_t part : {0, 1, 2, 4}) {  // op, type, slot, room of the first instruction
    bytes = whole;
    bytes[code + part] = 0xff;
    if (part == 2) bytes[code] = static_cast<std::uint8_t>(Op::SetVar);
    EXPECT_FALSE(load(program)) << part;
  }
  bytes = whole;
  bytes[whole.size() - sizeof(Instruction)] = static_cast<std::uint8_t>(Op::PushInt);
  EXPECT_FALSE(load(program)) << "no end";
}

}  // namespace
}  // namespace fettle::extension

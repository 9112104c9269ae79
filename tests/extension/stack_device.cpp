// The agent's half of the stack machine (stack_device.h).
#include "tests/extension/stack_device.h"

#include <algorithm>
#include <optional>

#include "runtime/cpu/guarded_memory.h"
#include "runtime/loaded_program.h"
#include "tests/extension/machine.h"
#include "tests/extension/machine_programs.h"

namespace fettle::extension {
namespace {

std::uint32_t slots_of(const wire::DeviceInfoT& info) {
  for (const auto& each : info.extra) {
    if (each->name == kSlotsName) return static_cast<std::uint32_t>(std::stoul(each->value));
  }
  return kUsualSlots;
}

class StackDevice final : public agent::Device {
 public:
  explicit StackDevice(const wire::DeviceInfoT& info)
      : info_(info), executor_(slots_of(info)), memory_(info.memory_limit_bytes / 4) {}
  ~StackDevice() override { reset(); }
  const wire::DeviceInfoT& info() const override { return info_; }

  Result<std::uint64_t> prepare(const wire::ProgramT& program, const agent::PrepareOptions& options,
                                const BlobLookup& blobs) override {
    reset();
    if (options.threads != 1) {
      return Error{ErrorCode::InvalidArgument, "a stack machine has one thread"};
    }
    std::uint64_t total = 0;
    for (const auto& buffer : program.buffers) total += buffer->bytes;
    if (total > info_.memory_limit_bytes) {
      return Error{ErrorCode::OutOfMemory, "the program needs " + std::to_string(total) +
                                               " bytes, more than the device has"};
    }
    const runtime::Kind kinds[] = {{wire::ImageKind::Extension, loader_, executor_}};
    auto loaded = runtime::LoadedProgram::load(program, memory_, kinds, blobs);
    if (!loaded) return std::move(loaded).error();
    program_.emplace(std::move(*loaded));
    return program_->has_prepare_launches() ? program_->prepare() : Result<std::uint64_t>(0);
  }

  Result<agent::Sample> run(std::uint32_t times, bool launch_ticks) override {
    if (!program_) return Error{ErrorCode::InvalidArgument, "run before prepare"};
    agent::Sample sample{0, info_.clock, info_.clock_hz};
    sample.launch_ticks.resize(launch_ticks ? program_->run_launches() : 0);
    const auto ticks = program_->run(times, sample.launch_ticks);
    if (!ticks) return ticks.error();
    sample.ticks = std::max<std::uint64_t>(*ticks, 1);
    return sample;
  }

  Result<void> poison_outputs() override {
    if (!program_) return Error{ErrorCode::InvalidArgument, "poison before prepare"};
    return program_->poison_outputs();
  }

  Result<ByteView> read(std::uint32_t buffer) override {
    if (!program_ || buffer >= program_->buffers().size()) {
      return Error{ErrorCode::InvalidArgument, "no such buffer"};
    }
    return ByteView(program_->buffers()[buffer]->data());
  }
  std::uint8_t unwritten_byte(wire::ScalarType type) const override {
    return runtime::unwritten_byte(type);
  }

  Result<void> check_surroundings() override {
    Result<void> found;
    if (!program_) return found;
    for (const auto& buffer : program_->buffers()) {
      const auto damage = buffer->damage();
      if (!damage) return damage.error();
      if (damage->empty()) continue;
      buffer->mend();
      if (found) found = Error{ErrorCode::StrayWrite, *damage};
    }
    return found;
  }

  void reset() override {
    (void)check_surroundings();  // buffers are used again
    program_.reset();
  }

 private:
  wire::DeviceInfoT info_;
  MachineLoader loader_;
  MachineExecutor executor_;
  runtime::GuardedMemory memory_;
  std::optional<runtime::LoadedProgram> program_;  // gone before memory_
};

wire::DeviceInfoT describe(const agent::DeviceConfig& config, const agent::SystemRoot&) {
  wire::DeviceInfoT info;
  info.key = config.key;
  info.index = config.index;
  info.kind = wire::DeviceKind::Extension;
  info.name = "stack machine";
  info.clock = wire::ClockDomain::Nanoseconds;
  info.clock_hz = 1e9;
  info.memory_limit_bytes =
      config.memory_limit_bytes ? config.memory_limit_bytes : std::uint64_t{64} << 20;
  info.emulated = config.emulated;
  const auto slots = config.settings.find(kSlotsName);
  auto fact = std::make_unique<wire::NamedValueT>();
  fact->name = kSlotsName;
  fact->value = slots == config.settings.end() ? std::to_string(kUsualSlots) : slots->second;
  info.extra.push_back(std::move(fact));
  return info;
}

Result<std::unique_ptr<agent::Device>> open(const wire::DeviceInfoT& info) {
  return std::unique_ptr<agent::Device>(new StackDevice(info));
}

agent::SandboxPolicy sandbox(const wire::DeviceInfoT& info) {
  return {.extra_memory_bytes = 2 * info.memory_limit_bytes};
}

agent::SelfTestProgram self_test(const wire::DeviceInfoT&) {
  agent::SelfTestProgram out;
  out.program = doubling_program(1);
  out.program.buffers[0]->fill = std::make_unique<wire::FillT>();  // zeros
  out.answer = {0.0f};
  return out;
}

Result<void> set_slots(agent::DeviceConfig& device, const std::string& value) {
  std::uint64_t slots = 0;
  if (!agent::parse_number(value, 1 << 16, slots) || slots < kFewestSlots) {
    return agent::wrong_option("stack-slots",
                               "takes a number from 8 to 65536, not '" + value + "'");
  }
  device.settings[kSlotsName] = std::to_string(slots);
  return {};
}

constexpr agent::DeviceOption kOptions[] = {
    {"stack-slots", "N", "values that its stack holds (default 64)", set_slots}};

}  // namespace

const agent::DeviceRow& stack_device_row() {
  static const agent::DeviceRow row = {wire::DeviceKind::Extension,
                                       "stack",
                                       describe,
                                       agent::WorkerRow{wire::DeviceKind::Extension, open, sandbox},
                                       self_test,
                                       kOptions};
  return row;
}

}  // namespace fettle::extension

// The stack machine's back end (stack_backend.h).
#include "tests/extension/stack_backend.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "host/backend/module_program.h"
#include "host/ir/printer.h"
#include "host/ir/simplify.h"
#include "host/lower/facts.h"
#include "host/lower/flatten_storage.h"
#include "host/lower/lower.h"
#include "host/lower/unroll.h"
#include "host/space/compulsory.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"
#include "tests/extension/stack_code.h"
#include "tests/extension/stack_device.h"
#include "tests/extension/stack_space.h"

namespace fettle::extension {
namespace {

// The machine has one loop in one thread: whoever left another has made a mistake.
Result<ir::Function> refuse_parallel(ir::Function function) {
  if (function.extent == 1 && !function.thread) return function;
  return Error{ErrorCode::InvalidArgument, function.name + " wants threads"};
}

constexpr lower::Pass kPasses[] = {
    {"flatten_storage", lower::on_body<lower::flatten_storage>},
    {"unroll", lower::on_body<[](const ir::Stmt& body) { return lower::unroll(body); }>},
    {"simplify", lower::on_body<[](const ir::Stmt& body) { return ir::simplify(body); }>},
    {"refuse_parallel", refuse_parallel},
};

const char* const kFeatureNames[] = {"log_instructions", "slots", "log_operations"};

struct Compiled {
  ir::Module module;
  StackImage code;
};

class StackTask final : public backend::Task {
 public:
  StackTask(space::TaskSpace task, StackTarget target)
      : task_(std::move(task)),
        target_(target),
        compulsory_bytes_(space::compulsory_bytes(task_.dag())) {}

  const space::SearchSpace& space() const override { return task_.space(); }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    auto compiled = compile(configuration);
    if (!compiled) return std::move(compiled).error();
    if (std::int64_t(compiled->code.slots) > target_.slots) {
      return Error{ErrorCode::BuildError, "it needs " + std::to_string(compiled->code.slots) +
                                              " slots of the stack, there are " +
                                              std::to_string(target_.slots)};
    }
    wire::BuildOutputT output;
    output.facts = std::make_unique<wire::ProgramFactsT>(facts_of(*compiled, configuration));
    output.program = std::make_unique<wire::ProgramT>(backend::module_program(compiled->module));
    output.program->target = StackTarget::kBackend;
    output.program->images.push_back(
        std::make_unique<wire::ImageT>(std::move(compiled->code.image)));
    output.program_hash = std::make_unique<wire::Hash>(content_hash(encode(*output.program)));
    return output;
  }

  Result<wire::ProgramFactsT> facts(const space::Configuration& configuration) const override {
    auto compiled = compile(configuration);
    if (!compiled) return std::move(compiled).error();
    return facts_of(*compiled, configuration);
  }

  Result<std::vector<float>> features(const space::Configuration& configuration) const override {
    auto compiled = compile(configuration);
    if (!compiled) return std::move(compiled).error();
    return features_of(*compiled);
  }

  const char* screen(std::span<const float> features) const override {
    return features[1] > float(target_.slots) ? "it needs more of the stack than there is"
                                              : nullptr;
  }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    std::string dumped;
    auto compiled = compile(configuration, [&](const std::string& pass, const ir::Module& made) {
      if (pass == dump_after) dumped = "--- IR after " + pass + "\n" + ir::print(made);
    });
    if (!compiled) return std::move(compiled).error();
    if (!dump_after.empty()) {
      if (!dumped.empty()) return dumped;
      return Error{ErrorCode::InvalidArgument, "no pass \"" + dump_after + "\""};
    }
    return "--- IR\n" + ir::print(compiled->module) + "--- code\n" + compiled->code.listing +
           "--- facts\nslots of the stack: " + std::to_string(compiled->code.slots) + "\n";
  }

 private:
  Result<Compiled> compile(const space::Configuration& configuration,
                           const lower::DumpHook& dump = nullptr) const {
    auto module = lower::lower_configuration(task_, configuration, {kPasses}, dump);
    if (!module) return std::move(module).error();
    auto code = compile_for_stack(*module);
    if (!code) return std::move(code).error();
    return Compiled{std::move(*module), std::move(*code)};
  }

  static std::vector<float> features_of(const Compiled& compiled) {
    return {std::log2(1 + float(compiled.code.instructions)), float(compiled.code.slots),
            std::log2(1 + float(lower::program_facts(compiled.module).operations))};
  }

  wire::ProgramFactsT facts_of(const Compiled& compiled,
                               const space::Configuration& configuration) const {
    return backend::module_facts(compiled.module, compulsory_bytes_,
                                 task_.error_growth(configuration), features_of(compiled));
  }

  space::TaskSpace task_;
  StackTarget target_;
  double compulsory_bytes_;
};

// A long chain of multiplications and additions of one value, between a load and a store: no
// candidate does more of them for each instruction.
ir::Module chain(double& operations) {
  constexpr int kLinks = 256;
  constexpr std::int64_t kRounds = 256;
  const auto make = [](const char* name) {
    auto buffer = std::make_shared<ir::BufferDecl>();
    buffer->name = name;
    buffer->type = ir::kFloat32;
    buffer->shape = {kRounds};
    return buffer;
  };
  const ir::Buffer in = make("in"), out = make("out");
  const ir::Var round = ir::make_var("round");
  ir::Expr value = ir::load(in, {ir::var_ref(round)});
  for (int i = 0; i < kLinks; ++i) {
    value = (i % 2 ? value + ir::float_imm(1) : value * ir::float_imm(0.5));
  }
  operations = double(kLinks) * double(kRounds);
  ir::Function function;
  function.name = "chain";
  function.params = {in, out};
  function.written = {false, true};
  function.parallel = ir::make_var("p");
  function.body = ir::make_for(round, ir::int_imm(0), ir::int_imm(kRounds), ir::ForKind::Serial,
                               ir::make_store(out, {ir::var_ref(round)}, value));
  ir::Module module;
  module.buffers = {{in, ir::Role::Input, {ir::Fill::Kind::UniformReal, 0.25, 1, 1}},
                    {out, ir::Role::Output, {}}};
  module.functions = {function};
  module.launches = {{0, {0, 1}, false}};
  return module;
}

class StackBackend final : public backend::Backend {
 public:
  const char* name() const override { return StackTarget::kBackend; }
  wire::DeviceKind kind() const override { return wire::DeviceKind::Extension; }

  Result<space::Target> target_for(
      const wire::DeviceInfoT& device,
      std::span<const backend::HardwareValue> hardware) const override {
    StackTarget target{kUsualSlots, std::int64_t(device.memory_limit_bytes)};
    for (const auto& fact : device.extra) {
      if (fact->name == kSlotsName) target.slots = std::strtol(fact->value.c_str(), nullptr, 10);
    }
    const std::int64_t there = target.slots;
    target.slots = backend::value_of(hardware, kSlotsName).value_or(there);
    if (target.slots > there) {
      return Error{ErrorCode::InvalidArgument,
                   device.key + " has " + std::to_string(there) + " slots"};
    }
    return target.target();
  }

  std::span<const backend::HardwareKey> hardware_keys() const override {
    static constexpr backend::HardwareKey keys[] = {{kSlotsName, kFewestSlots, 1 << 16}};
    return keys;
  }

  Result<std::unique_ptr<const backend::Task>> open(space::ComputeDag dag,
                                                    const space::Target& target) const override {
    auto own = StackTarget::parse(target);
    if (!own) return std::move(own).error();
    return std::unique_ptr<const backend::Task>(
        new StackTask(open_stack_space(std::move(dag)), *own));
  }

  std::vector<std::string> feature_names() const override {
    return {std::begin(kFeatureNames), std::end(kFeatureNames)};
  }
  bool teaches(const space::Target& recorded, const space::Target& target) const override {
    return StackTarget::parse(recorded).ok() && StackTarget::parse(target).ok();
  }
  std::vector<backend::LocalDevice> local_devices() const override {
    return {{"local-stack", {"--device-kind", "stack"}}};
  }

  Result<std::vector<backend::CalibrationProgram>> calibration(
      const space::Target&) const override {
    backend::CalibrationProgram one;
    one.name = "chain";
    const ir::Module module = chain(one.operations);
    auto code = compile_for_stack(module);
    if (!code) return std::move(code).error();
    one.program = backend::module_program(module);
    one.program.target = StackTarget::kBackend;
    one.program.images.push_back(std::make_unique<wire::ImageT>(std::move(code->image)));
    std::vector<backend::CalibrationProgram> programs;
    programs.push_back(std::move(one));
    return programs;
  }
};

}  // namespace

const backend::Backend& stack_backend() {
  static const StackBackend backend;
  return backend;
}

}  // namespace fettle::extension

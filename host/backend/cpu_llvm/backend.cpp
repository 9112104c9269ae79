// The CPU back end behind the Backend interface: lower, compile, link, and explain.
#include "host/backend/cpu_llvm/backend.h"

#include <algorithm>
#include <cstdio>

#include "host/backend/cpu_llvm/calibration.h"
#include "host/backend/cpu_llvm/compiler_pool.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/hardware.h"
#include "host/backend/cpu_llvm/kernel_compiler.h"
#include "host/backend/cpu_llvm/program.h"
#include "host/backend/cpu_llvm/throughput.h"
#include "host/backend/module_program.h"
#include "host/ir/printer.h"
#include "host/lower/cpu/features.h"
#include "host/lower/cpu/lowering.h"
#include "host/lower/cpu/screen.h"
#include "host/lower/facts.h"
#include "host/lower/itervar_features.h"
#include "host/space/compulsory.h"
#include "host/space/sketches/sketches.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::backend::cpu_llvm {
namespace {

std::string counts_line(const char* what, const CodeCounts& counts) {
  return std::string(what) + ": " + std::to_string(counts.instructions) + " instructions, " +
         std::to_string(counts.fused) + " fused multiply-adds, " +
         (counts.dot_products > 0 ? std::to_string(counts.dot_products) + " dot products, " : "") +
         std::to_string(counts.multiplies) + " other multiplies, " + std::to_string(counts.loads) +
         " loads, " + std::to_string(counts.stores) + " stores, " +
         std::to_string(counts.stack_accesses) + " of them on the stack\n";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

// What LLVM's analyser says of a loop; a reason where it says nothing.
std::string throughput_line(std::span<const Instruction> loop, const wire::ImageT& image,
                            const space::CpuTarget& target) {
  const std::uint64_t begin = loop.front().offset;
  const std::uint64_t bytes = loop.back().offset + loop.back().bytes - begin;
  Result<Throughput> found =
      static_throughput(std::span(image.bytes).subspan(begin, bytes), target);
  if (!found) return "  static estimate: none, " + found.error().message + "\n";
  const CodeCounts counts = count(loop, target.arch);
  const bool dots = counts.dot_products > 0;
  std::string text = "  static estimate (" + found->model +
                     ", all in the first cache): " + number(found->cycles) +
                     " cycles an iteration, " +
                     number((dots ? counts.dot_products : counts.fused) / found->cycles) +
                     (dots ? " dot products a cycle, " : " fused multiply-adds a cycle, ") +
                     number(found->micro_operations / found->cycles) + " micro-operations a cycle";
  if (!found->busiest.empty()) {
    text += "; busiest: " + found->busiest + ", " +
            number(100 * found->busiest_cycles / found->cycles) + " % of the cycles";
  }
  return text + "\n";
}

// Every innermost loop that computes, with its counts and estimate; then the one with
// the largest share of multiply-adds in full.
std::string loops_text(std::span<const Instruction> code, const wire::ImageT& image,
                       const space::CpuTarget& target) {
  std::string text;
  for (const std::span<const Instruction> loop : innermost_loops(code, target.arch)) {
    const CodeCounts counts = count(loop, target.arch);
    if (counts.fused + counts.dot_products + counts.multiplies == 0) continue;
    char place[32];
    std::snprintf(place, sizeof place, "loop at %llx",
                  static_cast<unsigned long long>(loop.front().offset));
    text += counts_line(place, counts) + throughput_line(loop, image, target);
  }
  const std::span<const Instruction> densest = densest_loop(code, target);
  if (densest.empty()) text += "no innermost loop multiplies: see the assembly\n";
  return text + "--- densest loop\n" + to_text(densest);
}

class CpuTask : public Task {
 public:
  explicit CpuTask(space::CpuSpace task)
      : task_(std::move(task)),
        compulsory_bytes_(space::compulsory_bytes(task_.dag())),
        compilers_(task_.target()) {}

  const space::SearchSpace& space() const override { return task_.space(); }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    std::vector<float> features;
    Result<ir::Module> module = lowered(configuration, features);
    if (!module) return std::move(module).error();
    Result<wire::ProgramT> program = compilers_.with(
        [&](Compiler& compiler) { return make_program(*module, target(), compiler); });
    if (!program) return std::move(program).error();
    wire::BuildOutputT output;
    output.program = std::make_unique<wire::ProgramT>(std::move(*program));
    output.program_hash = std::make_unique<wire::Hash>(content_hash(encode(*output.program)));
    output.facts = std::make_unique<wire::ProgramFactsT>(
        facts_of(*module, configuration, std::move(features)));
    return output;
  }

  Result<wire::ProgramFactsT> facts(const space::Configuration& configuration) const override {
    std::vector<float> features;
    Result<ir::Module> module = lowered(configuration, features);
    if (!module) return std::move(module).error();
    return facts_of(*module, configuration, std::move(features));
  }

  Result<std::vector<float>> features(const space::Configuration& configuration) const override {
    return lower::features_of(task_, configuration);
  }

  Result<std::vector<float>> itervar_features(
      const space::Configuration& configuration) const override {
    return lower::itervar_features_of(task_, configuration, target().threads);
  }

  const char* screen(std::span<const float> features) const override {
    return lower::screen(features, target());
  }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    if (auto known = check_pass_name(dump_after, lower::cpu_passes()); !known) {
      return std::move(known).error();
    }
    std::string text;
    Result<ir::Module> module = lower::lower_configuration(
        task_, configuration, [&](const std::string& pass, const ir::Module& made) {
          if (pass == dump_after) text = "--- IR after " + pass + "\n" + ir::print(made);
        });
    if (!module) return std::move(module).error();
    if (!dump_after.empty()) return text;
    std::vector<const ir::Function*> functions;
    for (const ir::Function& function : module->functions) functions.push_back(&function);
    Result<Object> object = compilers_.with(
        [&](Compiler& compiler) { return compiler.compile(functions, /*keep_llvm_ir=*/true); });
    if (!object) return std::move(object).error();
    Result<wire::ImageT> image = compilers_.with(
        [&](Compiler& compiler) { return make_image(*module, target(), compiler); });
    if (!image) return std::move(image).error();
    Result<std::vector<Instruction>> code = disassemble(*image, target());
    if (!code) return std::move(code).error();
    const lower::ProgramFacts facts = lower::program_facts(*module);
    text = "--- IR\n" + ir::print(*module) + "--- LLVM IR\n" + object->llvm_ir + "--- assembly\n" +
           to_text(*code) + "--- loops\n" + loops_text(*code, *image, target());
    text += "--- facts\n" + counts_line("image", count(*code, target().arch)) +
            "code: " + std::to_string(image->cpu->text_bytes) + " bytes\n" +
            "operations: " + std::to_string(facts.operations) +
            ", of integers: " + std::to_string(facts.integer_operations) +
            ", compulsory bytes: " + std::to_string(compulsory_bytes_) +
            ", scratch bytes: " + std::to_string(facts.scratch_bytes) + "\n";
    return text;
  }

 private:
  const space::CpuTarget& target() const { return task_.target(); }

  // To the last pass; `features` becomes what they are on the way.
  Result<ir::Module> lowered(const space::Configuration& configuration,
                             std::vector<float>& features) const {
    return lower::lower_configuration(task_, configuration,
                                      [&](const std::string& pass, const ir::Module& made) {
                                        if (pass == lower::kFeaturesAfter)
                                          features = lower::program_features(made, target());
                                      });
  }

  wire::ProgramFactsT facts_of(const ir::Module& module, const space::Configuration& configuration,
                               std::vector<float> features) const {
    return module_facts(module, compulsory_bytes_, task_.error_growth(configuration),
                        std::move(features));
  }

  space::CpuSpace task_;
  double compulsory_bytes_;
  CompilerPool compilers_;
};

class CpuBackend : public Backend {
 public:
  const char* name() const override { return space::CpuTarget::kBackend; }
  wire::DeviceKind kind() const override { return wire::DeviceKind::Cpu; }

  Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                   std::span<const HardwareValue> hardware) const override {
    auto target = cpu_target_for(device, hardware);
    if (!target) return std::move(target).error();
    return target->target();
  }
  std::span<const HardwareKey> hardware_keys() const override { return cpu_hardware_keys(); }

  Result<std::unique_ptr<const Task>> open(space::ComputeDag dag,
                                           const space::Target& target) const override {
    auto cpu = space::CpuTarget::parse(target);
    if (!cpu) return std::move(cpu).error();
    auto task = space::open_cpu_space(std::move(dag), *cpu);
    if (!task) return std::move(task).error();
    return std::unique_ptr<const Task>(new CpuTask(std::move(*task)));
  }

  Result<std::unique_ptr<const Task>> open_kernel(space::OwnKernel kernel,
                                                  const space::Target& target) const override {
    auto cpu = space::CpuTarget::parse(target);
    if (!cpu) return std::move(cpu).error();
    auto compiler = make_kernel_compiler(kernel.language, *cpu);
    if (!compiler) return Backend::open_kernel(std::move(kernel), target);
    return open_kernel_task(std::move(kernel), target, std::move(compiler));
  }

  std::vector<std::string> feature_names() const override { return lower::feature_names(); }

  // The same core with as many threads; caches and memory may differ.
  bool teaches(const space::Target& recorded, const space::Target& target) const override {
    const auto there = space::CpuTarget::parse(recorded), here = space::CpuTarget::parse(target);
    return there && here && there->arch == here->arch && there->cpu == here->cpu &&
           there->features == here->features && there->threads == here->threads;
  }
  std::vector<LocalDevice> local_devices() const override { return {{"local", {}, true}}; }
  Result<std::vector<CalibrationProgram>> calibration(const space::Target& target) const override {
    auto cpu = space::CpuTarget::parse(target);
    if (!cpu) return std::move(cpu).error();
    return cpu_calibration(*cpu);
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace fettle::backend::cpu_llvm

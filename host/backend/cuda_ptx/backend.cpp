// NVIDIA's GPUs: lowering, PTX, ptxas, and what `fettle explain` shows (backend.h).
#include "host/backend/cuda_ptx/backend.h"

#include <algorithm>

#include "host/backend/cuda_ptx/calibration.h"
#include "host/backend/cuda_ptx/codegen.h"
#include "host/backend/cuda_ptx/program.h"
#include "host/ir/printer.h"
#include "host/lower/facts.h"
#include "host/lower/gpu/features.h"
#include "host/lower/gpu/launch_shape.h"
#include "host/lower/gpu/lowering.h"
#include "host/lower/gpu/screen.h"
#include "host/space/compulsory.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::backend::cuda_ptx {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr HardwareKey kKeys[] = {
    {"threads_per_block", 32, 1024},
    {"shared_bytes", 1024, 48 << 10},
    {"registers_per_block", 1024, 1 << 20},
    {"registers_per_thread", 16, 255},
    {"compute_units", 1, 4096},
    {"memory_bytes", 1 << 20, 1024 * kGiB},
};

Result<space::GpuTarget> corrected(const wire::DeviceInfoT& device,
                                   std::span<const HardwareValue> hardware) {
  auto target = space::cuda_target_for(device, kName);
  if (!target) return target;
  const auto correct = [&](const char* key, auto& field) {
    if (const auto value = value_of(hardware, key)) {
      field = static_cast<std::remove_reference_t<decltype(field)>>(*value);
    }
  };
  correct("threads_per_block", target->threads_per_block);
  correct("shared_bytes", target->shared_bytes);
  correct("registers_per_block", target->registers_per_block);
  correct("registers_per_thread", target->registers_per_thread);
  correct("compute_units", target->compute_units);
  correct("memory_bytes", target->memory_bytes);
  return target;
}

std::string launches_text(const ir::Module& module) {
  std::string text;
  for (const ir::Launch& launch : module.launches) {
    const ir::Function& function = module.functions[static_cast<std::size_t>(launch.function)];
    const lower::LaunchShape shape = lower::launch_shape(function);
    const auto dims = [](const std::array<std::int64_t, 3>& d) {
      return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
    };
    text += function.name + ": " + dims(shape.grid) + " blocks of " + dims(shape.block) +
            " threads, " + std::to_string(shape.shared_bytes) + " bytes shared" +
            (launch.prepare ? ", once when loaded\n" : "\n");
  }
  return text;
}

std::string ptxas_text(const std::string& ptx, const space::GpuTarget& target) {
  const Result<Assembled> assembled = assemble(ptx, target);
  if (!assembled) return assembled.error().message + "\n";
  std::string text;
  for (const KernelFacts& kernel : assembled->kernels) {
    text += kernel.name + ": " + std::to_string(kernel.registers) + " registers, " +
            std::to_string(kernel.spill_store_bytes) + " bytes spilled, " +
            std::to_string(kernel.spill_load_bytes) + " read back, " +
            std::to_string(kernel.stack_bytes) + " bytes of stack, " +
            std::to_string(kernel.shared_bytes) + " bytes shared\n";
  }
  return text;
}

class CudaTask : public Task {
 public:
  explicit CudaTask(space::GpuSpace task)
      : task_(std::move(task)), compulsory_bytes_(space::compulsory_bytes(task_.dag())) {}

  const space::SearchSpace& space() const override { return task_.space(); }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    std::vector<float> features;
    Result<ir::Module> module = lowered(configuration, features);
    if (!module) return std::move(module).error();
    Result<wire::ProgramT> program = make_program(*module, task_.target());
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
    return lower::gpu_features_of(task_, configuration);
  }

  const char* screen(std::span<const float> features) const override {
    return lower::gpu_screen(features, task_.target());
  }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    const std::vector<std::string> passes = lower::pass_names(lower::gpu_passes());
    if (!dump_after.empty() &&
        std::find(passes.begin(), passes.end(), dump_after) == passes.end()) {
      std::string names;
      for (const std::string& pass : passes) names += (names.empty() ? "" : ", ") + pass;
      return Error{ErrorCode::InvalidArgument,
                   "no pass \"" + dump_after + "\"; there are: " + names};
    }
    std::string text;
    Result<ir::Module> module = lower::lower_gpu_configuration(
        task_, configuration, [&](const std::string& pass, const ir::Module& made) {
          if (pass == dump_after) text = "--- IR after " + pass + "\n" + ir::print(made);
        });
    if (!module) return std::move(module).error();
    if (!dump_after.empty()) return text;
    Result<std::string> ptx = make_ptx(*module, task_.target());
    if (!ptx) return std::move(ptx).error();
    const lower::ProgramFacts facts = lower::program_facts(*module);
    return "--- IR\n" + ir::print(*module) + "--- PTX\n" + *ptx + "--- launches\n" +
           launches_text(*module) + "--- ptxas\n" + ptxas_text(*ptx, task_.target()) +
           "--- facts\noperations: " + std::to_string(facts.operations) +
           ", of integers: " + std::to_string(facts.integer_operations) +
           ", compulsory bytes: " + std::to_string(compulsory_bytes_) +
           ", scratch bytes: " + std::to_string(facts.scratch_bytes) + "\n";
  }

 private:
  Result<ir::Module> lowered(const space::Configuration& configuration,
                             std::vector<float>& features) const {
    return lower::lower_gpu_configuration(task_, configuration,
                                          [&](const std::string& pass, const ir::Module& made) {
                                            if (pass == lower::kGpuFeaturesAfter) {
                                              features = lower::gpu_features(made, task_.target());
                                            }
                                          });
  }

  wire::ProgramFactsT facts_of(const ir::Module& module, const space::Configuration& configuration,
                               std::vector<float> features) const {
    const lower::ProgramFacts counted = lower::program_facts(module);
    wire::ProgramFactsT facts;
    facts.operations = counted.operations;
    facts.integer_operations = counted.integer_operations;
    facts.compulsory_bytes = compulsory_bytes_;
    facts.scratch_bytes = counted.scratch_bytes;
    facts.error_growth = task_.error_growth(configuration);
    facts.features = std::move(features);
    return facts;
  }

  space::GpuSpace task_;
  double compulsory_bytes_;
};

class CudaBackend : public Backend {
 public:
  const char* name() const override { return kName; }
  wire::DeviceKind kind() const override { return wire::DeviceKind::Cuda; }

  Result<space::Target> target_for(const wire::DeviceInfoT& device,
                                   std::span<const HardwareValue> hardware) const override {
    auto target = corrected(device, hardware);
    if (!target) return std::move(target).error();
    return target->target();
  }
  std::span<const HardwareKey> hardware_keys() const override { return kKeys; }

  Result<std::unique_ptr<const Task>> open(space::ComputeDag dag,
                                           const space::Target& target) const override {
    auto gpu = space::GpuTarget::parse(target, kName);
    if (!gpu) return std::move(gpu).error();
    auto task = space::open_gpu_space(std::move(dag), *gpu);
    if (!task) return std::move(task).error();
    return std::unique_ptr<const Task>(new CudaTask(std::move(*task)));
  }

  std::vector<std::string> feature_names() const override { return lower::gpu_feature_names(); }

  // The same chip; memory and driver may differ.
  bool teaches(const space::Target& recorded, const space::Target& target) const override {
    const auto there = space::GpuTarget::parse(recorded, kName),
               here = space::GpuTarget::parse(target, kName);
    return there && here && there->sm == here->sm && there->compute_units == here->compute_units;
  }
  std::vector<LocalDevice> local_devices() const override {
    return {{"local-cuda", {"--device-kind", "cuda"}, false}};
  }
  Result<std::vector<CalibrationProgram>> calibration(const space::Target& target) const override {
    auto gpu = space::GpuTarget::parse(target, kName);
    if (!gpu) return std::move(gpu).error();
    return cuda_calibration(*gpu);
  }
};

}  // namespace

const Backend& cuda_backend() {
  static const CudaBackend backend;
  return backend;
}

}  // namespace fettle::backend::cuda_ptx

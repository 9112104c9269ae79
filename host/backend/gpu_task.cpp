// Tasks of GPUs: lowering, building, and what `fettle explain` shows (gpu_task.h).
#include "host/backend/gpu_task.h"

#include <algorithm>

#include "host/backend/gpu_program.h"
#include "host/backend/module_program.h"
#include "host/ir/printer.h"
#include "host/lower/facts.h"
#include "host/lower/gpu/features.h"
#include "host/lower/gpu/lowering.h"
#include "host/lower/gpu/screen.h"
#include "host/lower/itervar_features.h"
#include "host/space/compulsory.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::backend {
namespace {

class GpuTask final : public Task {
 public:
  GpuTask(space::GpuSpace task, const GpuLanguage& language)
      : task_(std::move(task)),
        language_(language),
        compulsory_bytes_(space::compulsory_bytes(task_.dag())) {}

  const space::SearchSpace& space() const override { return task_.space(); }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    std::vector<float> features;
    Result<ir::Module> module = lowered(configuration, features);
    if (!module) return std::move(module).error();
    Result<wire::ProgramT> program = language_.make_program(*module, task_.target());
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

  Result<std::vector<float>> itervar_features(
      const space::Configuration& configuration) const override {
    return lower::itervar_features_of(task_, configuration, 1);
  }

  const char* screen(std::span<const float> features) const override {
    return lower::gpu_screen(features, task_.target());
  }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    if (auto known = check_pass_name(dump_after, lower::gpu_passes()); !known) {
      return std::move(known).error();
    }
    std::string text;
    Result<ir::Module> module = lower::lower_gpu_configuration(
        task_, configuration, [&](const std::string& pass, const ir::Module& made) {
          if (pass == dump_after) text = "--- IR after " + pass + "\n" + ir::print(made);
        });
    if (!dump_after.empty() && !text.empty()) return text;  // a later pass may have failed
    if (!module) return std::move(module).error();
    Result<std::string> code = language_.explain(*module, task_.target());
    if (!code) return std::move(code).error();
    const lower::ProgramFacts facts = lower::program_facts(*module);
    return "--- IR\n" + ir::print(*module) + *code + "--- launches\n" + launches_text(*module) +
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
    return module_facts(module, compulsory_bytes_, task_.error_growth(configuration),
                        std::move(features));
  }

  space::GpuSpace task_;
  const GpuLanguage& language_;
  double compulsory_bytes_;
};

}  // namespace

std::unique_ptr<const Task> make_gpu_task(space::GpuSpace task, const GpuLanguage& language) {
  return std::make_unique<const GpuTask>(std::move(task), language);
}

}  // namespace fettle::backend

// The CPU back end behind the Backend interface: lower, compile, link, and explain.
#include "host/backend/cpu_llvm/backend.h"

#include <algorithm>

#include "host/backend/cpu_llvm/codegen.h"
#include "host/backend/cpu_llvm/disassemble.h"
#include "host/backend/cpu_llvm/program.h"
#include "host/ir/printer.h"
#include "host/lower/facts.h"
#include "host/lower/lower.h"
#include "host/space/sketches/sketches.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::backend::cpu_llvm {
namespace {

std::string counts_line(const char* what, const CodeCounts& counts) {
  return std::string(what) + ": " + std::to_string(counts.instructions) + " instructions, " +
         std::to_string(counts.fused) + " fused multiply-adds, " +
         std::to_string(counts.multiplies) + " other multiplies, " + std::to_string(counts.loads) +
         " loads, " + std::to_string(counts.stores) + " stores, " +
         std::to_string(counts.stack_accesses) + " of them on the stack\n";
}

class CpuBackend : public Backend {
 public:
  const char* name() const override { return "cpu_llvm"; }

  Result<space::SearchSpace> space(const space::Workload& workload,
                                   const space::Target& target) const override {
    return space::make_space(workload, target);
  }

  Result<wire::BuildOutputT> build(const space::Workload& workload, const space::Target& target,
                                   const space::Configuration& configuration) const override {
    Result<ir::Module> module = lower::lower_workload(workload, target, configuration);
    if (!module) return std::move(module).error();
    Result<wire::ProgramT> program = make_program(*module, target);
    if (!program) return std::move(program).error();
    wire::BuildOutputT output;
    output.program = std::make_unique<wire::ProgramT>(std::move(*program));
    output.program_hash = std::make_unique<wire::Hash>(content_hash(encode(*output.program)));
    const lower::ProgramFacts facts = lower::program_facts(*module);
    output.facts = std::make_unique<wire::ProgramFactsT>();
    output.facts->operations = facts.operations;
    output.facts->compulsory_bytes = facts.compulsory_bytes;
    output.facts->scratch_bytes = facts.scratch_bytes;
    output.facts->features = facts.features;
    return output;
  }

  Result<std::string> explain(const space::Workload& workload, const space::Target& target,
                              const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    const std::vector<std::string> passes = lower::pass_names();
    if (!dump_after.empty() &&
        std::find(passes.begin(), passes.end(), dump_after) == passes.end()) {
      std::string names;
      for (const std::string& pass : passes) names += (names.empty() ? "" : ", ") + pass;
      return Error{ErrorCode::InvalidArgument,
                   "no pass \"" + dump_after + "\"; there are: " + names};
    }
    std::string text;
    Result<ir::Module> module = lower::lower_workload(
        workload, target, configuration, [&](const std::string& pass, const ir::Module& made) {
          if (pass == dump_after) text = "--- IR after " + pass + "\n" + ir::print(made);
        });
    if (!module) return std::move(module).error();
    if (!dump_after.empty()) return text;
    Result<Object> object = compile_object(*module, target, true);
    if (!object) return std::move(object).error();
    Result<wire::ImageT> image = make_image(*module, target);
    if (!image) return std::move(image).error();
    Result<std::vector<Instruction>> code = disassemble(*image, target);
    if (!code) return std::move(code).error();
    const lower::ProgramFacts facts = lower::program_facts(*module);
    const std::span<const Instruction> loop = hottest_loop(*code, target.arch);
    text = "--- IR\n" + ir::print(*module) + "--- LLVM IR\n" + object->llvm_ir + "--- assembly\n" +
           to_text(*code);
    text += "--- facts\n" + counts_line("image", count(*code, target.arch)) +
            counts_line("hottest loop", count(loop, target.arch)) +
            "code: " + std::to_string(image->cpu->text_bytes) + " bytes\n" +
            "operations: " + std::to_string(facts.operations) +
            ", compulsory bytes: " + std::to_string(facts.compulsory_bytes) +
            ", scratch bytes: " + std::to_string(facts.scratch_bytes) + "\n";
    return text;
  }
};

}  // namespace

const Backend& cpu_backend() {
  static const CpuBackend backend;
  return backend;
}

}  // namespace fettle::backend::cpu_llvm

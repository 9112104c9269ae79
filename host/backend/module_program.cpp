// Buffers and launches of a module (module_program.h).
#include "host/backend/module_program.h"

#include <algorithm>

#include "host/lower/facts.h"

#include "host/space/wire_types.h"

namespace fettle::backend {
namespace {

std::unique_ptr<wire::LaunchT> wire_launch(const ir::Module& module, const ir::Launch& from) {
  auto launch = std::make_unique<wire::LaunchT>();
  launch->entry = static_cast<std::uint32_t>(from.function);
  for (int buffer : from.buffers) {
    launch->args.emplace_back(wire::ArgKind::Buffer, static_cast<std::uint32_t>(buffer), 0, 0, 0.0);
  }
  launch->phase = from.prepare ? wire::Phase::Prepare : wire::Phase::Run;
  launch->parallel_extent =
      static_cast<std::uint32_t>(module.functions[static_cast<std::size_t>(from.function)].extent);
  return launch;
}

}  // namespace

wire::ProgramT module_program(const ir::Module& module) {
  wire::ProgramT program;
  for (const ir::ProgramBuffer& buffer : module.buffers) {
    program.buffers.push_back(space::wire_buffer(buffer));
  }
  for (const ir::Launch& launch : module.launches) {
    program.launches.push_back(wire_launch(module, launch));
  }
  return program;
}

wire::ProgramFactsT module_facts(const ir::Module& module, double compulsory_bytes,
                                 double error_growth, std::vector<float> features) {
  const lower::ProgramFacts counted = lower::program_facts(module);
  wire::ProgramFactsT facts;
  facts.operations = counted.operations;
  facts.integer_operations = counted.integer_operations;
  facts.compulsory_bytes = compulsory_bytes;
  facts.scratch_bytes = counted.scratch_bytes;
  facts.error_growth = error_growth;
  facts.features = std::move(features);
  return facts;
}

Result<void> check_pass_name(const std::string& pass, std::span<const lower::Pass> passes) {
  const std::vector<std::string> known = lower::pass_names(passes);
  if (pass.empty() || std::find(known.begin(), known.end(), pass) != known.end()) return {};
  std::string names;
  for (const std::string& name : known) names += (names.empty() ? "" : ", ") + name;
  return Error{ErrorCode::InvalidArgument, "no pass \"" + pass + "\"; there are: " + names};
}

}  // namespace fettle::backend

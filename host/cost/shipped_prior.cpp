// The priors that are shipped (prior.h): the assembler copies them in.
#include <array>

#include "host/cost/prior.h"
#include "host/space/cpu_target.h"
#include "host/space/workload.h"

#define FETTLE_EMBED(name, path)                                             \
  asm(".pushsection .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name \
      "_end:\n.byte 0\n.popsection\n");                                      \
  extern "C" const char name##_begin[], name##_end[];

FETTLE_EMBED(fettle_prior_x86_64, FETTLE_PRIOR_X86_64)

namespace fettle::cost {
namespace {

struct Row {
  const char* arch;
  ir::Scalar scalar;
  std::string_view text;
};

}  // namespace

std::shared_ptr<const Prior> shipped_prior(const space::Workload& workload,
                                           const space::Target& target,
                                           const std::vector<std::string>& feature_names) {
  const std::array rows = {
      Row{"x86_64", ir::Scalar::Float32, {fettle_prior_x86_64_begin, fettle_prior_x86_64_end}},
  };
  const auto cpu = space::CpuTarget::parse(target);
  if (!cpu) return nullptr;
  for (const Row& row : rows) {
    if (cpu->arch != row.arch || workload.scalar() != row.scalar) continue;
    auto prior = Prior::parse(row.text, feature_names);
    if (prior) return std::make_shared<const Prior>(std::move(*prior));
  }
  return nullptr;
}

}  // namespace fettle::cost

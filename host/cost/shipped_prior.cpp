// The priors that are shipped (prior.h): the assembler copies them in.
#include <array>

#include "host/cost/prior.h"
#include "host/space/cpu_target.h"
#include "host/space/workload.h"

#define FETTLE_EMBED(name, path)                                             \
  asm(".pushsection .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name \
      "_end:\n.byte 0\n.popsection\n");                                      \
  extern "C" const char name##_begin[], name##_end[];

FETTLE_EMBED(fettle_prior_x86_64_avx512, FETTLE_PRIORS "/x86_64_avx512.prior")
FETTLE_EMBED(fettle_prior_x86_64_avx2, FETTLE_PRIORS "/x86_64_avx2.prior")

namespace fettle::cost {
namespace {

// By the width of vectors: one CPU of each row was measured (priors/README.md).
struct Row {
  const char* arch;
  int vector_bits;  // or more
  ir::Scalar scalar;
  std::string_view text;
};

}  // namespace

std::shared_ptr<const Prior> shipped_prior(const space::Workload& workload,
                                           const space::Target& target,
                                           const std::vector<std::string>& feature_names) {
  // The widest first.
  const std::array rows = {
      Row{"x86_64",
          512,
          ir::Scalar::Float32,
          {fettle_prior_x86_64_avx512_begin, fettle_prior_x86_64_avx512_end}},
      Row{"x86_64",
          0,
          ir::Scalar::Float32,
          {fettle_prior_x86_64_avx2_begin, fettle_prior_x86_64_avx2_end}},
  };
  const auto cpu = space::CpuTarget::parse(target);
  if (!cpu) return nullptr;
  for (const Row& row : rows) {
    const bool meant = cpu->arch == row.arch && cpu->vector_bits >= row.vector_bits &&
                       workload.scalar() == row.scalar;
    if (!meant) continue;
    auto prior = Prior::parse(row.text, feature_names);
    if (prior) return std::make_shared<const Prior>(std::move(*prior));
  }
  return nullptr;
}

}  // namespace fettle::cost

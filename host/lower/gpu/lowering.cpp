// The list of a GPU's passes (lowering.h).
#include "host/lower/gpu/lowering.h"

#include "host/lower/drop_unit_loops.h"
#include "host/lower/flatten_storage.h"
#include "host/lower/fuse_multiply_add.h"
#include "host/lower/gpu/features.h"
#include "host/lower/gpu/join_bytes.h"
#include "host/lower/gpu/launch_shape.h"
#include "host/lower/gpu/pipeline.h"
#include "host/lower/simplify_quotients.h"
#include "host/lower/unroll.h"
#include "host/lower/vectorize.h"

namespace fettle::lower {
namespace {

constexpr std::int64_t kMostStatements = 1 << 14;  // unrolled

constexpr Pass kPasses[] = {
    {"pipeline", pipeline},
    {"drop_unit_loops", on_body<drop_unit_loops>},
    {"fuse_multiply_add", on_body<fuse_multiply_add>},
    {"flatten_storage", on_body<flatten_storage>},
    {"simplify_quotients", on_body<simplify_quotients>},
    {"vectorize", on_body<vectorize>},
    {"join_bytes", on_body<join_bytes>},
    {"unroll", on_body<[](const ir::Stmt& body) { return unroll(body, kMostStatements); }>},
    {"simplify_unrolled_quotients", on_body<simplify_quotients>},
};

}  // namespace

std::span<const Pass> gpu_passes() { return kPasses; }

Result<ir::Module> lower_gpu_configuration(const space::GpuSpace& task,
                                           const space::Configuration& configuration,
                                           const DumpHook& dump) {
  auto module = lower_configuration(task, configuration, {kPasses, 1}, dump);
  if (!module) return module;
  for (const ir::Function& function : module->functions) {
    if (const char* what = exceeds(launch_shape(function), task.target())) {
      return Error{ErrorCode::BuildError, function.name + ": " + what};
    }
  }
  return module;
}

Result<ir::Module> lower_gpu_loops(const space::GpuSpace& task,
                                   const space::Configuration& configuration) {
  return lower_configuration(task, configuration, {kPasses, 1}, nullptr, kGpuFeaturesAfter);
}

}  // namespace fettle::lower

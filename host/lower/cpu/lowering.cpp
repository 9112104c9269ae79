// The list of a CPU's passes (lowering.h).
#include "host/lower/cpu/lowering.h"

#include "host/lower/cpu/features.h"
#include "host/lower/drop_implied.h"
#include "host/lower/drop_unit_loops.h"
#include "host/lower/drop_zero_products.h"
#include "host/lower/extract_parallel.h"
#include "host/lower/flatten_storage.h"
#include "host/lower/fuse_multiply_add.h"
#include "host/lower/pin_border.h"
#include "host/lower/read_or_zero.h"
#include "host/lower/split_border.h"
#include "host/lower/split_predicates.h"
#include "host/lower/unroll.h"
#include "host/lower/vectorize.h"

namespace fettle::lower {
namespace {

constexpr Pass kPasses[] = {
    {"drop_unit_loops", on_body<drop_unit_loops>},
    {"split_border", on_body<split_border>},
    {"drop_implied", on_body<drop_implied>},
    {"pin_border", on_body<pin_border>},
    {"fuse_multiply_add", on_body<fuse_multiply_add>},
    {"flatten_storage", on_body<flatten_storage>},
    {"vectorize", on_body<vectorize>},
    {"split_predicates", on_body<split_predicates>},
    {"read_or_zero", on_body<read_or_zero>},
    {"unroll", on_body<[](const ir::Stmt& body) { return unroll(body); }>},
    {"drop_zero_products", on_body<drop_zero_products>},
    {"extract_parallel", extract_parallel},
};

Lowering lowering_for(const space::CpuTarget& target) { return {kPasses, target.threads}; }

}  // namespace

std::span<const Pass> cpu_passes() { return kPasses; }

Result<ir::Module> lower_schedule(const space::Schedule& schedule, const space::CpuTarget& target,
                                  const DumpHook& dump) {
  return lower_schedule(schedule, lowering_for(target), dump);
}

Result<ir::Module> lower_configuration(const space::CpuSpace& task,
                                       const space::Configuration& configuration,
                                       const DumpHook& dump) {
  return lower_configuration(task, configuration, lowering_for(task.target()), dump);
}

Result<ir::Module> lower_loops(const space::CpuSpace& task,
                               const space::Configuration& configuration) {
  return lower_configuration(task, configuration, lowering_for(task.target()), nullptr,
                             kFeaturesAfter);
}

}  // namespace fettle::lower

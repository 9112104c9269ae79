// Itervar features (itervar_features.h).
#include "host/lower/itervar_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <ranges>
#include <span>

#include "host/lower/flatten_storage.h"
#include "host/lower/loop_nest.h"
#include "host/lower/lower.h"

namespace fettle::lower {
namespace {

constexpr float kMissing = std::numeric_limits<float>::quiet_NaN();
constexpr std::size_t kKinds = 6, kKindColumn = 4, kOperationsColumn = kKindColumn + kKinds;
constexpr std::size_t kBuffersColumn = kOperationsColumn + 1;
static_assert(kBuffersColumn + kItervarBuffers * kBufferColumns == kLoopColumns);

constexpr Pass kPasses[] = {{"flatten_storage", on_body<flatten_storage>}};

float logarithm(double value) { return static_cast<float>(std::log2(1 + std::max(0.0, value))); }

std::size_t kind_of(const LoopTrip& loop) {
  switch (loop.kind) {
    case ir::ForKind::Serial:
      return 0;
    case ir::ForKind::Unrolled:
      return 1;
    case ir::ForKind::Vectorized:
      return 2;
    case ir::ForKind::Parallel:
      return 3;
    case ir::ForKind::Bound:
      return ir::within_block(loop.axis) ? 5 : 4;
  }
  return 0;
}

double product(std::span<const LoopTrip> loops) {
  double all = 1;
  for (const LoopTrip& loop : loops) all *= loop.extent;
  return all;
}

// Elements; lines of caches are nothing to these features.
double touched(const Access& access, std::span<const LoopTrip> loops) {
  return footprint(access, loops, 64).bytes / access.buffer->type.bytes();
}

class Rows {
 public:
  explicit Rows(const std::vector<std::string>& stages) {
    for (std::size_t i = 0; i < std::min(stages.size(), kItervarBuffers); ++i) {
      slots_.emplace(stages[i], i);
    }
  }

  void add(const LoopNest& nest) {
    for (std::size_t level = 0; level < nest.loops.size(); ++level) {
      if (Row* row = row_of(nest.loops[level], level)) add(nest, level, *row);
    }
  }

  std::vector<float> features(std::uint32_t sketch) const {
    std::vector<float> all{static_cast<float>(sketch)};
    for (const Row& row : rows_) {
      const std::size_t begin = all.size();
      all.resize(begin + kLoopColumns, kMissing);
      float* columns = &all[begin];
      columns[0] = logarithm(row.loop.extent);
      columns[1] = static_cast<float>(row.level);
      columns[2] = logarithm(row.outward);
      columns[3] = logarithm(row.inward);
      for (std::size_t k = 0; k < kKinds; ++k) {
        columns[kKindColumn + k] = k == kind_of(row.loop) ? 1 : 0;
      }
      columns[kOperationsColumn] = logarithm(row.operations);
      for (std::size_t b = 0; b < kItervarBuffers; ++b) {
        if (row.buffers[b].count == 0) continue;
        const auto values = row.buffers[b].values();
        std::copy(values.begin(), values.end(), columns + kBuffersColumn + b * kBufferColumns);
      }
    }
    all.resize(1 + kItervarLoops * kLoopColumns, kMissing);
    return all;
  }

 private:
  struct Touch {
    double stride = 0, span = 0, count = 0, reuse = 0, outer_count = 0, outer_reuse = 0;
    std::array<float, kBufferColumns> values() const {
      return {logarithm(stride), logarithm(span),        logarithm(count),
              logarithm(reuse),  logarithm(outer_count), logarithm(outer_reuse)};
    }
  };
  struct Row {
    LoopTrip loop;
    std::size_t level = 0;
    double outward = 1, inward = 1;  // products of lengths, the loop's own in both
    double operations = 0;
    std::array<Touch, kItervarBuffers> buffers;  // count 0: not touched
  };

  // Null: there is no place left.
  Row* row_of(const LoopTrip& loop, std::size_t level) {
    const auto [place, fresh] = places_.try_emplace(loop.var, rows_.size());
    if (!fresh) return place->second < rows_.size() ? &rows_[place->second] : nullptr;
    if (rows_.size() == kItervarLoops) return nullptr;
    Row row;
    row.loop = loop, row.level = level;
    rows_.push_back(row);
    return &rows_.back();
  }

  void add(const LoopNest& nest, std::size_t level, Row& row) {
    const std::span<const LoopTrip> all(nest.loops);
    const auto inside = all.subspan(level), around = all.first(level + 1);
    row.outward = product(around);
    row.inward = std::max(row.inward, product(inside));
    row.operations += nest.operations * product(inside);
    for (const Access& access : nest.accesses) {
      const auto slot = slots_.find(access.buffer->name.substr(0, access.buffer->name.find('.')));
      if (slot == slots_.end()) continue;
      Touch touch;
      touch.count = touched(access, inside);
      Touch& known = row.buffers[slot->second];
      if (touch.count <= known.count) continue;
      touch.stride = std::fabs(access.movement.coefficient(row.loop.var));
      touch.span = touch.stride * (row.loop.extent - 1);
      touch.reuse = product(inside) / touch.count;
      touch.outer_count = touched(access, around);
      touch.outer_reuse = product(around) / touch.outer_count;
      known = touch;
    }
  }

  std::map<std::string, std::size_t, std::less<>> slots_;
  std::map<ir::Var, std::size_t> places_;  // in rows_; past its end: left out
  std::vector<Row> rows_;
};

}  // namespace

std::vector<float> itervar_features(const ir::Module& loops, const std::vector<std::string>& stages,
                                    std::uint32_t sketch) {
  Rows rows(stages);
  for (const ir::Launch& launch : std::views::reverse(loops.launches)) {
    if (launch.prepare) continue;
    const LoopNests found = loop_nests(loops.functions[static_cast<std::size_t>(launch.function)]);
    for (const LoopNest& nest : found.nests) rows.add(nest);
  }
  return rows.features(sketch);
}

Result<std::vector<float>> itervar_features_of(const space::TaskSpace& task,
                                               const space::Configuration& configuration,
                                               int threads) {
  auto loops = lower_configuration(task, configuration, {kPasses, threads});
  if (!loops) return std::move(loops).error();
  std::vector<std::string> stages;
  for (const space::Stage& stage : task.dag().stages) stages.push_back(stage.name);
  return itervar_features(*loops, stages, configuration.sketch);
}

}  // namespace fettle::lower

// Choosing schedules (schedules.h).
#include "host/network/schedules.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "host/cost/prior.h"
#include "host/cost/time_model.h"
#include "host/network/adapted.h"
#include "host/records/queries.h"
#include "host/records/recorded_workload.h"

namespace fettle::network {
namespace {

constexpr std::size_t kDrawn = 96;   // random configurations that are looked at
constexpr std::size_t kNearest = 6;  // records of similar tasks
constexpr int kRecords = 200;        // of each task

// Shapes of what two workloads read and write, compared by their logarithms.
double distance(const space::Workload& a, const space::Workload& b) {
  const auto extents = [](const space::Workload& workload) {
    std::vector<double> out;
    for (const space::Stage& stage : workload.dag().stages) {
      for (const auto* axes : {&stage.axes, &stage.reduce_axes}) {
        for (const space::Axis& axis : *axes) {
          out.push_back(std::log2(static_cast<double>(axis.extent)));
        }
      }
    }
    return out;
  };
  const std::vector<double> x = extents(a), y = extents(b);
  double sum = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) sum += std::fabs(x[i] - y[i]);
  return sum + 4.0 * std::fabs(static_cast<double>(x.size()) - static_cast<double>(y.size()));
}

// Sorts configurations by what the cost model expects of them; those that make no program, or
// none worth building, are left out.
class Ranking {
 public:
  Ranking(const space::Workload& workload, const backend::Task& task, const space::Target& target)
      : task_(task) {
    const backend::Backend* backend = backend::find_backend(target.backend());
    if (!backend || !task.lowers()) return;
    const std::vector<std::string> names = backend->feature_names();
    estimate_ = cost::estimate_among(names);
    prior_ = cost::shipped_prior(workload, target, names);
  }

  std::vector<space::Configuration> sorted(std::vector<space::Configuration> from) const {
    std::vector<std::pair<float, space::Configuration>> rated;
    for (space::Configuration& one : from) {
      if (!estimate_) {
        rated.emplace_back(0.0f, std::move(one));
        continue;
      }
      auto features = task_.features(one);
      if (!features || task_.screen(*features)) continue;
      if (prior_) prior_->correct(*features);
      rated.emplace_back((*features)[*estimate_], std::move(one));
    }
    std::stable_sort(rated.begin(), rated.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<space::Configuration> out;
    for (auto& [expected, one] : rated) out.push_back(std::move(one));
    return out;
  }

 private:
  const backend::Task& task_;
  std::optional<std::size_t> estimate_;
  std::shared_ptr<const cost::Prior> prior_;
};

}  // namespace

Result<Schedules> Schedules::of(const records::Database& database, space::Target target,
                                const std::string& device_key) {
  Schedules out(std::move(target));
  records::Filter filter;
  filter.target = out.target_.canonical();
  filter.device_key = device_key;
  // Times as a network has them, with weights that are out of the caches, go before others.
  for (const bool cold : {true, false}) {
    filter.cold_weights = cold;
    auto best = records::best(database, filter, kRecords);
    if (!best) return std::move(best).error();
    out.learn(*best);
  }
  return out;
}

void Schedules::learn(const std::vector<records::TuningRecord>& best) {
  std::map<std::string, Known> learnt;
  for (const records::TuningRecord& record : best) {
    if (known_.contains(record.workload)) continue;
    const Record one{record.configuration, record.rated_nanoseconds().value_or(0)};
    if (const auto known = learnt.find(record.workload); known != learnt.end()) {
      known->second.records.push_back(one);
      continue;
    }
    auto workload = records::recorded_workload(record);
    if (!workload) continue;  // of a later version
    learnt.emplace(record.workload, Known{std::move(*workload), {one}});
  }
  known_.merge(learnt);
}

// The fastest of each sketch, then the fastest of all.
std::vector<Schedule> Schedules::tuned(const Known& known, const backend::Task& task,
                                       std::size_t most) const {
  std::vector<Schedule> firsts, others;
  std::set<std::uint32_t> sketches;
  for (const Record& record : known.records) {
    auto configuration = task.space().parse(record.configuration);
    if (!configuration) continue;
    auto& list = sketches.insert(configuration->sketch).second ? firsts : others;
    list.push_back({std::move(*configuration), wire::ScheduleOrigin::Tuned, record.nanoseconds});
  }
  firsts.insert(firsts.end(), others.begin(), others.end());
  if (firsts.size() > most) firsts.resize(most);
  return firsts;
}

std::vector<Schedule> Schedules::of(const space::Workload& workload, const backend::Task& task,
                                    std::size_t most) const {
  using wire::ScheduleOrigin;
  const space::SearchSpace& space = task.space();
  std::vector<Schedule> out;
  if (const auto own = known_.find(workload.canonical()); own != known_.end()) {
    out = tuned(own->second, task, most);
    if (!out.empty()) return out;
  }
  std::vector<std::pair<double, const Known*>> similar;
  for (const auto& [key, known] : known_) {
    if (known.workload.kind() != workload.kind() || known.workload.scalar() != workload.scalar()) {
      continue;
    }
    similar.emplace_back(distance(known.workload, workload), &known);
  }
  std::stable_sort(similar.begin(), similar.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  if (similar.size() > kNearest) similar.resize(kNearest);
  std::vector<space::Configuration> carried, drawn;
  for (const auto& [far, known] : similar) {
    auto configuration = adapted(space, known->records.front().configuration);
    if (configuration) carried.push_back(std::move(*configuration));
  }
  const Ranking ranking(workload, task, target_);
  for (space::Configuration& one : ranking.sorted(std::move(carried))) {
    out.push_back({std::move(one), ScheduleOrigin::Similar, 0});
  }
  std::mt19937_64 rng(std::stoull(workload.hash(), nullptr, 16));
  for (std::size_t i = 0; i < kDrawn && out.size() < most; ++i) drawn.push_back(space.random(rng));
  for (space::Configuration& one : ranking.sorted(std::move(drawn))) {
    out.push_back({std::move(one), ScheduleOrigin::Untuned, 0});
  }
  if (out.empty()) out.push_back({space.random(rng), ScheduleOrigin::Untuned, 0});
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace fettle::network

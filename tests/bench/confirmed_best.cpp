// The fastest programs of each layer, measured again (confirmed_best.h).
#include "tests/bench/confirmed_best.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "host/records/queries.h"
#include "tests/bench/list_searcher.h"
#include "tests/bench/trial_times.h"

namespace fettle::bench {
namespace {

constexpr const char* kSession = "bests and witnesses of efficiency";

struct Chosen {
  std::string configuration;
  double nanoseconds;  // when it was searched for
};
struct Programs {
  std::vector<Chosen> fastest, witnesses;
};

// One configuration of each program. What an earlier version made and this one's space has no more
// cannot be measured again.
Programs programs_of(const ConfirmedLayer& layer) {
  std::multimap<double, const records::TuningRecord*> by_time;
  for (const records::TuningRecord& trial : layer.trials) {
    if (const double time = trial.nanoseconds().value_or(0); time > 0 && !trial.reused)
      by_time.emplace(time, &trial);
  }
  std::vector<Chosen> all;
  std::set<std::string> seen;
  for (const auto& [time, trial] : by_time) {
    if (!layer.opened->space().parse(trial->configuration)) continue;
    if (seen.insert(trial->program_hash).second) all.push_back({trial->configuration, time});
  }
  Programs programs;
  const auto fast = static_cast<std::ptrdiff_t>(std::min(all.size(), kConfirmedPrograms));
  programs.fastest.assign(all.begin(), all.begin() + fast);
  all.erase(all.begin(), all.begin() + fast);
  // From the middle half, evenly.
  const std::size_t witnesses = std::min(kWitnesses, all.size() / 2);
  for (std::size_t i = 0; i < witnesses; ++i) {
    programs.witnesses.push_back(all[all.size() / 4 + i * (all.size() / 2) / witnesses]);
  }
  return programs;
}

// Times in nanoseconds of earlier sessions of this kind, by configuration.
Result<std::map<std::string, std::vector<double>>> measured(const records::Database& database,
                                                            const ConfirmedLayer& layer) {
  auto sessions = database.sessions();
  if (!sessions) return std::move(sessions).error();
  std::set<std::string> ours;
  for (const records::Session& session : *sessions) {
    if (session.name == kSession) ours.insert(session.session);
  }
  std::map<std::string, std::vector<double>> times;
  if (layer.trials.empty()) return times;
  records::Filter filter;
  filter.workload = layer.trials.front().workload;
  filter.target = layer.trials.front().target;
  filter.device_key = layer.trials.front().device_key;
  filter.measured_only = true;
  auto records = records::history(database, filter);
  if (!records) return std::move(records).error();
  for (const records::TuningRecord& record : *records) {
    const double time = record.nanoseconds().value_or(0);
    if (time > 0 && ours.contains(record.session)) times[record.configuration].push_back(time);
  }
  return times;
}

// False: nothing was missing.
Result<bool> measure_round(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers) {
  std::vector<tune::TuneTask> tasks;
  tune::TuneOptions how;
  how.racing = false;  // a stopped trial has no median
  how.trials = 0;
  for (const ConfirmedLayer& layer : layers) {
    auto times = measured(loop.database(), layer);
    if (!times) return std::move(times).error();
    std::vector<space::Configuration> missing;
    Programs programs = programs_of(layer);
    std::vector<Chosen> all = std::move(programs.fastest);
    all.insert(all.end(), programs.witnesses.begin(), programs.witnesses.end());
    for (const Chosen& program : all) {
      auto parsed = layer.opened->space().parse(program.configuration);
      if (!parsed) return std::move(parsed).error();
      if ((*times)[program.configuration].size() < kConfirmingRounds)
        missing.push_back(std::move(*parsed));
    }
    if (missing.empty()) continue;
    how.trials += static_cast<std::uint32_t>(missing.size());
    tasks.push_back({*layer.task,
                     &layer.opened->space(),
                     std::make_unique<ListSearcher>(std::move(missing)),
                     {}});
  }
  if (tasks.empty()) return false;
  const auto summary = loop.run(tasks, how, kSession);
  if (!summary) return summary.error();
  return true;
}

}  // namespace

Result<void> confirm_bests(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers) {
  for (unsigned round = 0; round < kConfirmingRounds && !loop.stopped(); ++round) {
    const auto more = measure_round(loop, layers);
    if (!more) return more.error();
    if (!*more) return {};
    std::fprintf(stderr, "the fastest programs of each layer once more: %u of %u\n", round + 1,
                 kConfirmingRounds);
  }
  return {};
}

Result<std::optional<ConfirmedBest>> confirmed_best(LocalLoop& loop, const ConfirmedLayer& layer) {
  auto times = measured(loop.database(), layer);
  if (!times) return std::move(times).error();
  const Programs programs = programs_of(layer);
  const auto again = [&](const Chosen& program) -> std::optional<double> {
    const std::vector<double>& of = (*times)[program.configuration];
    if (of.size() < kConfirmingRounds) return std::nullopt;
    return median_of(of);
  };
  std::optional<double> least;
  for (const Chosen& program : programs.fastest) {
    const auto time = again(program);
    if (!time) return std::optional<ConfirmedBest>();
    if (!least || *time < *least) least = time;
  }
  if (!least) return std::optional<ConfirmedBest>();
  std::vector<double> drifts;
  for (const Chosen& program : programs.witnesses) {
    const auto time = again(program);
    if (!time) return std::optional<ConfirmedBest>();
    drifts.push_back(program.nanoseconds / *time);
  }
  const double drift = drifts.empty() ? 1 : median_of(drifts);
  return std::optional(ConfirmedBest{*least * drift, drift});
}

}  // namespace fettle::bench

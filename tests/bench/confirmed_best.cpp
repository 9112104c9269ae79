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

// By time, one configuration of each program. What an earlier version made and this one's space has
// no more cannot be measured again.
std::vector<Chosen> programs_of(const Records& trials, const backend::Task& opened) {
  std::multimap<double, const records::TuningRecord*> by_time;
  for (const records::TuningRecord& trial : trials) {
    if (const double time = trial.nanoseconds().value_or(0); time > 0 && !trial.reused)
      by_time.emplace(time, &trial);
  }
  std::vector<Chosen> programs;
  std::set<std::string> seen;
  for (const auto& [time, trial] : by_time) {
    if (!opened.space().parse(trial->configuration)) continue;
    if (seen.insert(trial->program_hash).second) programs.push_back({trial->configuration, time});
  }
  return programs;
}

std::vector<Chosen> fastest_of(const ConfirmedLayer& layer) {
  std::vector<Chosen> programs = programs_of(layer.trials, *layer.opened);
  if (programs.size() > kConfirmedPrograms) programs.resize(kConfirmedPrograms);
  return programs;
}

// From the middle half of a search's programs, evenly.
std::vector<Chosen> witnesses_of(const Records& search, const backend::Task& opened) {
  const std::vector<Chosen> programs = programs_of(search, opened);
  const std::size_t half = programs.size() / 2, count = std::min(kWitnesses, half);
  std::vector<Chosen> witnesses;
  for (std::size_t i = 0; i < count; ++i)
    witnesses.push_back(programs[programs.size() / 4 + i * half / count]);
  return witnesses;
}

// Configurations, with how often each is to be measured.
std::map<std::string, unsigned> wanted_of(const ConfirmedLayer& layer) {
  std::map<std::string, unsigned> wanted;
  for (const Records& search : layer.searches) {
    for (const Chosen& witness : witnesses_of(search, *layer.opened))
      wanted[witness.configuration] = kWitnessRounds;
  }
  for (const Chosen& program : fastest_of(layer)) wanted[program.configuration] = kConfirmingRounds;
  return wanted;
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
    for (const auto& [configuration, count] : wanted_of(layer)) {
      if ((*times)[configuration].size() >= count) continue;
      auto parsed = layer.opened->space().parse(configuration);
      if (!parsed) return std::move(parsed).error();
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

Result<Confirmation> confirmation_of(LocalLoop& loop, const ConfirmedLayer& layer) {
  auto times = measured(loop.database(), layer);
  if (!times) return std::move(times).error();
  Confirmation confirmation;
  confirmation.drifts.assign(layer.searches.size(), 1);
  const auto again = [&](const Chosen& program, unsigned count) -> std::optional<double> {
    const std::vector<double>& of = (*times)[program.configuration];
    if (of.size() < count) return std::nullopt;
    return median_of(of);
  };
  std::optional<double> least;
  for (const Chosen& program : fastest_of(layer)) {
    const auto time = again(program, kConfirmingRounds);
    if (!time) return confirmation;
    if (!least || *time < *least) least = time;
  }
  for (std::size_t i = 0; i < layer.searches.size(); ++i) {
    std::vector<double> drifts;
    for (const Chosen& witness : witnesses_of(layer.searches[i], *layer.opened)) {
      const auto time = again(witness, kWitnessRounds);
      if (!time) return confirmation;
      drifts.push_back(witness.nanoseconds / *time);
    }
    if (!drifts.empty()) confirmation.drifts[i] = median_of(drifts);
  }
  confirmation.best = least;
  return confirmation;
}

}  // namespace fettle::bench

// Programs that searches go by, measured again (confirmed_best.h).
#include "tests/bench/confirmed_best.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include "host/records/queries.h"
#include "schemas/wire/content_hash.h"
#include "tests/bench/list_searcher.h"
#include "tests/bench/trial_times.h"

namespace fettle::bench {
namespace {

constexpr const char* kSession = "programs of efficiency ";

// What is to be measured of a layer. What an earlier version made and this one's space has no more
// cannot be measured again.
class Wanted {
 public:
  struct Program {
    std::string configuration;  // one of those that make it
    unsigned rounds = 0;
    bool best = false;  // one of the fastest of all
  };

  explicit Wanted(const ConfirmedLayer& layer) : layer_(layer) {
    std::multimap<double, const records::TuningRecord*> by_time;
    for (const records::TuningRecord& trial : layer.trials) {
      if (const double time = trial.nanoseconds().value_or(0); time > 0)
        by_time.emplace(time, &trial);
    }
    if (!by_time.empty()) near_ = kNear * by_time.begin()->first;
    for (const Records& search : layer.searches) {
      double least = near_;
      for (const records::TuningRecord& trial : search) {
        const double time = trial.nanoseconds().value_or(0);
        if (time <= 0 || time > least) continue;
        least = time;
        want(trial, kClaimRounds);
      }
    }
    std::set<std::string> fastest;
    for (const auto& [time, trial] : by_time) {
      if (fastest.size() == kConfirmedPrograms) break;
      Program* program = want(*trial, kConfirmingRounds);
      if (!program) continue;
      program->best = true;
      fastest.insert(trial->program_hash);
    }
  }

  // By program_hash.
  const std::map<std::string, Program>& programs() const { return programs_; }
  double near() const { return near_; }

 private:
  Program* want(const records::TuningRecord& trial, unsigned rounds) {
    const auto known = programs_.find(trial.program_hash);
    if (known == programs_.end() && !layer_.opened->space().parse(trial.configuration)) {
      return nullptr;
    }
    Program& program = programs_[trial.program_hash];
    if (program.configuration.empty()) program.configuration = trial.configuration;
    program.rounds = std::max(program.rounds, rounds);
    return &program;
  }

  const ConfirmedLayer& layer_;
  std::map<std::string, Program> programs_;
  double near_ = 0;
};

// Times in nanoseconds of these sessions, by configuration.
Result<std::map<std::string, std::vector<double>>> measured(const records::Database& database,
                                                            const ConfirmedLayer& layer,
                                                            const std::string& name) {
  auto sessions = database.sessions();
  if (!sessions) return std::move(sessions).error();
  std::set<std::string> ours;
  for (const records::Session& session : *sessions) {
    if (session.name == name) ours.insert(session.session);
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

// How many were measured; 0: nothing was missing.
Result<std::size_t> measure_round(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers,
                                  const std::string& session) {
  std::vector<tune::TuneTask> tasks;
  tune::TuneOptions how;
  how.racing = false;  // a stopped trial has no median
  how.trials = 0;
  for (const ConfirmedLayer& layer : layers) {
    auto times = measured(loop.database(), layer, session);
    if (!times) return std::move(times).error();
    std::vector<space::Configuration> missing;
    const Wanted wanted(layer);
    for (const auto& [hash, program] : wanted.programs()) {
      if ((*times)[program.configuration].size() >= program.rounds) continue;
      auto parsed = layer.opened->space().parse(program.configuration);
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
  if (tasks.empty()) return 0;
  const auto summary = loop.run(tasks, how, session);
  if (!summary) return summary.error();
  return how.trials;
}

}  // namespace

std::string confirming_session(const std::vector<ConfirmedLayer>& layers) {
  std::string all;
  for (const ConfirmedLayer& layer : layers) {
    const Wanted wanted(layer);
    for (const auto& [hash, program] : wanted.programs()) all += program.configuration;
  }
  return kSession +
         to_hex(content_hash({reinterpret_cast<const std::uint8_t*>(all.data()), all.size()}))
             .substr(0, 16);
}

Result<void> confirm_bests(LocalLoop& loop, const std::vector<ConfirmedLayer>& layers) {
  const std::string session = confirming_session(layers);
  for (unsigned round = 0; round < kConfirmingRounds && !loop.stopped(); ++round) {
    const auto count = measure_round(loop, layers, session);
    if (!count) return count.error();
    if (*count == 0) return {};
    std::fprintf(stderr, "%zu programs that searches went by once more: %u of %u\n", *count,
                 round + 1, kConfirmingRounds);
  }
  return {};
}

Result<Confirmation> confirmation_of(LocalLoop& loop, const ConfirmedLayer& layer,
                                     const std::string& session) {
  auto times = measured(loop.database(), layer, session);
  if (!times) return std::move(times).error();
  const Wanted wanted(layer);
  Confirmation confirmation{{}, {}, wanted.near()};
  std::optional<double> least;
  bool all = true;
  for (const auto& [hash, program] : wanted.programs()) {
    const std::vector<double>& of = (*times)[program.configuration];
    all &= of.size() >= program.rounds;
    if (of.empty()) continue;
    const double time = median_of(of);
    confirmation.times[hash] = time;
    if (program.best && (!least || time < *least)) least = time;
  }
  if (all) confirmation.best = least;
  return confirmation;
}

std::vector<std::optional<double>> confirmed_times(const Records& search,
                                                   const Confirmation& confirmation) {
  std::vector<std::optional<double>> times;
  for (const records::TuningRecord& trial : search) {
    std::optional<double> time = trial.nanoseconds();
    const auto found = confirmation.times.find(trial.program_hash);
    if (confirmation.best && found != confirmation.times.end()) {
      time = found->second;
    } else if (confirmation.best && time && *time <= confirmation.near) {
      time.reset();
    }
    times.push_back(time);
  }
  return times;
}

}  // namespace fettle::bench

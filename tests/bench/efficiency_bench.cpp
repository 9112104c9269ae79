// Search efficiency on the device (efficiency_bench.h).
#include "tests/bench/efficiency_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/cost/time_model.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "host/tune/background.h"
#include "tests/bench/confirmed_best.h"
#include "tests/bench/efficiency_report.h"
#include "tests/bench/local_loop.h"
#include "tests/bench/time_left.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kNoPrior = "evolutionary-no-prior";
constexpr const char* kSessions = "efficiency ";  // how the names of all these sessions begin
// What racing stopped in one session may be the best yet of another one, unless it was so many
// times slower than the best of all: then its outcome is as good there.
constexpr double kClearlySlower = 1.25;

struct Layer {
  space::Task task;
  std::unique_ptr<const backend::Task> opened;
};

Result<std::vector<Layer>> layers_of(const EfficiencyBenchOptions& options,
                                     const space::Target& target) {
  auto list = tasks_of(options.network);
  if (!list) return std::move(list).error();
  std::vector<Layer> layers;
  for (const space::Task& task : list->tasks) {
    const auto* call = task.workload.call();
    if (!call || call->op().find("conv") == std::string::npos) continue;
    if (layers.size() == options.layers) break;
    auto opened = backend::open_task(task.workload.dag(), target);
    if (!opened) return std::move(opened).error().in("the space of " + task.workload.title());
    layers.push_back({task, std::move(*opened)});
  }
  if (layers.empty()) {
    return Error{ErrorCode::NotFound, options.network + " has no convolution", {}};
  }
  return layers;
}

// The first one is today's; sessions of earlier versions have the others.
std::vector<std::string> session_names(const std::string& searcher, std::uint64_t seed) {
  const auto name = [&](const std::string& words) {
    return kSessions + words + " seed " + std::to_string(seed);
  };
  if (searcher == kNoPrior) return {name("evolutionary without prior")};
  if (searcher == tune::current_searcher_name("xgb")) return {name(searcher), name("xgb")};
  return {name(searcher)};
}

// All of this bench, of one layer on this device, in the order they ended.
Result<Records> trials_of(LocalLoop& loop, const Layer& layer) {
  auto sessions = loop.database().sessions();
  if (!sessions) return std::move(sessions).error();
  std::set<std::string> ours;
  for (const records::Session& session : *sessions) {
    if (session.name.starts_with(kSessions)) ours.insert(session.session);
  }
  records::Filter filter;
  filter.workload = layer.task.workload.canonical();
  filter.target = loop.target().canonical();
  filter.device_key = loop.device().key;
  auto all = records::history(loop.database(), filter);
  if (!all) return std::move(all).error();
  std::erase_if(*all, [&](const auto& record) { return !ours.contains(record.session); });
  std::sort(all->begin(), all->end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return all;
}

Result<Records> of_sessions(const records::Database& database, const Records& all,
                            const std::vector<std::string>& names) {
  auto sessions = database.sessions();
  if (!sessions) return std::move(sessions).error();
  std::set<std::string> named;
  for (const records::Session& session : *sessions) {
    if (std::find(names.begin(), names.end(), session.name) != names.end()) {
      named.insert(session.session);
    }
  }
  Records part;
  std::copy_if(all.begin(), all.end(), std::back_inserter(part),
               [&](const auto& record) { return named.contains(record.session); });
  return part;
}

double best_of(const Records& records) {
  double best = 0;
  for (const auto& record : records) {
    const double time = record.nanoseconds().value_or(0);
    if (time > 0 && (best <= 0 || time < best)) best = time;
  }
  return best;
}

// What need not be measured again, of what was measured.
Records reusable(Records all) {
  const double best = best_of(all);
  std::erase_if(all, [&](const records::TuningRecord& record) {
    const auto* measurement = record.measurement();
    return record.reused || (measurement && measurement->censored &&
                             measurement->interval_low / measurement->ticks_per_second * 1e9 <
                                 kClearlySlower * best);
  });
  return all;
}

class Bench {
 public:
  Bench(const EfficiencyBenchOptions& options, LocalLoop& loop, std::vector<Layer> layers,
        std::vector<EfficiencyArm> arms)
      : options_(options),
        loop_(loop),
        layers_(std::move(layers)),
        arms_(std::move(arms)),
        left_(arms_.size(), options.seeds * layers_.size()) {}

  // One seed of every layer and searcher, then the next: what is there is comparable at any time.
  Result<void> run() {
    for (std::uint64_t seed = first(); seed < first() + options_.seeds; ++seed) {
      for (std::size_t layer = 0; layer < layers_.size(); ++layer) {
        for (std::size_t arm = 0; arm < arms_.size() && !loop_.stopped(); ++arm) {
          auto done = search(layer, arm, seed);
          if (!done) return std::move(done).error().in(arms_[arm].name + " on the device");
        }
      }
    }
    auto confirmed = confirmed_layers();
    if (!confirmed) return std::move(confirmed).error();
    if (ended_.size() == all_runs()) {
      if (auto done = confirm_bests(loop_, *confirmed); !done) return std::move(done).error();
    }
    return report(*confirmed);
  }

 private:
  std::uint64_t first() const { return options_.first_seed; }
  std::size_t all_runs() const { return options_.seeds * layers_.size() * arms_.size(); }

  // Goes on with one run until its trials are there, or time is over.
  Result<void> search(std::size_t place, std::size_t arm, std::uint64_t seed) {
    const Layer& layer = layers_[place];
    const space::Workload& workload = layer.task.workload;
    const std::string& name = arms_[arm].name;
    const std::vector<std::string> names = session_names(name, seed);
    auto all = trials_of(loop_, layer);
    if (!all) return std::move(all).error();
    auto history = of_sessions(loop_.database(), *all, names);
    if (!history) return std::move(history).error();
    const auto had = static_cast<unsigned>(history->size());
    ++begun_;
    if (had >= arms_[arm].trials) {
      left_.was_there(arm);
      ended_.insert({place, arm, seed});
      return {};
    }
    const auto start = Clock::now();
    tune::Background background;
    auto searcher = searcher_of(layer, place, arms_[arm], seed, background);
    if (!searcher) return std::move(searcher).error();
    std::vector<tune::TuneTask> tasks;
    tasks.push_back({layer.task, &layer.opened->space(), std::move(*searcher), std::move(*history),
                     reusable(std::move(*all))});
    tune::TuneOptions loop_options;
    loop_options.trials = arms_[arm].trials;
    const Json how = {{"searcher", name}, {"trials", arms_[arm].trials}, {"seed", seed}};
    const auto summary = loop_.run(tasks, loop_options, names.front(), how.dump());
    if (!summary) return summary.error();
    if (summary->end == tune::SessionEnd::Finished) ended_.insert({place, arm, seed});
    const double took = std::chrono::duration<double>(Clock::now() - start).count();
    tell_progress(arm, seed, workload.title(), summary->progress.trials, took);
    return {};
  }

  Result<std::unique_ptr<tune::Searcher>> searcher_of(const Layer& layer, std::size_t place,
                                                      const EfficiencyArm& arm, std::uint64_t seed,
                                                      tune::Background& background) const {
    const bool no_prior = arm.name == kNoPrior;
    const space::Workload& workload = layer.task.workload;
    const std::vector<std::string> features =
        backend::find_backend(loop_.target().backend())->feature_names();
    const backend::Task& opened = *layer.opened;
    tune::SearcherOptions how;
    how.seed = seed * 1000003 + place;
    how.features = [&opened](const space::Configuration& c) { return opened.features(c); };
    how.itervar_features = [&opened](const space::Configuration& c) {
      return opened.itervar_features(c);
    };
    how.feature_count = features.size();
    how.estimate = cost::estimate_among(features);
    how.screen = [&opened](std::span<const float> values) { return opened.screen(values); };
    if (!no_prior) how.prior = cost::shipped_prior(workload, loop_.target(), features);
    how.task = workload.canonical();
    how.background = &background;
    how.trials = arm.trials;
    return tune::make_searcher(no_prior ? "evolutionary" : arm.name, opened.space(), how);
  }

  void tell_progress(std::size_t arm, std::uint64_t seed, const std::string& title, unsigned trials,
                     double took) {
    left_.ran(arm, took);
    std::fprintf(stderr, "[%zu/%zu] seed %llu  %-44s %-21s %u trials, %.0f s; about %.1f h left\n",
                 begun_, all_runs(), static_cast<unsigned long long>(seed), title.c_str(),
                 arms_[arm].name.c_str(), trials, took, left_.seconds() / 3600);
  }

  // Of each run that has ended.
  struct Search {
    std::size_t place, arm;
    std::uint64_t seed;
  };
  std::vector<Search> searches_of(std::size_t place) const {
    std::vector<Search> searches;
    for (std::uint64_t seed = first(); seed < first() + options_.seeds; ++seed) {
      for (std::size_t arm = 0; arm < arms_.size(); ++arm) {
        if (ended_.contains({place, arm, seed})) searches.push_back({place, arm, seed});
      }
    }
    return searches;
  }

  Result<std::vector<ConfirmedLayer>> confirmed_layers() {
    std::vector<ConfirmedLayer> layers;
    for (std::size_t place = 0; place < layers_.size(); ++place) {
      const Layer& layer = layers_[place];
      auto all = trials_of(loop_, layer);
      if (!all) return std::move(all).error();
      ConfirmedLayer confirmed{&layer.task, layer.opened.get(), std::move(*all), {}};
      for (const Search& search : searches_of(place)) {
        const EfficiencyArm& arm = arms_[search.arm];
        auto own =
            of_sessions(loop_.database(), confirmed.trials, session_names(arm.name, search.seed));
        if (!own) return std::move(own).error();
        if (own->size() > arm.trials) own->resize(arm.trials);
        confirmed.searches.push_back(std::move(*own));
      }
      layers.push_back(std::move(confirmed));
    }
    return layers;
  }

  Result<void> report(const std::vector<ConfirmedLayer>& searched) {
    std::vector<EfficiencyLayer> layers;
    std::vector<EfficiencyRun> runs;
    std::size_t confirmed = 0, programs = 0;
    const std::string session = confirming_session(searched);
    for (std::size_t place = 0; place < layers_.size(); ++place) {
      const ConfirmedLayer& layer = searched[place];
      const auto confirmation = confirmation_of(loop_, layer, session);
      if (!confirmation) return confirmation.error();
      confirmed += confirmation->best.has_value();
      programs += confirmation->times.size();
      layers.push_back({layers_[place].task.workload.title(),
                        confirmation->best.value_or(best_of(layer.trials))});
      const std::vector<Search> searches = searches_of(place);
      for (std::size_t i = 0; i < searches.size(); ++i) {
        EfficiencyRun run{place, searches[i].arm, searches[i].seed, {}, 0};
        for (const auto& trial : layer.searches[i]) run.reused += trial.reused;
        run.curve = best_so_far(confirmed_times(layer.searches[i], *confirmation));
        runs.push_back(std::move(run));
      }
    }
    Json summary = efficiency_summary(arms_, layers, runs);
    summary["complete"] = ended_.size() == all_runs();
    summary["runs"] = ended_.size();
    summary["runs_of_all"] = all_runs();
    summary["layers_confirmed"] = confirmed;
    summary["programs_confirmed"] = programs;
    if (!options_.json) {
      std::cout << efficiency_table(arms_, summary);
      std::cout << ended_.size() << " of " << all_runs() << " runs are there; of " << confirmed
                << " of " << layers_.size() << " layers the " << programs
                << " programs that searches went by were measured again" << std::endl;
      return {};
    }
    for (const EfficiencyRun& run : runs) {
      std::cout << efficiency_line(arms_, layers, run).dump() << "\n";
    }
    std::cout << summary.dump() << std::endl;
    return {};
  }

  const EfficiencyBenchOptions& options_;
  LocalLoop& loop_;
  std::vector<Layer> layers_;
  std::vector<EfficiencyArm> arms_;
  std::set<std::tuple<std::size_t, std::size_t, std::uint64_t>> ended_;  // layer, arm, seed
  std::size_t begun_ = 0;
  TimeLeft left_;
};

}  // namespace

std::vector<std::string> efficiency_searchers() {
  std::vector<std::string> names = tune::searcher_names();
  std::erase(names, "grid");
  names.insert(names.begin() + 1, kNoPrior);
  return names;
}

Result<void> run_efficiency_bench(const EfficiencyBenchOptions& options) {
  std::vector<EfficiencyArm> arms;
  for (const std::string& name :
       options.searchers.empty() ? efficiency_searchers() : options.searchers) {
    const auto own = options.trials_of.find(name);
    arms.push_back({name, own == options.trials_of.end() ? options.trials : own->second});
  }
  auto loop = LocalLoop::open(options.db, options.seconds);
  if (!loop) return std::move(loop).error();
  auto layers = layers_of(options, (*loop)->target());
  if (!layers) return std::move(layers).error();
  return Bench(options, **loop, std::move(*layers), std::move(arms)).run();
}

}  // namespace fettle::bench

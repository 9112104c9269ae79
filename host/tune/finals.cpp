// Finals (finals.h).
#include "host/tune/finals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "host/tune/measure_request.h"
#include "host/tune/one_trial.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/content_hash.h"
#include "schemas/wire/median.h"

namespace fettle::tune {
namespace {

constexpr std::uint32_t kTrialsOfFinalist = 32;  // one finalist for so many
constexpr std::size_t kLeast = 2;                // one alone has nothing to compare with

Error canceled() { return Error{ErrorCode::Canceled, "interrupted", {}}; }

// One task's.
struct Final {
  const space::Workload& workload;
  const std::string& title;
  const std::string board_id;
  std::vector<Finalist> finalists;
  std::vector<wire::BuildOutputT> outputs;  // [finalist]
  std::vector<std::vector<double>> rounds;  // [round][finalist], nanoseconds
  bool undeliverable = false;               // nothing reaches the board any more
};

// The fastest one's of this session: earlier ones' boards may be gone.
std::optional<std::string> board_of(const std::vector<Finalist>& finalists,
                                    const std::string& session) {
  for (const Finalist& one : finalists) {
    if (one.sessions.contains(session) && !one.board_id.empty()) return one.board_id;
  }
  return std::nullopt;
}

Result<void> build(Final& of, const std::string& target, TuneParts& parts) {
  std::map<std::uint64_t, std::size_t> under_way;
  for (std::size_t i = 0; i < of.finalists.size(); ++i) {
    wire::BuildRequestT request;
    request.id = number_of_its_own();
    request.workload = of.workload.canonical();
    request.target = target;
    request.configuration = of.finalists[i].configuration;
    under_way.emplace(request.id, i);
    parts.builder.submit(std::move(request));
  }
  of.outputs.resize(of.finalists.size());
  while (!under_way.empty()) {
    if (parts.stop.requested()) return canceled();
    auto built = parts.builder.poll(std::chrono::milliseconds(100));
    if (!built) return std::move(built).error();
    for (Built& one : *built) {
      const auto found = under_way.find(one.id);
      if (found == under_way.end()) continue;
      if (auto* output = one.result.body.AsBuildOutput(); output && output->program_hash) {
        of.outputs[found->second] = std::move(*output);
      }
      under_way.erase(found);
    }
  }
  return {};
}

// A resumed record may be of an earlier fettle, which made another program of its configuration.
bool as_recorded(const Final& of) {
  for (std::size_t i = 0; i < of.finalists.size(); ++i) {
    const auto& hash = of.outputs[i].program_hash;
    if (!hash || to_hex(*hash) != of.finalists[i].program_hash) return false;
  }
  return true;
}

// Trials that are resumed, or whose builds fail, may end before any answer is computed.
Result<void> await_expected(ExpectedOutputs& expected, std::size_t task, StopSignal& stop,
                            const std::function<void()>& tick) {
  while (!expected.ready(task)) {
    if (stop.requested()) return canceled();
    expected.wait(std::chrono::milliseconds(100));
    tick();
  }
  return {};
}

// Why not all of them were measured; empty: they were.
Result<std::string> measure(Final& of, const std::vector<wire::MeasureRequestT>& requests,
                            TuneParts& parts, Progress& progress,
                            const std::function<void()>& tick) {
  std::vector<Measured> others;  // of trials that nobody waits for
  for (unsigned round = 0; round < kFinalRounds; ++round) {
    std::vector<double> times(of.finalists.size());
    for (std::size_t turn = 0; turn < times.size(); ++turn) {
      // There and back: whoever is first in one round is last in the next.
      const std::size_t i = round % 2 == 0 ? turn : times.size() - 1 - turn;
      const auto outcome =
          run_undisturbed(parts.runner, of.board_id, parts.stop, requests[i], others);
      if (!outcome) return outcome.error();
      const wire::MeasurementT* measurement = outcome->body.AsMeasurement();
      const wire::FailureT* failure = outcome->body.AsFailure();
      if (failure && failure->error) {
        of.undeliverable = failure->stage == wire::Stage::Dispatch;
        return from_wire(*failure->error).text();
      }
      if (!measurement || measurement->censored) return std::string("no whole measurement");
      times[i] = ticks_to_nanoseconds(measurement->median, measurement->clock,
                                      measurement->ticks_per_second)
                     .value_or(0);
      if (times[i] <= 0) return std::string("it took no time");
      ++progress.finals;
      tick();
    }
    of.rounds.push_back(std::move(times));
  }
  return std::string();
}

Result<std::string> hold(Final& of, const Result<Expected>& expected, const space::Target& target,
                         const TuneOptions& options, TuneParts& parts, Progress& progress,
                         const std::function<void()>& tick) {
  if (!expected) return expected.error();
  if (auto built = build(of, target.canonical(), parts); !built) return built.error();
  if (!as_recorded(of)) return std::string("their programs are not what was recorded");
  for (const auto& output : expected->outputs) {
    parts.runner.offer_blob(*output.check.blob, output.bytes);
  }
  wire::MeasureOptionsT how = options.measure;
  how.threads = static_cast<std::uint32_t>(target.threads());
  std::vector<wire::MeasureRequestT> requests;
  for (wire::BuildOutputT& output : of.outputs) {
    auto request = measure_request(output, *expected, how, of.title);
    if (!request) return std::move(request).error();
    requests.push_back(std::move(*request));
  }
  return measure(of, requests, parts, progress, tick);
}

}  // namespace

std::size_t finalist_count(std::uint32_t trials, std::size_t most) {
  const std::size_t count = std::min<std::size_t>(trials / kTrialsOfFinalist, most);
  return count < kLeast ? 0 : count;
}

std::vector<double> final_times(const std::vector<double>& trials,
                                const std::vector<std::vector<double>>& rounds) {
  std::vector<double> times, speeds;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    std::vector<double> own;
    for (const auto& round : rounds) own.push_back(round[i]);
    times.push_back(median(std::move(own)));
    speeds.push_back(trials[i] / times.back());
  }
  const double speed = median(speeds);
  for (double& time : times) time *= speed;
  return times;
}

Result<void> hold_finals(std::vector<TuneTask>& tasks, const space::Target& target,
                         const TuneOptions& options, TuneParts& parts,
                         const std::vector<Finalists>& finalists, Progress& progress,
                         const std::function<void()>& tick) {
  // Another clock's ticks are not disturbed.
  if (!clock_facts(parts.runner.device().clock).wall_time) return {};
  std::vector<std::size_t> counts;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::vector<Finalist>& all = finalists[i].all();
    const std::size_t most = std::min(options.finalists, all.size());
    counts.push_back(finalist_count(progress.tasks[i].trials, most));
    // Of a resumed task nothing may be left to find out.
    if (std::all_of(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(counts.back()),
                    [&](const Finalist& one) { return finalists[i].decided(one); })) {
      counts.back() = 0;
    }
    progress.finals_wanted += static_cast<std::uint32_t>(counts.back() * kFinalRounds);
  }
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (counts[i] == 0) continue;
    const std::vector<Finalist>& all = finalists[i].all();
    const space::Workload& workload = tasks[i].task.workload;
    Final of{workload,
             progress.tasks[i].title,
             board_of(all, options.session).value_or(parts.runner.board().id),
             {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(counts[i])},
             {},
             {},
             false};
    if (auto there = await_expected(parts.expected, i, parts.stop, tick); !there) {
      return there.error();
    }
    const auto held = hold(of, parts.expected.of(i), target, options, parts, progress, tick);
    if (!held) return held.error();
    if (!held->empty()) {
      parts.listener.warn(of.title + ": its fastest programs were not measured again: " + *held);
      if (of.undeliverable) return {};  // the other tasks would only wait for it, too
      continue;
    }
    std::vector<double> trials;
    for (const Finalist& one : of.finalists) trials.push_back(one.nanoseconds);
    const std::vector<double> times = final_times(trials, of.rounds);
    std::vector<records::Confirmation> confirmed;
    for (std::size_t k = 0; k < times.size(); ++k) {
      const Finalist& one = of.finalists[k];
      for (const std::string& session : one.sessions) {
        confirmed.push_back({session, workload.canonical(), target.canonical(), one.program_hash,
                             one.configuration, times[k]});
      }
    }
    if (auto stored = parts.records.confirm(confirmed); !stored) {
      return std::move(stored.error()).in("recording the finals of " + of.title);
    }
    double best = *std::min_element(times.begin(), times.end());
    if (all.size() > counts[i]) best = std::min(best, all[counts[i]].nanoseconds);
    progress.tasks[i].best_nanoseconds = best;
    parts.listener.confirmed(i, confirmed, progress);
  }
  return {};
}

}  // namespace fettle::tune

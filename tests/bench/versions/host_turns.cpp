// The sessions by turns, and what they cost (host_turns.h).
#include "tests/bench/versions/host_turns.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "host/app/interrupt.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/versions/compared_times.h"
#include "tests/bench/versions/json_summary.h"
#include "tests/bench/versions/logged_child.h"
#include "tests/bench/versions/side.h"
#include "tests/bench/versions/turns.h"
#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kNames[] = {"baseline", "candidate"};

Result<HostSession> run_session(const fs::path& folder, const std::string& network, unsigned seed,
                                unsigned trials, const fs::path& work,
                                const tune::StopSignal& stop) {
  const fs::path db = work / "session.db";
  for (const char* ending : {"", "-wal", "-shm"}) {
    std::error_code none;
    fs::remove(db.string() + ending, none);
  }
  const ChildLogs logs{work / "output", work / "errors"};
  const double before = cpu_seconds_of_ended_children();
  const auto seconds = run_logged(
      {"env", "FETTLE_AGENT=" + (folder / "fettle-agent").string(), (folder / "fettle").string(),
       "tune", network, "--device", "local", "--json", "--trials", std::to_string(trials), "--seed",
       std::to_string(seed), "--db", db.string()},
      logs, stop);
  if (!seconds) return seconds.error();
  const double cpu = cpu_seconds_of_ended_children() - before;
  const auto lines = text_of_file(logs.output);
  if (!lines) return lines.error();
  auto session = parse_host_session(*lines);
  if (session) session->cpu_ms = cpu / trials * 1e3;
  return session;
}

struct Figure {
  const char* name;
  double (*value)(const HostSession&);
};
constexpr Figure kFigures[] = {
    {"trials_per_hour", [](const HostSession& s) { return s.trials_per_hour; }},
    {"busy_share", [](const HostSession& s) { return s.busy_share; }},
    {"host_ms_per_trial", [](const HostSession& s) { return s.host_ms(); }},
    {"build_ms_per_trial", [](const HostSession& s) { return s.build_ms; }},
    {"features_ms_per_trial", [](const HostSession& s) { return s.features_ms; }},
    {"model_ms_per_trial", [](const HostSession& s) { return s.model_ms; }},
    {"build_ms_median", [](const HostSession& s) { return s.build_ms_median; }},
    {"lowered_per_trial", [](const HostSession& s) { return s.lowered; }},
    {"plans_per_trial", [](const HostSession& s) { return s.plans; }},
    {"cpu_ms_per_trial", [](const HostSession& s) { return s.cpu_ms; }}};

using Sessions = std::array<std::vector<HostSession>, 2>;  // [side][seed]

double mean(const std::vector<HostSession>& sessions, double (*value)(const HostSession&)) {
  double sum = 0;
  for (const HostSession& session : sessions) sum += value(session);
  return sum / double(sessions.size());
}

void print(const HostTurnsOptions& options, const std::string& network, const Sessions& sessions) {
  Json summary = {{"benchmark", "host"},
                  {"network", network},
                  {"trials", options.trials},
                  {"seeds", options.seeds}};
  if (!options.json) {
    std::printf("%s, %u trials, means of %u seeds\n%-22s %12s %12s %8s\n", network.c_str(),
                options.trials, options.seeds, "", kNames[0], kNames[1], "times");
  }
  for (const Figure& figure : kFigures) {
    const double before = mean(sessions[0], figure.value), after = mean(sessions[1], figure.value);
    if (!options.json) {
      std::printf("%-22s %12.3f %12.3f %8.3f\n", figure.name, before, after, after / before);
    }
    summary[figure.name] = {{"baseline", before}, {"candidate", after}, {"times", after / before}};
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < sessions[0].size(); ++i) {
    ratios.push_back(kernels_ratio(sessions[0][i], sessions[1][i]));
  }
  const Spread kernels = spread_of(ratios);
  summary["kernels_geomean"] = kernels.geomean;
  summary["kernels_least"] = kernels.least;
  summary["kernels_most"] = kernels.most;
  if (options.json) {
    std::cout << summary.dump() << std::endl;
    return;
  }
  std::printf("best kernels: %.3f times as fast, %.3f to %.3f by seed\n", kernels.geomean,
              kernels.least, kernels.most);
}

}  // namespace

Result<HostSession> parse_host_session(const std::string& lines) {
  const Json told = last_json_line(lines);
  HostSession session;
  const double trials = told.is_object() ? told.value("trials", 0.0) : 0;
  if (!(trials > 0) || told.value("event", "") != "summary" || !told.contains("stage_seconds") ||
      !told.contains("search") || !told.contains("tasks")) {
    return Error{ErrorCode::Malformed, "the session's last line sums up no trials", {}};
  }
  const auto number = [](const Json& value) { return value.is_number() ? value.get<double>() : 0; };
  const auto per_trial = [&](const char* stage) {
    return number(told["stage_seconds"].value(stage, Json())) / trials * 1e3;
  };
  session.trials_per_hour = number(told.value("trials_per_hour", Json()));
  session.busy_share = number(told.value("busy_share", Json()));
  session.build_ms_median = number(told.value("build_ms_median", Json()));
  session.build_ms = per_trial("build");
  session.features_ms = per_trial("features");
  session.model_ms = per_trial("model");
  session.lowered = number(told["search"].value("lowered", Json())) / trials;
  session.plans = number(told["search"].value("plans", Json())) / trials;
  for (const Json& task : told["tasks"]) {
    session.best_ns.push_back(task.is_object() ? number(task.value("best_ns", Json())) : 0);
  }
  return session;
}

double kernels_ratio(const HostSession& before, const HostSession& after) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(before.best_ns.size(), after.best_ns.size()); ++i) {
    if (before.best_ns[i] > 0 && after.best_ns[i] > 0) {
      ratios.push_back(before.best_ns[i] / after.best_ns[i]);
    }
  }
  return spread_of(ratios).geomean;
}

Result<void> run_host_turns(const HostTurnsOptions& options) {
  const app::Interrupt interrupt;
  const auto work = WorkFolder::open("");
  if (!work) return work.error();
  const auto folders = side_folders(options.baseline, options.candidate);
  for (const std::string& network : options.networks) {
    Sessions sessions;
    for (unsigned seed = 1; seed <= options.seeds; ++seed) {
      const auto done = by_turns(seed - 1, [&](std::size_t side) -> Result<void> {
        auto session =
            run_session(folders[side], network, seed, options.trials, work->path(), interrupt);
        if (!session) return Error(session.error()).in(kNames[side]);
        std::fprintf(stderr,
                     "%s, seed %u of %u, %-9s %8.0f trials/h, busy %.3f, host %.1f ms a trial\n",
                     network.c_str(), seed, options.seeds, kNames[side], session->trials_per_hour,
                     session->busy_share, session->host_ms());
        sessions[side].push_back(std::move(*session));
        return {};
      });
      if (!done) return done.error();
    }
    print(options, network, sessions);
  }
  return {};
}

}  // namespace fettle::bench

// A broker, boards and a session for each number of boards (boards_bench.h).
#include "tests/bench/boards/boards_bench.h"

#include <algorithm>
#include <filesystem>

#include "host/app/interrupt.h"
#include "host/records/database.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/boards/boards_report.h"
#include "tests/bench/boards/simulated_boards.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/versions/json_summary.h"
#include "tests/bench/versions/logged_child.h"
#include "tests/bench/versions/work_folder.h"

namespace fettle::bench {
namespace {

Result<std::vector<records::TuningRecord>> records_of(const std::string& path) {
  auto database = records::Database::open(path, {.read_only = true, .create = false});
  if (!database) return database.error();
  std::vector<records::TuningRecord> records;
  auto read = database->for_each({}, [&](const records::TuningRecord& record) {
    records.push_back(record);
    return true;
  });
  if (!read) return read.error();
  return records;
}

Result<BoardsRun> run_session(const BoardsBenchOptions& options, unsigned boards,
                              const tune::StopSignal& stop) {
  auto folder = WorkFolder::open("");
  if (!folder) return std::move(folder).error();
  auto broker = BrokerProcess::start("", boards);
  if (!broker) return std::move(broker).error();
  auto agents = SimulatedBoards::start(**broker, folder->path(), options.kernel_ms, stop);
  if (!agents) return std::move(agents).error();
  const auto stored = fleet::write_key_file(fleet::KeyFolder(folder->path()).key_file("client"),
                                            (*broker)->client());
  if (!stored) return stored.error();

  const std::string db = folder->path() / "records.db";
  const ChildLogs logs{folder->path() / "tune.json", folder->path() / "tune.log"};
  const double ended_before = cpu_seconds_of_ended_children();
  const double broker_before = (*broker)->usage().seconds();
  const double boards_before = (*agents)->cpu_seconds();
  auto ran = run_logged(
      {"env", "FETTLE_HOME=" + folder->path().string(), sibling_program("fettle").string(), "tune",
       options.network, "--broker", (*broker)->url(), "--broker-key", (*broker)->public_key(),
       "--device", kSimulatedKey, "--db", db, "--trials",
       std::to_string(std::uint64_t{options.trials} * boards), "--seed",
       std::to_string(options.seed), "--json"},
      logs, stop);
  if (auto alive = (*agents)->check_alive(); !alive) return alive.error();
  if (!ran) return std::move(ran).error();
  BoardsRun run;
  run.boards = boards;
  run.session_cpu_seconds = cpu_seconds_of_ended_children() - ended_before;
  run.broker_cpu_seconds = (*broker)->usage().seconds() - broker_before;
  run.boards_cpu_seconds = (*agents)->cpu_seconds() - boards_before;

  const auto said = text_of_file(logs.output);
  if (!said) return said.error();
  const nlohmann::json summary = last_json_line(*said);
  if (!summary.is_object() || summary.value("event", "") != "summary") {
    return Error{ErrorCode::Malformed, "the last line of fettle tune --json is no summary", {}};
  }
  run.seconds = summary.at("elapsed_s");
  run.trials_per_hour = summary.at("trials_per_hour");
  run.build_ms_median = summary.at("build_ms_median");
  const nlohmann::json& search = summary.at("search");
  run.planning_seconds = search.at("planning_seconds");
  run.feature_seconds = search.at("feature_seconds");
  run.training_seconds = search.at("training_seconds");
  run.plans = search.at("plans");
  run.lowered = search.at("lowered");
  run.thought = search.at("thought");
  run.build_seconds = summary.at("stage_seconds").at("build");
  const auto records = records_of(db);
  if (!records) return records.error();
  run.trials = records->size();
  run.built = static_cast<std::size_t>(std::count_if(records->begin(), records->end(),
                                                     [](const auto& r) { return r.build_ns > 0; }));
  run.times = board_times(*records);
  return run;
}

}  // namespace

double BoardsRun::least_busy_share() const {
  return times.boards.size() < boards ? 0 : times.least_busy_share();
}

double BoardsRun::builds_per_second() const {
  return seconds > 0 ? static_cast<double>(built) / seconds : 0;
}

unsigned most_boards(const std::vector<BoardsRun>& runs, double gate) {
  unsigned most = 0;
  for (const BoardsRun& run : runs) {
    if (run.least_busy_share() >= gate) most = std::max(most, run.boards);
  }
  return most;
}

Result<void> run_boards_bench(const BoardsBenchOptions& options) {
  const app::Interrupt interrupt;
  std::vector<BoardsRun> runs;
  for (unsigned boards : options.boards) {
    auto run = run_session(options, boards, interrupt);
    if (!run) {
      return std::move(run).error().in("feeding simulated boards, " + std::to_string(boards) +
                                       " of them");
    }
    print_run(options, *run);
    runs.push_back(std::move(*run));
  }
  const double gate = options.gate.value_or(kBusyEnough);
  const unsigned most = most_boards(runs, gate);
  print_summary(options, runs, gate, most);
  if (options.gate && most == 0) {
    return Error{ErrorCode::InvalidArgument,
                 "in no run every board was busy for " + std::to_string(gate) + " of its time",
                 {}};
  }
  return {};
}

}  // namespace fettle::bench

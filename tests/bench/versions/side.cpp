// The command lines of a side, and what it leaves in files (side.h).
#include "tests/bench/versions/side.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>

#include "schemas/wire/content_hash.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/versions/json_summary.h"

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kPrograms[] = {"fettle", "fettle-agent", "fettle-bench"};
constexpr const char* kTuneOptions[] = {"--device", "--hardware", "--trials", "--scheduler",
                                        "--seed",   "--db",       "--json"};
constexpr const char* kKernelOptions[] = {"--db", "--network", "--threads", "--rounds", "--json"};

// A file beside the others of the same job.
fs::path with_ending(const fs::path& job, const char* ending) {
  return fs::path(job.string() + ending);
}

ChildLogs logs_of(const fs::path& job) {
  return {with_ending(job, ".jsonl"), with_ending(job, ".log")};
}

Result<wire::Hash> hash_of(const fs::path& program) {
  auto bytes = text_of_file(program);
  if (!bytes) return std::move(bytes).error();
  return content_hash({reinterpret_cast<const std::uint8_t*>(bytes->data()), bytes->size()});
}

Result<void> knows(const std::vector<std::string>& command, std::span<const char* const> options,
                   const fs::path& work, const tune::StopSignal& stop) {
  const ChildLogs logs = logs_of(work / "help");
  std::vector<std::string> argv = command;
  argv.push_back("--help");
  const auto asked = run_logged(argv, logs, stop);
  if (!asked) return asked.error();
  const auto help = text_of_file(logs.output);
  if (!help) return help.error();
  for (const char* option : options) {
    if (help->find(option) != help->npos) continue;
    return Error{ErrorCode::Unsupported,
                 fmt::format("'{} {}' does not know {}", command.front(), command.back(), option),
                 {}};
  }
  return {};
}

// The agent that lies beside it, whatever this process's own environment names.
std::vector<std::string> fettle_of(const Side& side) {
  return {"env", "FETTLE_AGENT=" + (side.folder / "fettle-agent").string(),
          (side.folder / "fettle").string()};
}

// Of a network's file: its path is no name of a file.
std::string file_name_of(std::string network) {
  std::replace_if(
      network.begin(), network.end(),
      [](unsigned char c) { return !std::isalnum(c) && c != '.' && c != '-' && c != '_'; }, '_');
  return network;
}

// `trials` of the summary, the last line of `fettle tune --json`.
Result<unsigned> trials_told(const fs::path& output) {
  const auto text = text_of_file(output);
  if (!text) return text.error();
  const Json summary = last_json_line(*text);
  if (!summary.is_object() || summary.value("event", "") != "summary" ||
      !summary.contains("trials") || !summary["trials"].is_number_unsigned()) {
    return Error{ErrorCode::Malformed, output.string() + " does not end in a summary", {}};
  }
  return summary["trials"].get<unsigned>();
}

// What `done` says of a finished tune; 0 seconds: there is none.
Result<Tuned> kept_tune(const Side& side, const TuneJob& job, const fs::path& db,
                        const fs::path& done) {
  Tuned tuned{db, 0, job.trials, true};
  if (!fs::exists(done) || !fs::exists(db)) return tuned;
  const auto text = text_of_file(done);
  if (!text) return text.error();
  const Json told = Json::parse(*text, nullptr, false);
  if (!told.is_object() || told.value("seconds", 0.0) <= 0) {
    return Error{ErrorCode::Malformed, done.string() + " does not tell of a tune", {}};
  }
  if (told.value("tuner", "") != side.tuner || told.value("asked", 0u) != job.trials) {
    return Error{ErrorCode::InvalidArgument,
                 done.string() +
                     " is of other programs or another number of trials: name another "
                     "folder, or remove it",
                 {}};
  }
  tuned.seconds = told["seconds"].get<double>();
  tuned.trials = told.value("trials", 0u);
  return tuned;
}

Result<void> write_whole(const fs::path& path, const std::string& text) {
  const fs::path part = with_ending(path, ".part");
  std::ofstream file(part);
  file << text << "\n";
  file.close();
  std::error_code failed;
  if (file) fs::rename(part, path, failed);
  if (!file || failed) return Error{ErrorCode::Io, "cannot write " + path.string(), {}};
  return {};
}

}  // namespace

std::array<fs::path, 2> side_folders(const std::string& baseline, const std::string& candidate) {
  return {fs::absolute(baseline),
          candidate.empty() ? sibling_program("fettle").parent_path() : fs::absolute(candidate)};
}

Result<void> has_programs(const std::string& name, const fs::path& folder) {
  for (const char* program : kPrograms) {
    if (::access((folder / program).c_str(), X_OK) == 0) continue;
    return Error{ErrorCode::NotFound,
                 fmt::format("the {} {} has no program {}", name, folder.string(), program),
                 {}};
  }
  return {};
}

Result<Side> open_side(const std::string& name, const fs::path& folder, const fs::path& work,
                       const tune::StopSignal& stop) {
  Side side{name, folder, ""};
  if (auto there = has_programs(name, folder); !there) return std::move(there).error();
  for (const char* program : {"fettle", "fettle-agent"}) {
    const auto hash = hash_of(folder / program);
    if (!hash) return hash.error();
    side.tuner += to_hex(*hash);
  }
  auto known = knows({(folder / "fettle").string(), "tune"}, kTuneOptions, work, stop);
  if (known) {
    known = knows({(folder / "fettle-bench").string(), "kernels"}, kKernelOptions, work, stop);
  }
  if (!known) return std::move(known).error().in("asking the " + name + " what it can");
  return side;
}

Result<Tuned> tune_network(const Side& side, const TuneJob& job, const fs::path& work,
                           const tune::StopSignal& stop) {
  const fs::path files =
      work / fmt::format("{}.{}.seed{}", side.name, file_name_of(job.network), job.seed);
  const fs::path db = with_ending(files, ".db"), done = with_ending(files, ".done.json");
  auto tuned = kept_tune(side, job, db, done);
  if (!tuned || tuned->seconds > 0) return tuned;
  for (const char* ending : {".db", ".db-wal", ".db-shm", ".done.json"}) {
    std::error_code ignored;
    fs::remove(with_ending(files, ending), ignored);
  }
  std::vector<std::string> argv = fettle_of(side);
  argv.insert(argv.end(),
              {"tune", job.network, "--device", "local", "--hardware", "threads=1", "--scheduler",
               "round-robin", "--json", "--trials", std::to_string(job.trials), "--seed",
               std::to_string(job.seed), "--db", db.string()});
  const ChildLogs logs = logs_of(files);
  const auto seconds = run_logged(argv, logs, stop);
  if (!seconds) return seconds.error();
  const auto trials = trials_told(logs.output);
  if (!trials) return trials.error();
  if (*trials < job.trials) {
    return Error{ErrorCode::Internal,
                 fmt::format("{} ended after {} trials, {} were asked for", db.string(), *trials,
                             job.trials),
                 {}};
  }
  const Json told = {
      {"tuner", side.tuner}, {"asked", job.trials}, {"trials", *trials}, {"seconds", *seconds}};
  if (auto written = write_whole(done, told.dump()); !written) return written.error();
  return Tuned{db, *seconds, *trials, false};
}

Result<KernelRun> time_kernels(const Side& side, const std::string& network, const fs::path& db,
                               unsigned rounds, const tune::StopSignal& stop) {
  const ChildLogs logs = logs_of(with_ending(db, ".kernels"));
  const auto done =
      run_logged({(side.folder / "fettle-bench").string(), "kernels", "--json", "--db", db.string(),
                  "--network", network, "--threads", "1", "--rounds", std::to_string(rounds)},
                 logs, stop);
  if (!done && done.error().code == ErrorCode::Canceled) return done.error();
  const auto lines = text_of_file(logs.output);
  if (!lines) return lines.error();
  auto run = parse_kernel_run(*lines);
  // It fails also where a layer has no record: that its lines tell.
  if (!done && (!run || run->missing.empty())) return done.error();
  if (!run) return std::move(run).error().in("reading " + logs.output.string());
  return run;
}

}  // namespace fettle::bench

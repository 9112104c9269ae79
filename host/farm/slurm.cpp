// Slurm's commands (slurm.h).
#include "host/farm/slurm.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <string_view>
#include <tuple>

#include "host/process/run_program.h"

namespace fettle::farm {
namespace {

constexpr std::chrono::seconds kAnswerWithin{60};  // slurmctld may be busy, or just starting

// States of tasks that are over, or are about to be.
constexpr std::array<std::string_view, 10> kOver = {
    "COMPLETING", "COMPLETED", "CANCELLED",     "FAILED",  "TIMEOUT",
    "NODE_FAIL",  "PREEMPTED", "OUT_OF_MEMORY", "REVOKED", "BOOT_FAIL"};

// Options of its commands that a shell may have as variables, such as would hide workers, start
// them where nobody looks, or have sbatch wait for them. Accounts and partitions stay.
const std::vector<std::string> kHidden = {"SQUEUE_",          "SCANCEL_",
                                          "SLURM_CLUSTERS=",  "SBATCH_ARRAY_INX=",
                                          "SBATCH_CLUSTERS=", "SBATCH_WAIT="};

std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// What it printed.
Result<std::string> said_by(const std::vector<std::string>& words) {
  const process::ScratchFolder scratch;
  process::RunPlan plan;
  plan.argv = words;
  plan.output = scratch.file("out");
  plan.limit = kAnswerWithin;
  plan.hidden = kHidden;
  const auto ran = process::run_program(plan);
  if (!ran) return ran.error();
  if (ran->status != 0) {
    const std::string said = one_line(ran->said);
    return Error{ErrorCode::Io, said.empty() ? words[0] + " failed without a word" : said, {}};
  }
  return process::read_file(plan.output);
}

// "17_2": a job and a task's number in it; "17" where it is no task of an array.
std::tuple<std::uint64_t, std::uint64_t> age_of(const std::string& id) {
  std::uint64_t job = 0, task = 0;
  const char* const end = id.data() + id.size();
  const auto read = std::from_chars(id.data(), end, job);
  if (read.ptr != end && *read.ptr == '_') std::from_chars(read.ptr + 1, end, task);
  return {job, task};
}

}  // namespace

Result<Slurm> Slurm::open(SlurmJobs jobs) {
  for (const char* command : {"sbatch", "squeue", "scancel"}) {
    if (!process::find_program(command).empty()) continue;
    return Error{ErrorCode::NotFound,
                 std::string("no ") + command +
                     " on the PATH: this runs where Slurm's commands are, as on a login node",
                 {}};
  }
  return Slurm(std::move(jobs));
}

std::vector<std::string> Slurm::submit_words(unsigned workers) const {
  std::vector<std::string> words = {"sbatch",          "--parsable",
                                    "--job-name",      jobs_.name,
                                    "--ntasks",        "1",
                                    "--partition",     jobs_.partition,
                                    "--array",         "0-" + std::to_string(workers - 1),
                                    "--cpus-per-task", std::to_string(jobs_.worker.builders)};
  // A file for each number of a task: however many arrays there were, not more than workers at
  // once.
  words.insert(
      words.end(),
      {"--open-mode", "append", "--output",
       jobs_.log_folder.empty() ? "/dev/null" : jobs_.log_folder + "/" + jobs_.name + "-%a.log"});
  words.insert(words.end(), jobs_.options.begin(), jobs_.options.end());
  words.insert(words.end(), {"--wrap", shell_line(words_of(jobs_.worker))});
  return words;
}

Result<void> Slurm::check() const {
  std::vector<std::string> words = submit_words(1);
  words.insert(words.begin() + 1, "--test-only");
  auto said = said_by(words);
  if (said) return {};
  Error error = std::move(said).error();
  error.code = ErrorCode::InvalidArgument;
  return std::move(error).in("asking sbatch whether such a job may run");
}

Result<std::vector<SlurmTask>> Slurm::tasks() const {
  auto said = said_by({"squeue", "--array", "--noheader", "--user", std::to_string(::geteuid()),
                       "--name", jobs_.name, "--format", "%i|%T|%r"});
  if (!said) return std::move(said).error().in("asking Slurm for the workers");
  return parse_tasks(*said);
}

Result<std::vector<std::string>> Slurm::submit(unsigned workers) const {
  auto said = said_by(submit_words(workers));
  if (!said) return std::move(said).error().in("starting workers");
  return parse_submitted(*said, workers);
}

Result<void> Slurm::cancel(const std::vector<std::string>& ids) const {
  if (ids.empty()) return {};
  std::vector<std::string> words = {"scancel", "--quiet"};
  words.insert(words.end(), ids.begin(), ids.end());
  if (auto said = said_by(words); !said) return std::move(said).error().in("ending workers");
  return {};
}

Result<std::vector<SlurmTask>> parse_tasks(const std::string& text) {
  std::vector<SlurmTask> tasks;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const std::size_t first = line.find('|');
    const std::size_t second = first == line.npos ? first : line.find('|', first + 1);
    if (second == line.npos || first == 0)
      return Error{ErrorCode::Malformed, "squeue says '" + line + "'", {}};
    const std::string state = line.substr(first + 1, second - first - 1);
    if (std::find(kOver.begin(), kOver.end(), state) != kOver.end()) continue;
    tasks.push_back({{line.substr(0, first), state == "RUNNING"}, line.substr(second + 1)});
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const SlurmTask& a, const SlurmTask& b) {
    return age_of(a.worker.id) < age_of(b.worker.id);
  });
  return tasks;
}

Result<std::vector<std::string>> parse_submitted(const std::string& text, unsigned workers) {
  const std::string line = text.substr(0, text.find('\n'));
  const std::string job = line.substr(0, line.find(';'));
  if (job.empty() || job.find_first_not_of("0123456789") != job.npos)
    return Error{ErrorCode::Malformed, "sbatch says '" + line + "', no job's number", {}};
  std::vector<std::string> ids;
  for (unsigned i = 0; i < workers; ++i) ids.push_back(job + "_" + std::to_string(i));
  return ids;
}

}  // namespace fettle::farm

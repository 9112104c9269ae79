// fettle farm slurm: job arrays of build workers that grow and shrink with a broker's queue.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "host/app/build_version.h"
#include "host/app/connection.h"
#include "host/app/farm.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/farm/broker_queue.h"
#include "host/farm/farm_plan.h"
#include "host/farm/slurm.h"
#include "host/fleet/keys.h"
#include "host/process/child_process.h"

namespace fettle::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kKnownWithin{20};  // of a worker, by the broker

struct SlurmCommand {
  FarmCommand farm;
  std::string partition, name, fettle;
  std::vector<std::string> options;
  unsigned every_s = 5, shrink_after_s = 60;
  bool once = false, json = false, dry_run = false, keep = false;
};

// Of a job and a file: "tcp://login1:9190" becomes "fettle-login1-9190".
std::string name_for(const std::string& broker) {
  std::string name =
      "fettle-" + broker.substr(broker.find("://") == broker.npos ? 0 : broker.find("://") + 3);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c) && c != '.'; }, '-');
  return name.substr(0, 64);
}

// Two farms of one name would each start what the other starts. Held until the process ends.
Result<void> be_the_only_one(const std::filesystem::path& folder, const std::string& name) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const auto path = folder / (name + ".lock");
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return Error{ErrorCode::Io, "cannot write " + path.string(), {}};
  if (::flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return {};
  ::close(file);
  return Error{ErrorCode::InvalidArgument,
               "a farm '" + name + "' runs already; for another one name it: --name",
               {}};
}

class SlurmFarm {
 public:
  SlurmFarm(const SlurmCommand& command, farm::Slurm slurm, fleet::BrokerAddress address,
            std::string version)
      : command_(command),
        slurm_(std::move(slurm)),
        address_(std::move(address)),
        version_(std::move(version)),
        plan_({command.farm.least, command.farm.most, command.farm.builders,
               std::chrono::seconds(command.once ? 0 : command.shrink_after_s)}) {}

  // What is wanted, what there is, and what is to be done about it; done unless --dry-run.
  Result<void> look() {
    auto queue = farm::ask_queue(address_, version_);
    if (!queue) return std::move(queue).error();
    const auto tasks = slurm_.tasks();
    if (!tasks) return tasks.error();
    std::vector<farm::Worker> workers;
    for (const farm::SlurmTask& task : *tasks) workers.push_back(task.worker);
    const farm::Change change = plan_.next(queue->wanted(), workers, Clock::now());
    tell_of_held(*tasks);
    tell_of_strangers(*queue, workers);
    std::vector<std::string> started;
    if (!command_.dry_run) {
      if (change.start > 0) {
        auto ids = slurm_.submit(change.start);
        if (!ids) return std::move(ids).error();
        started = std::move(*ids);
        plan_.started(started);
      }
      if (auto ended = slurm_.cancel(change.stop); !ended) return ended;
      plan_.stopped(change.stop);
    }
    tell(*queue, workers, change, started);
    return {};
  }

  // Every worker of this farm, also those that an earlier run started.
  Result<void> end() {
    const auto tasks = slurm_.tasks();
    if (!tasks) return tasks.error();
    std::vector<std::string> ids;
    for (const farm::SlurmTask& task : *tasks) ids.push_back(task.worker.id);
    if (command_.keep) {
      say({{"event", "kept"}, {"workers", ids}}, fmt::format("{} workers go on", ids.size()));
      return {};
    }
    if (auto ended = slurm_.cancel(ids); !ended) return ended;
    say({{"event", "ended"}, {"stopped", ids}}, fmt::format("{} workers stopped", ids.size()));
    return {};
  }

 private:
  void say(const nlohmann::json& object, const std::string& line) const {
    if (command_.json) {
      print_json_line(object);
    } else {
      print("{:%H:%M:%S} {}\n", fmt::localtime(std::time(nullptr)), line);
    }
    std::fflush(stdout);
  }

  void tell(const fleet::BuildQueue& queue, const std::vector<farm::Worker>& workers,
            const farm::Change& change, const std::vector<std::string>& started) {
    const bool held_back = std::exchange(held_back_, change.held_back.count() > 0);
    const bool news =
        change.start > 0 || !change.stop.empty() || change.lost > 0 || held_back_ != held_back;
    if (!news && !command_.once && !command_.dry_run) return;
    const auto run = std::count_if(workers.begin(), workers.end(),
                                   [](const farm::Worker& worker) { return worker.runs; });
    const auto wait = static_cast<std::ptrdiff_t>(workers.size()) - run;
    std::string line = fmt::format("{} compilers wanted, {} there; {} workers run, {} wait",
                                   queue.wanted(), queue.builders, run, wait);
    const char* would = command_.dry_run ? "would be " : "";
    if (change.lost > 0) line += fmt::format("; {} ended by themselves", change.lost);
    if (change.held_back.count() > 0)
      line +=
          fmt::format("; none is started for {} s, look at their logs", change.held_back.count());
    if (change.start > 0) {
      line += fmt::format("; {} {}started", change.start, would);
      if (!started.empty()) line += " as job " + started[0].substr(0, started[0].find('_'));
    }
    if (!change.stop.empty())
      line +=
          fmt::format("; {} {}stopped: {}", change.stop.size(), would, fmt::join(change.stop, " "));
    nlohmann::json object = {{"event", "look"},        {"builders", queue.builders},
                             {"busy", queue.busy},     {"wanted", queue.wanted()},
                             {"workers_running", run}, {"workers_waiting", wait},
                             {"lost", change.lost},    {"held_back_s", change.held_back.count()},
                             {"start", change.start},  {"started", started},
                             {"stop", change.stop},    {"dry_run", command_.dry_run}};
    if (command_.dry_run && change.start > 0) {
      object["command"] = slurm_.submit_words(change.start);
      line += fmt::format("\n{}", fmt::join(slurm_.submit_words(change.start), " "));
    }
    say(object, line);
  }

  // Slurm does not start these, and nothing here changes that.
  void tell_of_held(const std::vector<farm::SlurmTask>& tasks) {
    std::string reason;
    for (const farm::SlurmTask& task : tasks) {
      const bool held = !task.worker.runs && (task.reason.find("held") != std::string::npos ||
                                              task.reason.find("Held") != std::string::npos);
      if (held) reason = "Slurm holds worker " + task.worker.id + ": " + task.reason;
    }
    if (reason != std::exchange(told_held_, reason) && !reason.empty()) warn(reason);
  }

  // They run, and the broker does not know them.
  void tell_of_strangers(const fleet::BuildQueue& queue, const std::vector<farm::Worker>& workers) {
    const bool strange =
        queue.builders == 0 && std::any_of(workers.begin(), workers.end(),
                                           [](const farm::Worker& worker) { return worker.runs; });
    if (!strange) strange_since_.reset();
    if (!strange || told_strange_) return;
    if (!strange_since_) strange_since_ = Clock::now();
    if (Clock::now() - *strange_since_ < kKnownWithin) return;
    told_strange_ = true;
    warn(
        "workers run, and none of them builds for the broker: their logs in $FETTLE_HOME/farm tell "
        "why. Is their key allowed there, as builder, and do nodes have this very program?");
  }

  const SlurmCommand& command_;
  const farm::Slurm slurm_;
  const fleet::BrokerAddress address_;
  const std::string version_;
  farm::FarmPlan plan_;
  bool held_back_ = false;
  std::string told_held_;
  std::optional<Clock::time_point> strange_since_;
  bool told_strange_ = false;
};

Result<SlurmFarm> open(const SlurmCommand& command) {
  farm::SlurmJobs jobs;
  jobs.name = command.name.empty() ? name_for(command.farm.broker) : command.name;
  if (auto good = fleet::check_key_name(jobs.name); !good)
    return Error{ErrorCode::InvalidArgument,
                 "--name: up to 64 letters, digits, '-', '_', '.', not '" + jobs.name + "'",
                 {}};
  jobs.partition = command.partition;
  jobs.options = command.options;
  auto worker = worker_of(command.farm);
  if (!worker) return std::move(worker).error();
  jobs.worker = std::move(*worker);
  auto own = process::own_executable();
  if (!own) return std::move(own).error();
  jobs.worker.fettle = command.fettle.empty() ? *own : command.fettle;
  auto home = fleet::fettle_home();
  if (!home) return std::move(home).error();
  jobs.log_folder = *home / "farm";
  const std::string name = jobs.name;
  auto slurm = farm::Slurm::open(std::move(jobs));
  if (!slurm) return std::move(slurm).error();
  if (auto only = be_the_only_one(*home / "farm", name); !only) return std::move(only).error();
  if (auto good = slurm->check(); !good) return std::move(good).error();
  auto address = broker_address(command.farm.broker, command.farm.broker_key);
  if (!address) return std::move(address).error();
  auto version = build_version();
  if (!version) return std::move(version).error();
  return SlurmFarm(command, std::move(*slurm), std::move(*address), std::move(*version));
}

int run(const SlurmCommand& command) {
  Interrupt interrupt;
  auto farm = open(command);
  if (!farm) return fail(farm.error());
  if (auto first = farm->look(); !first) return fail(first.error());
  if (command.once || command.dry_run) return kFine;
  std::string told;  // what was wrong at the last look
  while (!interrupt.requested()) {
    pollfd stop{interrupt.fd(), POLLIN, 0};
    ::poll(&stop, 1, static_cast<int>(command.every_s * 1000));
    if (interrupt.requested()) break;
    // A broker or a Slurm that is away comes back; workers go on meanwhile.
    auto looked = farm->look();
    if (interrupt.requested()) break;
    const std::string wrong = looked ? "" : looked.error().text();
    if (wrong != std::exchange(told, wrong))
      wrong.empty() ? note("all answer again") : warn(wrong + ". Still trying");
  }
  if (auto ended = farm->end(); !ended) return fail(ended.error());
  return kFine;
}

}  // namespace

void add_farm_slurm_command(CLI::App& farm, int& status) {
  auto* slurm = farm.add_subcommand(
      "slurm", "Starts and ends build workers as Slurm jobs, until Ctrl-C, which ends them all");
  auto command = std::make_shared<SlurmCommand>();
  add_farm_options(*slurm, command->farm);
  slurm->add_option("--min", command->farm.least, "Workers that are there in any case")
      ->capture_default_str();
  slurm->add_option("--partition", command->partition, "Slurm's partition for them")->required();
  slurm->add_option("--name", command->name,
                    "Of the jobs: this farm's workers are those of this user and name (default: "
                    "fettle-HOST-PORT, of the broker)");
  slurm
      ->add_option("--sbatch", command->options,
                   "More for sbatch, as --sbatch=--time=4:00:00 (repeatable)")
      ->type_name("OPTION")
      ->allow_extra_args(false);
  slurm->add_option("--fettle", command->fettle,
                    "This very program, where nodes have it under another path");
  slurm->add_option("--every", command->every_s, "Seconds between two looks at the queue")
      ->check(CLI::Range(1u, 3600u))
      ->capture_default_str();
  auto* shrink =
      slurm
          ->add_option("--shrink-after", command->shrink_after_s,
                       "Seconds that nobody must have needed a worker before it is ended")
          ->check(CLI::Range(0u, 86'400u))
          ->capture_default_str();
  auto* once = slurm->add_flag("--once", command->once,
                               "Looks once, starts or ends what that asks for, and ends itself");
  once->excludes(shrink);
  slurm->add_flag("--keep", command->keep, "Ctrl-C leaves the workers running")->excludes(once);
  slurm->add_flag("--dry-run", command->dry_run, "Says once what it would do, and does nothing")
      ->excludes(once);
  slurm->add_flag("--json", command->json, "Prints a JSON object for each line");
  slurm->footer(
      "A farm that is started again finds its workers by their name. Nodes need the files of "
      "$FETTLE_HOME (keys; logs are in its folder farm/) and this very program, as on a file "
      "system "
      "that they share. The broker lets the workers in by `fettle keys allow NAME KEY --role "
      "builder`.");
  slurm->callback([command, &status] { status = run(*command); });
}

}  // namespace fettle::app

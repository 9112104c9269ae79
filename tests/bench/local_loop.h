// LocalLoop: the real tuning loop on a device of this machine, for benches that keep
// what they measure in a record database.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/app/connection.h"
#include "host/app/interrupt.h"
#include "host/fleet/build_pool.h"
#include "host/model/task_list.h"
#include "host/records/database.h"
#include "host/tune/tune.h"

namespace fettle::bench {

// A network that fettle knows, a .json file of workloads, or a kernel's file.
Result<model::TaskList> tasks_of(const std::string& network);

// Says warnings and nothing else.
class SilentListener final : public tune::TuneListener {
 public:
  void trial_done(std::size_t, const records::TuningRecord&, const tune::Progress&) override {}
  void tick(const tune::Progress&) override {}
  void warn(const std::string& line) override;
};

// One at a time in a process: it owns Ctrl-C.
class LocalLoop {
 public:
  // Starts broker, agent and build workers. `seconds`: its sessions stop after so long,
  // counted from here; 0: never. The target has `threads` threads.
  // `folder`: of the files that kernels' references name.
  static Result<std::unique_ptr<LocalLoop>> open(const std::string& db, unsigned seconds,
                                                 int threads = 1,
                                                 const std::string& device = "local",
                                                 std::string folder = "");

  const space::Target& target() const { return target_; }
  const wire::DeviceInfoT& device() { return connection_->runner().device(); }
  records::Database& database() { return database_; }
  // Its time is over, or the user interrupted it.
  bool stopped() const { return stop_->requested(); }

  // One session: a row in the database under `name` with `options_json`, and its trials.
  // A session that was stopped is no Error.
  Result<tune::TuneSummary> run(std::vector<tune::TuneTask>& tasks, tune::TuneOptions options,
                                const std::string& name, const std::string& options_json = "{}");

 private:
  explicit LocalLoop(records::Database database) : database_(std::move(database)) {}

  records::Database database_;
  app::Interrupt interrupt_;
  std::unique_ptr<tune::StopSignal> stop_;
  std::optional<app::Connection> connection_;
  std::vector<int> all_cores_;  // with the device's
  std::unique_ptr<fleet::BuildPool> builder_;
  space::Target target_;
  std::uint64_t next_trial_ = 1;
  std::string folder_;
};

}  // namespace fettle::bench

// LocalLoop (local_loop.h).
#include "tests/bench/local_loop.h"

#include <cstdio>

#include "host/app/cores.h"
#include "host/app/expected.h"
#include "host/app/idle_runner.h"
#include "host/app/record_store.h"
#include "host/backend/backend.h"
#include "host/model/kernel_file.h"
#include "host/space/workload.h"
#include "tests/bench/agent_process.h"

namespace fettle::bench {
namespace {

using Clock = std::chrono::steady_clock;

class TimeLimit final : public tune::StopSignal {
 public:
  TimeLimit(app::Interrupt& interrupt, unsigned seconds)
      : interrupt_(interrupt),
        end_(seconds > 0 ? Clock::now() + std::chrono::seconds(seconds)
                         : Clock::time_point::max()) {}
  bool requested() const override { return interrupt_.requested() || Clock::now() >= end_; }
  int fd() const override { return interrupt_.fd(); }

 private:
  app::Interrupt& interrupt_;
  Clock::time_point end_;
};

}  // namespace

void SilentListener::warn(const std::string& line) {
  std::fprintf(stderr, "fettle-bench: %s\n", line.c_str());
}

Result<model::TaskList> tasks_of(const std::string& network) {
  if (model::is_kernel_file(network)) return model::load_kernel(network);
  return network.ends_with(".json") ? model::load_workload_file(network)
                                    : model::load_network(network);
}

Result<std::unique_ptr<LocalLoop>> LocalLoop::open(const std::string& db, unsigned seconds,
                                                   int threads, const std::string& device,
                                                   std::string folder) {
  auto database = records::Database::open(db);
  if (!database) return std::move(database).error();
  std::unique_ptr<LocalLoop> loop(new LocalLoop(std::move(*database)));
  loop->folder_ = std::move(folder);
  loop->stop_ = std::make_unique<TimeLimit>(loop->interrupt_, seconds);
  auto connection =
      app::Connection::open({"", "", device, "fettle-bench", threads > 1 ? threads : 0});
  if (!connection) return std::move(connection).error();
  loop->connection_.emplace(std::move(*connection));
  const backend::HardwareValue wanted{"threads", threads};
  auto target = backend::target_for(loop->device(), std::span(&wanted, 1));
  if (!target) return std::move(target).error();
  loop->target_ = std::move(*target);
  loop->all_cores_ = app::usable_cores();
  app::pin_process(loop->connection_->free_cores());
  fleet::BuildPoolOptions pool;
  pool.argv = {sibling_program("fettle").string(), "build-worker"};
  pool.workers = app::builder_count(loop->connection_->free_cores());
  pool.cores = loop->connection_->free_cores();
  auto builder = fleet::BuildPool::start(std::move(pool));
  if (!builder) return std::move(builder).error();
  loop->builder_ = std::move(*builder);
  tune::Runner& runner = loop->connection_->runner();
  if (auto known = loop->database_.register_device(runner.board(), runner.device()); !known) {
    return known.error();
  }
  return loop;
}

Result<tune::TuneSummary> LocalLoop::run(std::vector<tune::TuneTask>& tasks,
                                         tune::TuneOptions options, const std::string& name,
                                         const std::string& options_json) {
  std::vector<space::Workload> workloads;
  for (const tune::TuneTask& task : tasks) workloads.push_back(task.task.workload);
  tune::ExpectedOutputs expected(std::move(workloads), app::expected_by_references(folder_));
  options.session = app::random_session_id();
  options.device_key = device().key;
  options.first_trial = next_trial_;
  next_trial_ += options.trials;
  app::RecordStore store(database_);
  records::Session session;
  session.session = options.session;
  session.name = name;
  session.device_key = options.device_key;
  session.options = options_json;
  session.started_ms = app::unix_ms_now();
  if (auto begun = store.begin(std::move(session)); !begun) return begun.error();
  const auto scheduler = tune::make_round_robin();
  SilentListener listener;
  app::IdleRunner runner(
      connection_->runner(),
      app::lends_cores(builder_.get(), nullptr, connection_->free_cores(), all_cores_));
  tune::TuneSummary summary =
      tune::tune(tasks, target_, options,
                 {*builder_, runner, store, expected, *scheduler, *stop_, listener, {}, {}});
  if (auto ended = store.end(summary); !ended) return ended.error();
  if (summary.end == tune::SessionEnd::Failed) return *summary.error;
  return summary;
}

}  // namespace fettle::bench

// run_tuning (tuning_session.h): everything around tune().
#include "host/app/tuning_session.h"

#include <filesystem>
#include <optional>

#include "host/app/board_ceilings.h"
#include "host/app/connection.h"
#include "host/app/cores.h"
#include "host/app/expected.h"
#include "host/app/hardware_options.h"
#include "host/app/idle_runner.h"
#include "host/app/interrupt.h"
#include "host/app/message.h"
#include "host/app/record_database.h"
#include "host/app/record_store.h"
#include "host/app/session_boards.h"
#include "host/app/tune_page.h"
#include "host/app/tuning_options.h"
#include "host/app/tuning_report.h"
#include "host/app/tuning_tasks.h"
#include "host/app/version.h"
#include "host/backend/backend.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/build_pool.h"
#include "host/fleet/build_split.h"
#include "host/records/json_fields.h"
#include "host/space/workload.h"
#include "host/tune/background.h"

namespace fettle::app {
namespace {

// Trials of a kernel that a user wrote, all failed: there is a mistake in it.
constexpr std::uint32_t kHopeless = 100;
constexpr std::chrono::seconds kListWithin{5};   // a broker lists its boards
constexpr std::chrono::minutes kBrokerAway{10};  // a session of a night bears its restart

// Compilers of this machine (null: none are wanted), and what the session builds with.
struct Compilers {
  std::unique_ptr<fleet::BuildPool> own;
  std::unique_ptr<tune::Builder> both;
};

Result<Compilers> start_compilers(const TuneCommand& command, Connection& connection,
                                  const Interrupt& interrupt) {
  Compilers compilers;
  if (command.build_on != "workers") {
    fleet::BuildPoolOptions options;
    options.workers = command.builders ? command.builders : builder_count(connection.free_cores());
    options.cores = connection.free_cores();
    auto own = fleet::BuildPool::start(std::move(options));
    if (!own) return own.error();
    compilers.own = std::move(*own);
  }
  std::unique_ptr<fleet::RemoteBuilder> remote;
  if (command.build_on != "here" && !command.broker.empty()) {
    auto opened = connection.remote_builder(command.tasks.what, &interrupt);
    if (!opened && (!compilers.own || opened.error().code == ErrorCode::Canceled))
      return std::move(opened).error().in("asking for build workers");
    if (opened)
      remote = std::move(*opened);
    else if (opened.error().code != ErrorCode::NotFound)  // an old broker has none
      warn("no build workers: " + opened.error().text());
  }
  if (!compilers.own && remote->workers() == 0)
    note("no build worker of this fettle's version has dialled in: waiting for one");
  compilers.both = std::make_unique<fleet::BuildSplit>(compilers.own.get(), std::move(remote));
  return compilers;
}

// An own broker has the board that the session was opened with, and no other.
SessionBoards::DeviceList others_of(const TuneCommand& command, const Connection& connection) {
  if (command.broker.empty()) return {};
  return [&connection] { return fleet::list_devices(connection.address(), kListWithin); };
}

Result<int> run(const TuneCommand& command) {
  Interrupt interrupt;
  std::error_code none;
  auto list = load_tasks(command.tasks);
  if (!list) return list.error();
  const auto hardware = parse_hardware(command.hardware);
  if (!hardware) return hardware.error();
  auto page = start_page(command.web);
  if (!page) return page.error();
  if (*page) note("live page at " + page_text(command.web, **page));
  // Made below, once there is a device that has records.
  const bool made = records::is_server(command.db) || std::filesystem::exists(command.db, none);
  std::optional<Result<records::Database>> opened;
  if (made) opened.emplace(open_to_write(command.db, &interrupt));
  if (made && !*opened) return opened->error();

  const auto threads = backend::value_of(*hardware, "threads");
  const int local_threads = static_cast<int>(threads.value_or(0));
  auto connection =
      Connection::open({command.broker, command.broker_key, command.device, command.tasks.what,
                        local_threads, &interrupt, command.priority, kBrokerAway});
  if (!connection) return connection.error();
  if (!made) opened.emplace(open_to_write(command.db, &interrupt));
  auto& database = *opened;
  if (!database) return database.error();
  tune::Runner& runner = connection->runner();
  // Records go under the device's own key, also where it was asked for by another of its keys.
  const std::string device_key = runner.device().key;
  auto target = target_of(runner.device(), *hardware);
  if (!target) return target.error();
  // An accelerator is tuned for its own part of a network.
  if (const auto accelerates = accelerates_of(*target)) {
    list = load_tasks(command.tasks, accelerates);
    if (!list) return list.error();
  }
  auto open = open_tasks(*list, *target);
  if (!open) return open.error();
  const auto weights_bytes = cold_weights(command, *list, runner.device());
  if (!weights_bytes) return weights_bytes.error();
  auto histories =
      history_of(*database, *open, *target, runner.device(), *weights_bytes > 0, command);
  if (!histories) return histories.error();

  const std::vector<int> all_cores = usable_cores();  // with the device's
  pin_process(connection->free_cores());
  auto compilers = start_compilers(command, *connection, interrupt);
  if (!compilers) return compilers.error();
  tune::Builder& builder = *compilers->both;
  if (auto known_device = database->register_device(runner.board(), runner.device());
      !known_device) {
    return known_device.error();
  }
  BoardCeilings ceilings(*database, runner, interrupt, *target, [&connection] {
    return fleet::list_devices(connection->address(), kListWithin);
  });
  const auto roofline = ceilings.own();
  if (!roofline) return roofline.error();

  auto experience = std::make_shared<cost::Experience>();
  tune::Pace pace;
  // Dies before what is above; the searchers' plans are made on it.
  std::optional<tune::Background> background;
  if (!command.deterministic) background.emplace();
  tune::Background* beside = background ? &*background : nullptr;
  if (command.transfer) {
    if (auto taught = transfer(*database, runner.device(), *target, open->tasks, command.resume,
                               *weights_bytes > 0, command.prior, experience, beside);
        !taught) {
      return taught.error();
    }
  }
  auto tasks = searched_tasks(command, *open, *histories, *target, experience, beside, pace);
  if (!tasks) return tasks.error();
  std::vector<space::Workload> workloads;
  for (const tune::TuneTask& task : *tasks) workloads.push_back(task.task.workload);
  MeasuredReferences references;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    if (auto added = add_device_reference(workloads[i], *open->opened[i], *target, builder, runner,
                                          interrupt, references);
        !added) {
      return added.error();
    }
  }
  tune::ExpectedOutputs expected(std::move(workloads),
                                 expected_by_references(list->folder, std::move(references)));

  tune::TuneOptions options;
  options.session = random_session_id();
  options.device_key = device_key;
  options.trials = command.trials;
  options.deterministic = command.deterministic;
  options.early_stopping = command.early_stopping;
  options.finalists = command.finalists;
  options.measure = measure_options(command);
  options.measure.weights_bytes = *weights_bytes;
  for (const tune::TuneTask& task : *tasks) {
    if (task.task.workload.kernel()) options.hopeless = kHopeless;
  }
  RecordStore store(*database);
  records::Session session;
  session.session = options.session;
  session.name = command.tasks.what;
  session.device_key = device_key;
  session.options = records::dump_json(options_json(command));
  session.seed = command.seed;
  session.software = kVersion;
  session.started_ms = unix_ms_now();
  if (auto begun = store.begin(std::move(session)); !begun) return begun.error();

  auto scheduler = tune::make_scheduler(command.scheduler, command.seed);
  if (!scheduler) return scheduler.error();
  SessionBoards boards(runner.board(), runner.device(), command.device,
                       others_of(command, *connection));
  auto view = make_view(command, &boards, &store);
  TunePage listener(page->get(), boards, *view, command.tasks.what);
  IdleRunner idle_runner(
      runner, lends_cores(compilers->own.get(), beside, connection->free_cores(), all_cores));
  const tune::TuneSummary summary = tune::tune(
      *tasks, *target, options,
      {builder, idle_runner, store, expected, **scheduler, interrupt, listener, *roofline,
       [&](const std::string& board_id, bool again, std::vector<tune::Measured>& others) {
         return ceilings.of(board_id, again, others);
       },
       &pace});
  listener.end(summary.progress);
  view.reset();
  const auto ended = store.end(summary);
  const int status = report(command, summary, &boards);
  if (!ended) return ended.error();
  return status;
}

}  // namespace

int run_tuning(const TuneCommand& command) {
  auto status = run(command);
  if (status) return *status;
  const bool interrupted = status.error().code == ErrorCode::Canceled;
  const int failed = fail(status.error());
  return interrupted ? kInterrupted : failed;
}

}  // namespace fettle::app

// run_tuning (tuning_session.h): everything around tune().
#include "host/app/tuning_session.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "host/app/board_ceilings.h"
#include "host/app/connection.h"
#include "host/app/cores.h"
#include "host/app/expected.h"
#include "host/app/first_configurations.h"
#include "host/app/hardware_options.h"
#include "host/app/idle_runner.h"
#include "host/app/interrupt.h"
#include "host/app/json_view.h"
#include "host/app/message.h"
#include "host/app/record_database.h"
#include "host/app/record_store.h"
#include "host/app/session_boards.h"
#include "host/app/transfer.h"
#include "host/app/tune_page.h"
#include "host/app/tuning_report.h"
#include "host/app/version.h"
#include "host/backend/backend.h"
#include "host/cost/time_model.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/build_pool.h"
#include "host/fleet/build_split.h"
#include "host/records/json_fields.h"
#include "host/records/queries.h"
#include "host/space/workload.h"
#include "host/tune/background.h"
#include "host/tune/outcomes.h"
#include "host/tune/started_searcher.h"
#include "schemas/wire/clock_domain.h"

namespace fettle::app {
namespace {

// Trials of a kernel that a user wrote, all failed: there is a mistake in it.
constexpr std::uint32_t kHopeless = 100;
constexpr std::chrono::seconds kListWithin{5};  // a broker lists its boards

// The tasks that the back end has a search space for, opened.
struct OpenTasks {
  std::vector<space::Task> tasks;
  std::vector<std::unique_ptr<const backend::Task>> opened;
};

Result<OpenTasks> open_tasks(const model::TaskList& list, const space::Target& target) {
  OpenTasks result;
  if (!backend::find_backend(target.backend())) {
    return Error{
        ErrorCode::Unsupported, "no back end \"" + target.backend() + "\" in this build", {}};
  }
  for (const space::Task& task : list.tasks) {
    auto opened = backend::open_task(task.workload, target);
    // Of many layers some may be nothing for a device; a kernel is the only thing asked for.
    if (!opened && opened.error().code == ErrorCode::Unsupported && !task.workload.kernel()) {
      warn("skipped: " + task.workload.title() + ": " + opened.error().text());
      continue;
    }
    if (!opened && task.workload.kernel()) return std::move(opened).error();
    if (!opened)
      return std::move(opened.error()).in("making the search space of " + task.workload.title());
    result.tasks.push_back(task);
    result.opened.push_back(std::move(*opened));
  }
  if (result.tasks.empty()) {
    return Error{ErrorCode::Unsupported, "the device can run no task of " + list.name, {}};
  }
  return result;
}

// Of MeasureOptions: 0 where weights stay in the caches.
Result<std::uint64_t> cold_weights(const TuneCommand& command, const model::TaskList& list,
                                   const wire::DeviceInfoT& device) {
  const bool cpu = device.kind == wire::DeviceKind::Cpu;
  if (command.weights == "warm") return std::uint64_t{0};
  if (command.weights == "auto") {
    // What counts instructions has no caches.
    const bool time = clock_facts(device.clock).has_rate;
    return cpu && time ? list.weights_bytes : std::uint64_t{0};
  }
  if (!cpu) {
    return Error{
        ErrorCode::Unsupported, "--weights cold: only a CPU keeps so many copies of them", {}};
  }
  if (list.weights_bytes == 0) {
    return Error{ErrorCode::InvalidArgument,
                 "--weights cold: " + list.name +
                     " does not say how large a network's weights are; an ONNX file with "
                     "weights does",
                 {}};
  }
  return list.weights_bytes;
}

wire::MeasureOptionsT measure_options(const TuneCommand& command) {
  wire::MeasureOptionsT options = tune::default_measuring();
  options.number = command.number;
  options.repeat = command.repeat;
  options.min_samples = std::min(options.min_samples, command.repeat);
  options.min_repeat_ms = command.min_repeat_ms;
  options.timeout_ms = static_cast<std::uint32_t>(command.timeout_s * 1000 + 0.5);
  options.cooldown_ms = command.cooldown_ms;
  options.flush_cache = command.flush_cache;
  return options;
}

// Old records of the tasks: fed to the search with --resume, mentioned without. Those of
// an emulator are nothing to a board, nor the other way; nor are times with weights in the caches
// to times without.
Result<std::vector<std::vector<records::TuningRecord>>> history_of(
    const records::Database& database, const OpenTasks& open, const space::Target& target,
    const wire::DeviceInfoT& device, bool cold, const TuneCommand& command) {
  std::vector<std::vector<records::TuningRecord>> histories;
  std::size_t total = 0, known = 0;
  for (std::size_t i = 0; i < open.tasks.size(); ++i) {
    records::Filter filter;
    filter.workload = open.tasks[i].workload.canonical();
    filter.target = target.canonical();
    filter.device_key = device.key;
    filter.emulated = device.emulated;
    filter.clock = device.clock;
    filter.cold_weights = cold;
    auto history = records::history(database, filter);
    if (!history) return history.error();
    total += history->size();
    // As host/tune/trials.cpp counts them: a lost board's, say, are tried again.
    const auto& space = open.opened[i]->space();
    known += static_cast<std::size_t>(std::count_if(
        history->begin(), history->end(), [&space](const records::TuningRecord& record) {
          return !tune::transient(record.outcome) && space.parse(record.configuration).ok();
        }));
    histories.push_back(command.resume ? std::move(*history)
                                       : std::vector<records::TuningRecord>());
  }
  if (command.resume) {
    note(fmt::format("resuming: {} trials of these tasks are in {}", known,
                     records::shown_database(command.db)));
    if (known >= command.trials) {
      note(fmt::format("they count: --trials {} leaves none to try; a larger one goes on",
                       command.trials));
    }
  } else if (total > 0) {
    note(
        fmt::format("{} holds {} trials of these tasks already; they are kept and new ones are "
                    "added (--resume would go on from them)",
                    records::shown_database(command.db), total));
  }
  return histories;
}

nlohmann::json options_json(const TuneCommand& command) {
  return {{"what", command.tasks.what},
          {"trials", command.trials},
          {"searcher", command.searcher},
          {"scheduler", command.scheduler},
          {"deterministic", command.deterministic},
          {"transfer", command.transfer},
          {"prior", command.prior},
          {"first", command.first},
          {"resume", command.resume},
          {"early_stopping", command.early_stopping},
          {"finalists", command.finalists},
          {"number", command.number},
          {"repeat", command.repeat},
          {"min_repeat_ms", command.min_repeat_ms},
          {"timeout_s", command.timeout_s},
          {"cooldown_ms", command.cooldown_ms},
          {"flush_cache", command.flush_cache},
          {"weights", command.weights},
          {"hardware", command.hardware},
          {"builders", command.builders},
          {"build_on", command.build_on}};
}

// Teaches `experience` what earlier sessions left: at once, or on `background`.
Result<void> transfer(const records::Database& database, const wire::DeviceInfoT& device,
                      const space::Target& target, const std::vector<space::Task>& tasks,
                      bool resumed, bool with_prior, std::shared_ptr<cost::Experience> experience,
                      tune::Background* background) {
  auto lessons = earlier_lessons(database, device, target, tasks, resumed);
  if (!lessons) return lessons.error();
  const backend::Backend& backend = *backend::find_backend(target.backend());
  auto learn = [lessons = std::move(*lessons), experience, &backend, target, with_prior] {
    learn_lessons(lessons, backend, target, with_prior, *experience);
  };
  if (background) {
    background->post(std::move(learn));
  } else {
    learn();
  }
  return {};
}

// Tasks with their searchers. Takes the histories.
Result<std::vector<tune::TuneTask>> searched_tasks(
    const TuneCommand& command, const OpenTasks& open,
    std::vector<std::vector<records::TuningRecord>>& histories, const space::Target& target,
    std::shared_ptr<cost::Experience> experience, tune::Background* background,
    const tune::Pace& pace) {
  const std::vector<std::string> features =
      backend::find_backend(target.backend())->feature_names();
  std::vector<std::vector<space::Configuration>> first(open.tasks.size());
  if (!command.first.empty()) {
    auto read = first_configurations(command.first, open.tasks, open.opened, target);
    if (!read) return std::move(read).error();
    first = std::move(*read);
  }
  std::vector<tune::TuneTask> tasks;
  for (std::size_t i = 0; i < open.tasks.size(); ++i) {
    const backend::Task& opened = *open.opened[i];
    tune::TuneTask task{open.tasks[i], &opened.space(), nullptr, std::move(histories[i])};
    tune::SearcherOptions how;
    how.seed = command.seed * 1000003 + i;
    if (opened.lowers()) {
      how.features = [&opened](const space::Configuration& configuration) {
        return opened.features(configuration);
      };
      how.itervar_features = [&opened](const space::Configuration& configuration) {
        return opened.itervar_features(configuration);
      };
      how.feature_count = features.size();
      how.estimate = cost::estimate_among(features);
      how.screen = [&opened](std::span<const float> features) { return opened.screen(features); };
      if (command.prior) how.prior = cost::shipped_prior(task.task.workload, target, features);
      how.experience = experience;
    }
    how.task = task.task.workload.canonical();
    how.background = background;
    if (background) how.pace = &pace;
    how.trials = (command.trials + open.tasks.size() - 1) / open.tasks.size();
    auto searcher = tune::make_searcher(command.searcher, *task.space, how);
    if (!searcher) return searcher.error();
    task.searcher = first[i].empty()
                        ? std::move(*searcher)
                        : tune::make_started(std::move(*searcher), std::move(first[i]));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

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
                        local_threads, &interrupt, command.priority});
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
                               command.prior, experience, beside);
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

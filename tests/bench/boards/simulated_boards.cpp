// Starting, watching and ending agents (simulated_boards.h).
#include "tests/bench/boards/simulated_boards.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "host/app/cores.h"
#include "host/fleet/broker_question.h"
#include "host/fleet/session.h"
#include "host/process/child_process.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/process_cpu.h"
#include "tests/bench/versions/logged_child.h"

namespace fettle::bench {
namespace {

using std::chrono::steady_clock;
constexpr auto kRegisteredWithin = std::chrono::seconds(60);
constexpr auto kListedWithin = std::chrono::seconds(5);
constexpr auto kGrace = std::chrono::seconds(2);
constexpr auto kLook = std::chrono::milliseconds(20);

Result<pid_t> start_agent(const std::vector<std::string>& argv, const std::filesystem::path& log) {
  const int input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int output = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  process::ChildPlan plan;
  plan.argv = argv;
  plan.descriptors = {{input, 0}, {output, 1}, {output, 2}};
  Result<pid_t> pid = input < 0 || output < 0
                          ? Error{ErrorCode::Io, "cannot write " + log.string(), {}}
                          : process::start_child(plan);
  if (input >= 0) ::close(input);
  if (output >= 0) ::close(output);
  return pid;
}

Result<std::size_t> registered(const fleet::BrokerAddress& address) {
  auto list = fleet::list_devices(address, kListedWithin);
  if (!list) return std::move(list).error();
  std::size_t boards = 0;
  for (const auto& status : list->keys) {
    for (const auto& device : status->devices) boards += device->key == kSimulatedKey ? 1 : 0;
  }
  return boards;
}

}  // namespace

Result<std::unique_ptr<SimulatedBoards>> SimulatedBoards::start(const BrokerProcess& broker,
                                                                const std::filesystem::path& folder,
                                                                double run_ms,
                                                                const tune::StopSignal& stop) {
  const std::string program = sibling_program("fettle-simulated-board").string();
  if (::access(program.c_str(), X_OK) != 0) {
    return Error{ErrorCode::NotFound,
                 "no program " + program + ": ninja -C build fettle-simulated-board"};
  }
  const std::vector<int> cores = app::usable_cores();
  std::unique_ptr<SimulatedBoards> boards(new SimulatedBoards);
  for (const fleet::KeyPair& key : broker.agents()) {
    const std::string name = "board-" + std::to_string(boards->boards_.size() + 1);
    const auto key_file = folder / (name + ".key"), log = folder / (name + ".log");
    if (auto stored = fleet::write_key_file(key_file, key); !stored) return stored.error();
    const int core = cores[boards->boards_.size() % cores.size()];
    // A model of its own makes it a board of its own.
    auto pid = start_agent(
        {program, "--broker", broker.url(), "--broker-key", broker.public_key(), "--key-file",
         key_file.string(), "--log-level", "warning", "--board-model", "simulated " + name, "--key",
         kSimulatedKey, "--device-cores", std::to_string(core), "--run-ms", std::to_string(run_ms)},
        log);
    if (!pid) return std::move(pid).error();
    boards->boards_.push_back({*pid, log});
  }
  const auto start = steady_clock::now();
  for (;;) {
    const auto count = registered({broker.url(), broker.public_key(), broker.client()});
    if (!count) return count.error();
    if (*count == boards->boards_.size()) return boards;
    if (stop.requested()) return Error{ErrorCode::Canceled, "interrupted", {}};
    if (auto alive = boards->check_alive(); !alive) return alive.error();
    if (steady_clock::now() - start > kRegisteredWithin) {
      return Error{ErrorCode::Timeout, "within a minute only " + std::to_string(*count) + " of " +
                                           std::to_string(boards->boards_.size()) +
                                           " simulated boards came to the broker"};
    }
    std::this_thread::sleep_for(kLook);
  }
}

SimulatedBoards::~SimulatedBoards() {
  for (const Board& board : boards_) ::kill(board.pid, SIGTERM);
  const auto until = steady_clock::now() + kGrace;
  for (const Board& board : boards_) {
    while (::waitpid(board.pid, nullptr, WNOHANG) == 0) {
      if (steady_clock::now() > until) {
        process::end_child(board.pid);
        break;
      }
      std::this_thread::sleep_for(kLook);
    }
  }
}

Result<void> SimulatedBoards::check_alive() const {
  for (const Board& board : boards_) {
    siginfo_t ended{};
    // Left to be waited for: its pid stays its own.
    if (::waitid(P_PID, static_cast<id_t>(board.pid), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        ended.si_pid == 0) {
      continue;
    }
    const auto said = text_of_file(board.log);
    return Error{
        ErrorCode::Crash,
        "a simulated board has ended; it said: " + (said && !said->empty() ? *said : "nothing"),
        {}};
  }
  return {};
}

double SimulatedBoards::cpu_seconds() const {
  double seconds = 0;
  for (const Board& board : boards_) seconds += cpu_seconds_of(board.pid);
  return seconds;
}

}  // namespace fettle::bench

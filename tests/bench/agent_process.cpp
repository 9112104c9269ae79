// Starting and ending the broker and agent of a benchmark.
#include "tests/bench/agent_process.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "host/fleet/broker_question.h"

extern char** environ;

namespace fettle::bench {
namespace {

namespace fs = std::filesystem;

bool has_key(const wire::DeviceListT& list, const std::string& key, wire::DeviceInfoT& device) {
  for (const auto& status : list.keys) {
    if (!status || status->key != key || status->devices.empty()) continue;
    device = *status->devices.front();
    return true;
  }
  return false;
}

}  // namespace

fs::path sibling_program(const std::string& name) {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path() / name;
}

fs::path default_agents_folder() {
  return sibling_program("").parent_path().parent_path() / "agents";
}

Result<std::unique_ptr<PrivateFleet>> PrivateFleet::start() {
  std::unique_ptr<PrivateFleet> fleet(new PrivateFleet);
  std::string pattern = (fs::temp_directory_path() / "fettle-bench-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    return Error{ErrorCode::Io, "no temporary folder: " + std::string(std::strerror(errno)), {}};
  }
  fleet->folder_ = pattern;
  const fleet::KeyFolder keys(fleet->folder_);
  Result<fleet::KeyPair> agent = keys.create("agent");
  if (!agent) return std::move(agent).error();
  Result<fleet::KeyPair> client = fleet::make_key_pair();
  if (!client) return std::move(client).error();
  Result<fleet::KeyPair> broker = fleet::make_key_pair();
  if (!broker) return std::move(broker).error();
  fleet->agent_ = *agent;
  fleet->client_ = *client;
  fleet::BrokerOptions options;
  options.keys = *broker;
  options.allowed = {{"bench", wire::Role::Client, client->public_key},
                     {"agent", wire::Role::Agent, agent->public_key}};
  Result<std::unique_ptr<fleet::Broker>> started = fleet::Broker::start(std::move(options));
  if (!started) return std::move(started).error();
  fleet->broker_ = std::move(*started);
  return fleet;
}

PrivateFleet::~PrivateFleet() {
  stop_agent();
  broker_.reset();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

fleet::BrokerAddress PrivateFleet::address() const {
  return {broker_->endpoint(), broker_->public_key(), client_};
}

Result<pid_t> PrivateFleet::start_agent(const fs::path& program, const std::string& key,
                                        const std::vector<std::string>& options) {
  std::vector<std::string> words = {program.string(),
                                    "--broker",
                                    broker_->endpoint(),
                                    "--broker-key",
                                    broker_->public_key(),
                                    "--key-file",
                                    fleet::KeyFolder(folder_).key_file("agent").string(),
                                    "--log-level",
                                    "warning"};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--key", key});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int failed = posix_spawn(&pid_, argv[0], nullptr, nullptr, argv.data(), environ);
  if (failed != 0) {
    pid_ = 0;
    return Error{ErrorCode::NotFound,
                 "'" + program.string() + "' cannot be started: " + std::strerror(failed) +
                     "; './dev agents' builds the agents",
                 {}};
  }
  return pid_;
}

Result<wire::DeviceInfoT> PrivateFleet::wait_for(const std::string& key,
                                                 std::chrono::milliseconds at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  wire::DeviceInfoT device;
  while (std::chrono::steady_clock::now() < until) {
    Result<wire::DeviceListT> list =
        fleet::list_devices(address(), std::chrono::milliseconds(2000));
    if (!list) return std::move(list).error();
    if (has_key(*list, key, device)) return device;
    int status = 0;
    if (pid_ != 0 && waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = 0;
      return Error{ErrorCode::Unreachable, "the agent ended before it registered", {}};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return Error{ErrorCode::Timeout,
               "the agent did not register within " + std::to_string(at_most.count()) + " ms",
               {}};
}

void PrivateFleet::stop_agent() {
  if (pid_ == 0) return;
  kill(pid_, SIGTERM);
  for (int i = 0; i < 200; ++i) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = 0;
      return;
    }
    usleep(10'000);
  }
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace fettle::bench

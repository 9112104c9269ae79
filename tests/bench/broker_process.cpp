// Starting, watching and ending a broker (broker_process.h).
#include "tests/bench/broker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "host/fleet/allow_list.h"
#include "host/process/child_process.h"
#include "tests/bench/agent_process.h"
#include "tests/bench/process_memory.h"

namespace fettle::bench {

Result<std::unique_ptr<BrokerProcess>> BrokerProcess::start(const std::string& program,
                                                            unsigned agents) {
  const std::string path = program.empty() ? sibling_program("fettle").string() : program;
  if (::access(path.c_str(), X_OK) != 0) {
    return Error{ErrorCode::NotFound, "no program " + path + ": ninja -C build fettle"};
  }
  std::unique_ptr<BrokerProcess> broker(new BrokerProcess);
  auto client = fleet::make_key_pair();
  if (!client) return std::move(client).error();
  broker->client_ = *client;
  std::vector<fleet::Permission> allowed = {
      {"clients", wire::Role::Client, client->public_key, {}, {}}};
  for (unsigned i = 0; i < agents; ++i) {
    auto agent = fleet::make_key_pair();
    if (!agent) return std::move(agent).error();
    allowed.push_back({"agent-" + std::to_string(i), wire::Role::Agent, agent->public_key, {}, {}});
    broker->agents_.push_back(std::move(*agent));
  }
  const fleet::KeyFolder keys(broker->folder_.file(""));
  auto written =
      fleet::write_file_atomically(keys.allow_file(), fleet::format_allow_list(allowed), 0600);
  if (!written) return std::move(written).error();
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error{ErrorCode::Io, "cannot make a pipe"};
  process::ChildPlan plan;
  plan.argv = {"env",      "FETTLE_HOME=" + broker->folder_.file(""),
               path,       "broker",
               "--listen", "tcp://127.0.0.1:*",
               "--json"};
  plan.descriptors = {{ends[1], 1}, {2, 2}};
  auto pid = process::start_child(plan);
  ::close(ends[1]);
  if (!pid) {
    ::close(ends[0]);
    return std::move(pid).error();
  }
  broker->pid_ = *pid;
  std::string line;
  pollfd said{ends[0], POLLIN, 0};
  for (char letter = 0; letter != '\n' && ::poll(&said, 1, 10'000) == 1;) {
    if (::read(ends[0], &letter, 1) != 1) break;
    line += letter;
  }
  ::close(ends[0]);
  const auto listening = nlohmann::json::parse(line, nullptr, false);
  if (listening.is_discarded() || !listening.contains("endpoint")) {
    return Error{ErrorCode::Unreachable, "the broker did not say where it listens"};
  }
  broker->url_ = listening["endpoint"];
  broker->public_key_ = listening["public_key"];
  return broker;
}

BrokerProcess::~BrokerProcess() {
  if (pid_ > 0) process::end_child(pid_);
}

bool BrokerProcess::runs() const { return pid_ > 0 && ::kill(pid_, 0) == 0; }

double BrokerProcess::Usage::seconds() const {
  double all = 0;
  for (const auto& [name, seconds] : thread_seconds) all += seconds;
  return all;
}

BrokerProcess::Usage BrokerProcess::usage() const {
  Usage usage;
  const auto family = memory_of(pid_);
  if (!family.empty()) usage.resident_bytes = family.front().resident_bytes;
  const double tick = 1.0 / static_cast<double>(::sysconf(_SC_CLK_TCK));
  std::error_code failed;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task", failed)) {
    std::ifstream file(task.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t open = text.find('('), close = text.rfind(')');
    if (close == std::string::npos) continue;
    std::istringstream rest(text.substr(close + 2));  // from field 3 on; 14 and 15 are the times
    std::string field;
    for (int i = 3; i < 14; ++i) rest >> field;
    double user = 0, system = 0;
    rest >> user >> system;
    usage.thread_seconds[task.path().filename().string() + " " +
                         text.substr(open + 1, close - open - 1)] = (user + system) * tick;
  }
  return usage;
}

}  // namespace fettle::bench

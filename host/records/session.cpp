// Names of session states, and whether the process of a session still lives.
#include "host/records/session.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

namespace fettle::records {
namespace {

constexpr std::array<std::pair<SessionState, const char*>, 6> kStates{{
    {SessionState::Running, "running"},
    {SessionState::Finished, "finished"},
    {SessionState::Interrupted, "interrupted"},
    {SessionState::Failed, "failed"},
    {SessionState::Killed, "killed"},
    {SessionState::Unknown, "unknown"},
}};

// Field 22 of /proc/PID/stat: the start in clock ticks since boot, so that a
// recycled process number is not taken for the old process. "" when it is gone.
std::string start_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  std::size_t at = all.rfind(')');  // the command's name may hold anything
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = all.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return all.substr(at + 1, all.find(' ', at + 1) - at - 1);
}

// name, boot and process-number namespace, by '/'.
std::string this_host() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  std::array<char, 64> space{};
  (void)!readlink("/proc/self/ns/pid", space.data(), space.size() - 1);
  return std::string(name.data()) + "/" + boot + "/" + space.data();
}

}  // namespace

const char* name_of(SessionState state) {
  for (const auto& [value, name] : kStates) {
    if (value == state) return name;
  }
  return "unknown";
}

std::optional<SessionState> session_state(const std::string& name) {
  for (const auto& [value, known] : kStates) {
    if (name == known) return value;
  }
  return std::nullopt;
}

ProcessIdentity this_process() {
  const std::string pid = std::to_string(getpid());
  return {this_host(), pid + "@" + start_of(pid)};
}

bool may_be_alive(const ProcessIdentity& identity) {
  if (identity.host != this_host()) {
    const auto name = [](const std::string& host) { return host.substr(0, host.find('/')); };
    const auto boot = [&](const std::string& host) {
      const std::size_t at = host.find('/');
      return at == std::string::npos ? std::string() : host.substr(at, host.rfind('/') - at);
    };
    // This machine, started anew since: gone. Another machine or container: unknown.
    return !(name(identity.host) == name(this_host()) && !boot(identity.host).empty() &&
             boot(identity.host) != boot(this_host()));
  }
  const std::size_t at = identity.process.find('@');
  if (at == std::string::npos) return true;
  const std::string pid = identity.process.substr(0, at);
  const long number = std::strtol(pid.c_str(), nullptr, 10);
  if (number <= 0) return true;
  if (kill(static_cast<pid_t>(number), 0) != 0 && errno == ESRCH) return false;
  return start_of(pid) == identity.process.substr(at + 1);
}

}  // namespace fettle::records

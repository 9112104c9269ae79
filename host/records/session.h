// One run of `fettle tune`, and how it ended: a log must tell a finished session
// from an interrupted one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace fettle::records {

enum class SessionState {
  Running,      // its process lives (or lives where we cannot look)
  Finished,     // did all its trials, or stopped early as asked
  Interrupted,  // Ctrl-C or a signal; it closed its database itself
  Failed,       // ended by an Error, which is in `reason`
  Killed,       // never said good-bye and its process is gone
  Unknown       // known only through imported trials
};
const char* name_of(SessionState state);  // "finished"
std::optional<SessionState> session_state(const std::string& name);

struct Session {
  std::string session;  // hex
  std::string name;     // for people: the network or workloads file
  std::string device_key;
  std::string options = "{}";  // JSON: what was asked for
  std::uint64_t seed = 0;
  std::string software;         // version of fettle
  std::int64_t started_ms = 0;  // Unix time
  std::optional<std::int64_t> ended_ms;
  SessionState state = SessionState::Unknown;
  std::string reason;
  bool operator==(const Session&) const = default;
};

// Who runs a session: where, and which process. Compared later to see whether a
// session without an end was killed.
struct ProcessIdentity {
  std::string host, process;
};
ProcessIdentity this_process();
// False only when it is certain that the process is gone.
bool may_be_alive(const ProcessIdentity& identity);

}  // namespace fettle::records

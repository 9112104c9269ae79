// Lines of events (audit_log.h).
#include "host/fleet/audit_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>

namespace fettle::fleet {
namespace {

std::string time_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  const std::time_t seconds = ms / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text + length, sizeof text - length, ".%03dZ", static_cast<int>(ms % 1000));
  return text;
}

Result<int> open_for_appending(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return Error{ErrorCode::Io, path + ": " + std::strerror(errno)};
  return fd;
}

}  // namespace

std::string audit_line(const BrokerEvent& event) {
  nlohmann::ordered_json out = {{"time", time_now()}, {"event", event_name(event.kind)}};
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) out[name] = value;
  };
  const auto number = [&](const char* name, std::uint64_t value) {
    if (value != 0) out[name] = value;
  };
  text("name", event.name);
  text("key", event.public_key);
  text("board", event.board_id);
  number("session", event.session);
  number("trial", event.trial);
  number("lease", event.lease);
  number("bytes", event.bytes);
  text("text", event.text);
  return out.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
}

AuditLog::AuditLog(std::string path, int descriptor)
    : path_(std::move(path)), lines_(descriptor, [](std::uint64_t lost) {
        return nlohmann::ordered_json{
                   {"time", time_now()}, {"event", "lines-lost"}, {"lines", lost}}
                   .dump() +
               "\n";
      }) {}

Result<std::unique_ptr<AuditLog>> AuditLog::open(const std::string& path) {
  if (path == "-") return std::unique_ptr<AuditLog>(new AuditLog(path, STDERR_FILENO));
  auto opened = open_for_appending(path);
  if (!opened) return std::move(opened).error();
  return std::unique_ptr<AuditLog>(new AuditLog(path, *opened));
}

void AuditLog::write(const BrokerEvent& event) { lines_.write(audit_line(event)); }

Result<void> AuditLog::reopen() {
  if (path_ == "-") return {};
  auto opened = open_for_appending(path_);
  if (!opened) return std::move(opened).error();
  lines_.move_to(*opened);
  return {};
}

}  // namespace fettle::fleet

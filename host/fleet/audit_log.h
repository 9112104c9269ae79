// Who did what, as JSON lines: one object each, for journald or a file.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "host/fleet/broker_events.h"
#include "schemas/wire/result.h"

namespace fettle::fleet {

// {"time":"2026-11-25T08:00:00.000Z","event":"session-opened","name":"laptop",…}: fields that an
// event does not have are left out. ASCII: what came from outside cannot end a line or colour a
// terminal.
std::string audit_line(const BrokerEvent& event);

// From any thread. A line that cannot be written is lost: the broker goes on.
class AuditLog {
 public:
  // `path` is appended to, readable by its owner alone; "-" is standard error. Io.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& path);
  ~AuditLog();
  AuditLog(const AuditLog&) = delete;
  AuditLog& operator=(const AuditLog&) = delete;

  void write(const BrokerEvent& event);
  // The file may have been moved (logrotate): opened by its name again. Io leaves the one that is.
  Result<void> reopen();

 private:
  explicit AuditLog(std::string path) : path_(std::move(path)) {}
  const std::string path_;
  std::mutex mutex_;
  int fd_ = -1;
};

}  // namespace fettle::fleet

// Who did what, as JSON lines: one object each, for journald or a file.
#pragma once

#include <memory>
#include <string>

#include "host/fleet/broker_events.h"
#include "host/fleet/line_writer.h"
#include "schemas/wire/result.h"

namespace fettle::fleet {

// {"time":"2026-11-25T08:00:00.000Z","event":"session-opened","name":"laptop",…}: fields that an
// event does not have are left out. ASCII: what came from outside cannot end a line or colour a
// terminal.
std::string audit_line(const BrokerEvent& event);

// From any thread. A line that cannot be written is lost: the broker goes on. How many were is the
// next line that can be, an event "lines-lost".
class AuditLog {
 public:
  // `path` is appended to, readable by its owner alone; "-" is standard error. Io.
  static Result<std::unique_ptr<AuditLog>> open(const std::string& path);
  void write(const BrokerEvent& event);
  // The file may have been moved (logrotate): opened by its name again. Io leaves the one that is.
  Result<void> reopen();
  std::uint64_t lost() const { return lines_.lost(); }

 private:
  AuditLog(std::string path, int descriptor);
  const std::string path_;
  LineWriter lines_;
};

}  // namespace fettle::fleet

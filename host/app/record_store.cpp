// RecordStore (record_store.h).
#include "host/app/record_store.h"

#include <chrono>
#include <random>

#include <fmt/format.h>

namespace fettle::app {

Result<void> RecordStore::begin(records::Session session) {
  session_ = session.session;
  return database_.begin_session(std::move(session));
}

Result<void> RecordStore::end(const tune::TuneSummary& summary) {
  records::SessionState state = records::SessionState::Finished;
  std::string reason;
  if (summary.end == tune::SessionEnd::Interrupted) state = records::SessionState::Interrupted;
  if (summary.end == tune::SessionEnd::Failed) state = records::SessionState::Failed;
  if (summary.error) reason = summary.error->text();
  return database_.end_session(session_, state, reason, unix_ms_now());
}

Result<void> RecordStore::add(const records::TuningRecord& record) {
  auto id = database_.insert(record);
  if (!id) return std::move(id.error());
  last_ = *id;
  return {};
}

std::int64_t unix_ms_now() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string random_session_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace fettle::app

// RecordStore: the database as the tuning loop's sink, and the session's row in it.
#pragma once

#include <string>

#include "host/records/database.h"
#include "host/tune/tune.h"

namespace fettle::app {

class RecordStore final : public tune::RecordSink {
 public:
  explicit RecordStore(records::Database& database) : database_(database) {}

  Result<void> begin(records::Session session);
  Result<void> end(const tune::TuneSummary& summary);
  Result<void> add(const records::TuningRecord& record) override;
  std::int64_t last() const { return last_; }  // the number of what was added last; 0: nothing
  Result<void> confirm(std::span<const records::Confirmation> confirmations) override {
    return database_.confirm(confirmations);
  }

 private:
  records::Database& database_;
  std::string session_;
  std::int64_t last_ = 0;
};

std::int64_t unix_ms_now();
std::string random_session_id();  // 16 hex digits

}  // namespace fettle::app

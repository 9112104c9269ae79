// RecordStore: the database as the tuning loop's sink, and the session's row in it.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "host/records/database.h"
#include "host/tune/tune.h"

namespace fettle::app {

class RecordStore final : public tune::RecordSink {
 public:
  // `meet_boards` is called before the first record of a device that this object has not seen:
  // it may register the boards that the broker has by then.
  explicit RecordStore(records::Database& database, std::function<void()> meet_boards = {})
      : database_(database), meet_boards_(std::move(meet_boards)) {}

  Result<void> begin(records::Session session);
  Result<void> end(const tune::TuneSummary& summary);
  Result<void> add(const records::TuningRecord& record) override;

 private:
  records::Database& database_;
  std::function<void()> meet_boards_;
  std::set<std::pair<std::string, std::uint32_t>> met_;  // board id, device index
  std::string session_;
};

std::int64_t unix_ms_now();
std::string random_session_id();  // 16 hex digits

}  // namespace fettle::app

// The boards of a session: which ones answer its trials, what they are called, and how they are.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "host/records/record.h"
#include "host/web/recent.h"
#include "schemas/protocol_generated.h"
#include "schemas/wire/result.h"

namespace fettle::app {

struct SessionBoard {
  std::string id, name, model, device;
  // busy: answered a trial a moment ago; quiet: has not; gone: the broker does not have it now.
  std::string state;
  double silent = 0;  // seconds since it answered; since the session began where it never did
  std::uint64_t trials = 0, failed = 0;
  std::optional<double> temperature;  // degrees Celsius, behind the samples of the last measured
  double busy = 0;                    // share of the last minute
  std::vector<double> shares;         // web::Recent::shares
};

class SessionBoards {
 public:
  // The broker's boards, as they are now. Asked for every few seconds, on a thread of its own.
  using DeviceList = std::function<Result<wire::DeviceListT>()>;

  // `own`: the one that the session was opened with, by the key `asked` for. `devices`: empty where
  // that board is the only one there can be.
  SessionBoards(const wire::BoardT& own, const wire::DeviceInfoT& device, const std::string& asked,
                DeviceList devices);
  ~SessionBoards();
  SessionBoards(const SessionBoards&) = delete;
  SessionBoards& operator=(const SessionBoards&) = delete;

  const std::string& pool() const { return pool_; }  // that the session has its boards of
  // A trial of this session ended.
  void add(const records::TuningRecord& record);
  // Now, in the order of their names.
  std::vector<SessionBoard> boards() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    SessionBoard board;
    bool there = true;
    double last = 0;  // seconds of the session
    web::Recent busy;
  };
  double now() const { return std::chrono::duration<double>(Clock::now() - begin_).count(); }
  void ask();
  void take(const wire::DeviceListT& list);

  const Clock::time_point begin_ = Clock::now();
  const std::string pool_, kind_;
  const DeviceList devices_;
  mutable std::mutex mutex_;
  std::map<std::string, Known> known_;  // by board id; bounded: kMost
  std::condition_variable stop_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace fettle::app

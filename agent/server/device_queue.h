// One device in the supervisor: its worker process, and the trials that wait for it.
//
// A candidate can do in its worker what the worker can. So the worker has the trial that
// it is on and no other: the next is handed over when the outcome has come. What it
// answers counts for the trial in work only, by a number drawn for that trial. And a
// worker serves the trials of one client's session: another's meet a fresh process.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "agent/server/blob_store.h"
#include "agent/server/death_note.h"
#include "agent/server/worker_process.h"
#include "schemas/wire/stage_limits.h"

namespace fettle::agent {

class DeviceQueue {
 public:
  // done: called once per accepted lease, with the encoded outcome.
  using Done = std::function<void(std::uint64_t lease, Bytes outcome)>;
  // wanted: blobs of a waiting trial that others have displaced since, to be asked for again.
  using Wanted = std::function<void(std::vector<wire::Hash> missing)>;
  DeviceQueue(wire::DeviceInfoT info, Nursery& nursery, BlobStore& blobs, Done done, Wanted wanted,
              const StageLimits& limits = {});
  ~DeviceQueue();

  const wire::DeviceInfoT& info() const { return info_; }
  // A worker has said what the device is, and none since that it cannot be opened.
  bool ready() const { return ready_; }
  // "" or why there is no such device here, in its worker's words. It is tried again.
  const std::string& refusal() const { return refusal_; }
  int fd() const { return worker_ ? worker_->fd() : -1; }  // of the worker; -1: none now
  std::int32_t worker_pid() const { return pid_; }
  std::vector<std::uint64_t> leases() const;
  bool idle() const { return trials_.empty(); }

  // Blobs that the request names and the store lacks; the trial waits for them.
  // session: whose trial it is; 0: nobody knows, a session of its own.
  std::vector<wire::Hash> accept(std::uint64_t lease, std::uint64_t session, Bytes request);
  // Not wanted any more: dropped, and its worker ended when it is on it.
  void release(std::uint64_t lease);
  void release_all();
  // A piece of it came, over a link that may be slow.
  void blob_grew(const wire::Hash& hash);
  void blob_arrived(const wire::Hash& hash, std::uint64_t bytes);
  // The store cannot hold it: ends the trials that wait for it.
  void blob_refused(const wire::Hash& hash, const Error& error);

  void on_readable();                        // fd()
  bool on_event(const NurseryEvent& event);  // true: it was about this queue's worker
  // Deadlines and restarts. Milliseconds until it wants to be called again.
  int on_time();

 private:
  struct Trial {
    std::uint64_t lease, session;
    Bytes request;
    struct Blob {
      std::uint64_t bytes = 0;  // 0: not known yet
      bool asked = false;       // and not here since
    };
    std::map<wire::Hash, Blob, HashLess> blobs;
    std::uint64_t wanted_ns;  // when its blobs were asked for last, or the last of them grew
    std::uint64_t came_ns;
    int times_asked_again = 0;
    std::uint64_t run_limit_ns = 0, whole_limit_ns = 0;
    std::uint64_t refused_ns = 0;  // since when it could not be passed; 0: not tried, or passed
    std::uint64_t ticket = 0;      // of this handing over; 0: the worker does not have it
    bool released = false;
    bool hidden_death = false;  // a worker that had it died without a word of it
    bool handed() const { return ticket != 0; }
  };
  struct Finished {
    std::uint64_t lease;
    Bytes outcome;
  };

  void start_worker();
  void hand_over();
  void ask_again(Trial& trial);
  void fail_those_without_blobs(std::uint64_t now);
  void give_up_a_worker_that_stays(std::uint64_t now);
  std::optional<Trial> end(std::uint64_t lease);
  void fail(Trial& trial, wire::FailureT failure);
  void worker_died(int wait_status);
  std::optional<Finished> read_worker();
  bool take(Result<Reply> reply, std::optional<Finished>& finished);
  bool take_first(const Reply& reply);
  void fail_all(ErrorCode code, const std::string& why);
  void refuse_late(std::uint64_t now);
  Trial* in_work();  // the first, when the worker has it; null: it has none
  void abandon(Trial& in_work);
  void kill_worker(KillReason reason, std::uint64_t lease);
  KillReason overdue(std::uint64_t now);

  wire::DeviceInfoT info_;
  Nursery& nursery_;
  BlobStore& blobs_;
  Done done_;
  Wanted wanted_;
  StageLimits limits_;
  std::deque<Trial> trials_;  // the one in work first

  std::unique_ptr<WorkerProcess> worker_;
  std::int32_t pid_ = 0;
  bool ready_ = false, worker_ready_ = false;    // some worker was; this one is
  std::optional<std::uint64_t> served_session_;  // of this worker's trials
  std::string refusal_;
  std::uint64_t started_at_ = 0;    // of this worker
  std::uint64_t ending_since_ = 0;  // since when it should end; 0: not yet
  bool stays_ = false;              // it did not end in time, which was said
  // Since when the trial in work can have been worked on, by the supervisor's clock.
  std::uint64_t work_since_ = 0;
  std::uint64_t last_ticket_ = 0;  // of this worker's last outcome; 0: none yet
  KillReason killed_ = KillReason::None;
  std::uint64_t killed_lease_ = 0;  // of the trial that it was killed for; 0: for none
  std::uint64_t killed_at_ = 0;     // for another session; 0: not
  std::uint64_t restart_at_ = 0;
  std::uint32_t early_deaths_ = 0;  // in a row, before any outcome
};

}  // namespace fettle::agent

// One device in the supervisor: its worker process, and the trials that wait for
// it. The worker has at most two: the one it is on and the next, so that it never
// waits for the supervisor's turn on a busy machine.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "agent/server/blob_store.h"
#include "agent/server/death_note.h"
#include "agent/worker/nursery.h"

namespace fettle::agent {

class DeviceQueue {
 public:
  // done: called once per accepted lease, with the encoded outcome.
  using Done = std::function<void(std::uint64_t lease, Bytes outcome)>;
  DeviceQueue(wire::DeviceInfoT info, Nursery& nursery, BlobStore& blobs, Done done);
  ~DeviceQueue();

  const wire::DeviceInfoT& info() const { return info_; }
  bool ready() const { return ready_; }     // the worker has said its sandbox level
  int fd() const { return socket_.get(); }  // of the worker; -1: none now
  std::int32_t worker_pid() const { return pid_; }
  std::vector<std::uint64_t> leases() const;
  bool idle() const { return trials_.empty(); }

  // Blobs that the request names and the store lacks; the trial waits for them.
  std::vector<wire::Hash> accept(std::uint64_t lease, Bytes request);
  // Not wanted any more: dropped when it has not been handed over, else its
  // outcome is.
  void release(std::uint64_t lease);
  void release_all();
  void blob_arrived(const wire::Hash& hash);

  void on_readable();                        // fd()
  bool on_event(const NurseryEvent& event);  // true: it was about this queue's worker
  // Deadlines and restarts. Milliseconds until it wants to be called again.
  int on_time();

 private:
  struct Trial {
    std::uint64_t lease;
    Bytes request;
    std::vector<wire::Hash> blobs;
    std::uint64_t accepted_ns;
    bool handed = false, released = false;
  };

  void start_worker();
  void hand_over();
  void finish(std::uint64_t lease, Bytes outcome);
  void fail(Trial& trial, wire::FailureT failure);
  void worker_died(int wait_status);
  bool drain();
  KillReason overdue(std::uint64_t now) const;

  wire::DeviceInfoT info_;
  Nursery& nursery_;
  BlobStore& blobs_;
  Done done_;
  std::deque<Trial> trials_;  // handed ones first, in the worker's order

  OwnedFd socket_, status_memory_;
  StatusPage* status_ = nullptr;
  Bytes received_;
  std::uint64_t serial_ = 0;  // of the running worker; 0: none
  std::int32_t pid_ = 0;
  bool ready_ = false;
  KillReason killed_ = KillReason::None;
  std::uint64_t restart_at_ = 0;
  std::uint32_t early_deaths_ = 0;  // in a row, before any outcome
};

}  // namespace fettle::agent

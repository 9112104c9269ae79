// One worker process as the supervisor sees it: its channel, its page, its end.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "agent/measure/status_page.h"
#include "agent/worker/nursery.h"
#include "agent/worker/request_link.h"

namespace fettle::agent {

// What a worker's reply must bear: nothing that a candidate could know before. Never 0.
std::uint64_t draw_ticket();

class WorkerProcess {
 public:
  // Asks the nursery for a worker of that device; its start and end come as NurseryEvents
  // with serial().
  static Result<std::unique_ptr<WorkerProcess>> start(Nursery& nursery, std::uint32_t device);
  ~WorkerProcess();  // kills it
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  std::uint64_t serial() const { return serial_; }
  int fd() const { return socket_.get(); }  // -1: closed
  StatusPage& page() const { return *page_; }

  // ticket: what its reply must bear.
  Result<void> send(std::uint64_t ticket, ByteView request, std::span<const PassedBlob> blobs) {
    return send_request(socket_.get(), ticket, request, blobs);
  }
  // Gives `take` each reply that has come, as far as one call may hold up others; an Error for
  // what no worker of ours sends. Stops when `take` returns false. False when there is no more
  // to expect: `take` said so, or the worker's end is closed.
  using Take = std::function<bool(Result<Reply>)>;
  bool read(const Take& take);
  bool holds_part() const { return !received_.empty(); }  // of a reply
  void close() { socket_ = OwnedFd(); }
  void kill() { nursery_.kill_worker(serial_); }

 private:
  explicit WorkerProcess(Nursery& nursery) : nursery_(nursery) {}
  bool take_frames(const Take& take);

  Nursery& nursery_;
  std::uint64_t serial_ = 0;
  OwnedFd socket_;
  StatusPage* page_ = nullptr;
  Bytes received_;
};

}  // namespace fettle::agent

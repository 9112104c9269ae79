// Starting workers and reading what they say (worker_process.h).
#include "agent/server/worker_process.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

namespace fettle::agent {
namespace {

constexpr std::size_t kReplyBytes = std::size_t{16} << 20;

Error no_channel() {
  return {ErrorCode::Io, std::string("cannot make a worker's channel: ") + std::strerror(errno)};
}

}  // namespace

std::uint64_t draw_ticket() {
  std::uint64_t ticket = 0;
  while (ticket == 0) {
    if (getrandom(&ticket, sizeof ticket, 0) != static_cast<ssize_t>(sizeof ticket)) ticket = 0;
  }
  return ticket;
}

Result<std::unique_ptr<WorkerProcess>> WorkerProcess::start(Nursery& nursery,
                                                            std::uint32_t device) {
  static std::uint64_t last_serial = 0;
  int ends[2];
  const OwnedFd memory(static_cast<int>(syscall(__NR_memfd_create, "fettle-status", MFD_CLOEXEC)));
  if (!memory || ftruncate(memory.get(), sizeof(StatusPage)) != 0 ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return no_channel();
  }
  std::unique_ptr<WorkerProcess> out(new WorkerProcess(nursery));
  out->socket_ = OwnedFd(ends[0]);
  const OwnedFd theirs(ends[1]);
  void* page =
      mmap(nullptr, sizeof(StatusPage), PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  if (page == MAP_FAILED) return no_channel();
  out->page_ = static_cast<StatusPage*>(page);
  const std::uint64_t serial = ++last_serial;
  if (auto asked = nursery.start_worker(serial, device, theirs.get(), memory.get()); !asked) {
    return std::move(asked).error();
  }
  out->serial_ = serial;
  return out;
}

WorkerProcess::~WorkerProcess() {
  if (serial_ != 0) kill();  // nothing where it has ended
  if (page_) munmap(page_, sizeof(StatusPage));
}

bool WorkerProcess::read(const Take& take) {
  std::uint8_t piece[65536];
  for (std::size_t taken = 0; socket_ && taken < kReplyBytes;) {
    const ssize_t n = recv(socket_.get(), piece, sizeof piece, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n <= 0) return false;
    taken += static_cast<std::size_t>(n);
    received_.insert(received_.end(), piece, piece + n);
    if (!take_frames(take)) return false;
  }
  return true;
}

// Takes the complete frames out of received_.
bool WorkerProcess::take_frames(const Take& take) {
  std::size_t at = 0;
  while (received_.size() - at >= 4) {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size |= std::size_t{received_[at + i]} << (8 * i);
    if (size > kReplyBytes) {
      take(Error{ErrorCode::TooLarge, "a frame over the limit"});
      return false;
    }
    if (received_.size() - at - 4 < size) break;
    if (!take(decode_reply(ByteView(received_).subspan(at + 4, size)))) return false;
    at += 4 + size;
  }
  received_.erase(received_.begin(), received_.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

}  // namespace fettle::agent

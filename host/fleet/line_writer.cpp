// A queue and the thread that empties it (line_writer.h).
#include "host/fleet/line_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

namespace fettle::fleet {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::chrono::seconds kLastWords{1};

void close_own(int descriptor) {
  if (descriptor > STDERR_FILENO) ::close(descriptor);
}

// How many bytes of it: fewer where an error came first.
std::size_t write_all(int descriptor, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(descriptor, text.data() + done, text.size() - done);
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n < 0 && errno == EAGAIN) {
      pollfd item{descriptor, POLLOUT, 0};
      ::poll(&item, 1, -1);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  return done;
}

}  // namespace

struct LineWriter::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  int descriptor = -1;
  std::function<std::string(std::uint64_t)> tell_lost;
  std::deque<std::string> lines;
  std::size_t bytes = 0;  // of these
  bool writing = false, ends = false, torn = false;
  std::uint64_t lost = 0, told = 0;

  bool idle() const { return lines.empty() && !writing; }

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return !lines.empty() || ends; });
      if (lines.empty()) break;
      std::string text = std::move(lines.front());
      lines.pop_front();
      bytes -= text.size();
      const std::uint64_t untold = lost - told;
      if (untold > 0) text = tell_lost(untold) + text;
      if (torn) text = "\n" + text;
      writing = true;
      const int to = descriptor;
      lock.unlock();
      const std::size_t written = write_all(to, text);
      lock.lock();
      writing = false;
      if (written == text.size())
        told += untold;
      else
        ++lost;
      const bool moved = to != descriptor;  // meanwhile: the one of before is of no more use
      if (moved) close_own(to);
      torn = !moved && written < text.size() && (written > 0 || torn);
      changed.notify_all();
    }
    close_own(descriptor);
  }
};

LineWriter::LineWriter(int descriptor, std::function<std::string(std::uint64_t)> lost)
    : shared_(std::make_shared<Shared>()) {
  shared_->descriptor = descriptor;
  shared_->tell_lost = std::move(lost);
  std::thread([shared = shared_] { shared->run(); }).detach();
}

LineWriter::~LineWriter() {
  std::unique_lock lock(shared_->mutex);
  shared_->ends = true;
  shared_->changed.notify_all();
  shared_->changed.wait_for(lock, kLastWords, [&] { return shared_->idle(); });
}

void LineWriter::write(std::string line) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->bytes + line.size() > kMostBytes) {
    ++shared_->lost;
    return;
  }
  shared_->bytes += line.size();
  shared_->lines.push_back(std::move(line));
  shared_->changed.notify_all();
}

void LineWriter::move_to(int descriptor) {
  std::unique_lock lock(shared_->mutex);
  shared_->changed.wait_for(lock, kLastWords, [&] { return shared_->idle(); });
  const int before = std::exchange(shared_->descriptor, descriptor);
  if (!shared_->writing) close_own(before);  // else whoever stands in that write does
  shared_->torn = false;
}

std::uint64_t LineWriter::lost() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lost;
}

std::size_t LineWriter::waiting() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->bytes;
}

}  // namespace fettle::fleet

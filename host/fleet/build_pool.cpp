// The pool's thread: one poll loop over the children's sockets and stderr pipes.
#include "host/fleet/build_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>

#include "host/fleet/child_process.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kStderrTail = 600;  // characters of it that go into a failure
constexpr std::size_t kReadAtOnce = 1 << 16;
constexpr int kMostStartFailures = 3;  // in a row, before any result, per worker

void signal_fd(int fd) {
  const std::uint64_t one = 1;
  if (::write(fd, &one, sizeof one) < 0) { /* readable already */
  }
}
void clear_fd(int fd) {
  std::uint64_t count;
  if (::read(fd, &count, sizeof count) < 0) { /* was clear */
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = c == '\n' ? '|' : ' ';
  return text;
}

Bytes frame_of(const wire::BuildRequestT& request) {
  wire::BuildMessageT message;
  message.body.Set(wire::BuildRequestT(request));
  const Bytes body = encode(message);
  const auto size = static_cast<std::uint32_t>(body.size());
  Bytes frame = {std::uint8_t(size), std::uint8_t(size >> 8), std::uint8_t(size >> 16),
                 std::uint8_t(size >> 24)};
  frame.insert(frame.end(), body.begin(), body.end());
  return frame;
}

// One child and what is under way with it.
struct Worker {
  pid_t pid = -1;
  int socket = -1, errors = -1;
  std::optional<std::uint64_t> building;  // the request's id
  Clock::time_point started;
  Bytes to_write, received;
  std::size_t written = 0;
  std::string stderr_tail;
};

}  // namespace

struct BuildPool::Loop {
  BuildPoolOptions options;
  std::vector<Worker> workers;  // of the thread alone
  int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int ready_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int start_failures = 0;
  bool built_any = false;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<wire::BuildRequestT> requests;
  std::vector<tune::Built> results;
  std::optional<Error> error;
  bool stopping = false, started = false;
  std::thread thread;

  ~Loop() {
    if (wake_fd >= 0) ::close(wake_fd);
    if (ready_fd >= 0) ::close(ready_fd);
  }

  Result<void> start(Worker& worker) {
    int pair[2], errors[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      return Error{ErrorCode::Io,
                   std::string("cannot make a socket pair: ") + std::strerror(errno)};
    }
    if (::pipe2(errors, O_CLOEXEC) != 0) {
      const int failed = errno;
      ::close(pair[0]);
      ::close(pair[1]);
      return Error{ErrorCode::Io, std::string("cannot make a pipe: ") + std::strerror(failed)};
    }
    ChildPlan plan;
    plan.argv = options.argv;
    plan.descriptors = {{pair[1], 0}, {pair[1], 1}, {errors[1], 2}};
    plan.cores = options.cores;
    plan.memory_bytes = options.memory_bytes;
    auto pid = start_child(plan);
    ::close(pair[1]);
    ::close(errors[1]);
    if (!pid) {
      ::close(pair[0]);
      ::close(errors[0]);
      return std::move(pid).error().in("starting a build worker");
    }
    ::fcntl(pair[0], F_SETFL, O_NONBLOCK);
    ::fcntl(errors[0], F_SETFL, O_NONBLOCK);
    worker = Worker{};
    worker.pid = *pid;
    worker.socket = pair[0];
    worker.errors = errors[0];
    return {};
  }

  int end(Worker& worker) {
    if (worker.pid < 0) return 0;
    const int status = end_child(worker.pid);
    read_errors(worker);
    close_errors(worker);
    ::close(worker.socket);
    worker.pid = -1;
    return status;
  }

  void deliver(std::uint64_t id, wire::BuildResultT result) {
    std::lock_guard lock(mutex);
    results.push_back({id, std::move(result)});
    signal_fd(ready_fd);
    changed.notify_all();
  }

  void set_error(Error what) {
    std::lock_guard lock(mutex);
    if (!error) error = std::move(what);
    signal_fd(ready_fd);
    changed.notify_all();
  }

  void fail(Worker& worker, Error why) {
    if (!worker.building) return;
    wire::BuildResultT result;
    result.id = *worker.building;
    result.build_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - worker.started)
            .count());
    result.body.Set(make_failure(wire::Stage::Build, std::move(why)));
    deliver(*worker.building, std::move(result));
    worker.building.reset();
  }

  std::string said(const Worker& worker) const {
    const std::string tail = one_line(worker.stderr_tail);
    return tail.empty() ? "" : "; it said: " + tail;
  }

  void replace(Worker& worker) {
    if (auto again = start(worker); !again) set_error(std::move(again).error());
  }

  // The child closed its end or wrote what cannot be: it is ended and replaced.
  void died(Worker& worker, const std::string& nonsense) {
    const int status = end(worker);
    const bool by_itself = nonsense.empty() && WIFEXITED(status);
    if (!nonsense.empty()) {
      fail(worker, {ErrorCode::CompilerCrash, nonsense + said(worker), {}});
    } else {
      fail(worker, {ErrorCode::CompilerCrash,
                    "the build worker died by " + describe_wait_status(status) + said(worker),
                    {}});
    }
    // A program that ends by itself before it built anything is no build worker.
    if (by_itself && !built_any &&
        ++start_failures >= kMostStartFailures * static_cast<int>(options.workers)) {
      return set_error({ErrorCode::Io,
                        "build workers (" + options.argv[0] + ") end at once, with " +
                            describe_wait_status(status) + said(worker),
                        {}});
    }
    replace(worker);
  }

  void timed_out(Worker& worker) {
    end(worker);
    fail(worker, {ErrorCode::BuildTimeout,
                  "the build took longer than " + std::to_string(options.deadline.count()) + " ms",
                  {}});
    replace(worker);
  }

  void read_errors(Worker& worker) {
    if (worker.errors < 0) return;
    char text[4096];
    ssize_t n;
    while ((n = ::read(worker.errors, text, sizeof text)) > 0) {
      worker.stderr_tail.append(text, static_cast<std::size_t>(n));
      if (worker.stderr_tail.size() > kStderrTail) {
        worker.stderr_tail.erase(0, worker.stderr_tail.size() - kStderrTail);
      }
    }
    if (n == 0) close_errors(worker);  // or poll would report its end for ever
  }

  static void close_errors(Worker& worker) {
    if (worker.errors >= 0) ::close(worker.errors);
    worker.errors = -1;
  }

  void write_request(Worker& worker) {
    while (worker.written < worker.to_write.size()) {
      const ssize_t n = ::send(worker.socket, worker.to_write.data() + worker.written,
                               worker.to_write.size() - worker.written, MSG_NOSIGNAL);
      if (n < 0) return;  // full, or dead: the next read tells
      worker.written += static_cast<std::size_t>(n);
    }
    worker.to_write.clear();
    worker.written = 0;
  }

  // False: the worker was replaced.
  bool read_results(Worker& worker) {
    bool ended = false;
    while (true) {
      const std::size_t old = worker.received.size();
      worker.received.resize(old + kReadAtOnce);
      const ssize_t n = ::recv(worker.socket, worker.received.data() + old, kReadAtOnce, 0);
      worker.received.resize(old + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
      if (n > 0) continue;
      if (n < 0 && errno == EINTR) continue;
      ended = n == 0 || errno != EAGAIN;
      break;
    }
    while (worker.received.size() >= 4) {
      const Bytes& head = worker.received;
      const std::size_t size = std::size_t{head[0]} | std::size_t{head[1]} << 8 |
                               std::size_t{head[2]} << 16 | std::size_t{head[3]} << 24;
      if (size > limits::kMessageBytes) {
        died(worker, "the build worker wrote what is no frame");
        return false;
      }
      if (worker.received.size() < 4 + size) break;
      auto message = decode_build_message(ByteView(worker.received).subspan(4, size));
      auto* result = message ? message->body.AsBuildResult() : nullptr;
      if (result == nullptr || !worker.building || result->id != *worker.building) {
        died(worker, "the build worker wrote what is no answer to its request" +
                         (message ? std::string() : ": " + message.error().text()));
        return false;
      }
      worker.received.erase(worker.received.begin(),
                            worker.received.begin() + static_cast<std::ptrdiff_t>(4 + size));
      worker.building.reset();
      worker.stderr_tail.clear();
      built_any = true;
      const std::uint64_t id = result->id;
      deliver(id, std::move(*result));
    }
    if (ended) died(worker, "");
    return !ended;
  }

  void hand_out() {
    for (Worker& worker : workers) {
      if (worker.pid < 0 || worker.building) continue;
      {
        std::lock_guard lock(mutex);
        if (requests.empty() || error) return;
        worker.building = requests.front().id;
        worker.to_write = frame_of(requests.front());
        requests.pop_front();
      }
      worker.started = Clock::now();
      write_request(worker);
    }
  }

  // A turn waits for this long at most while something is built.
  std::chrono::milliseconds longest_turn() const {
    return std::clamp(options.deadline / 4, std::chrono::milliseconds(1),
                      std::chrono::milliseconds(1000));
  }

  // The pool itself could not run for that long (Ctrl-Z stops the builders with it): that time
  // is no candidate's.
  void stood_still(Clock::duration time) {
    for (Worker& worker : workers) worker.started += time;
  }

  void run() {
    while (true) {
      {
        std::lock_guard lock(mutex);
        if (stopping) break;
      }
      hand_out();
      std::vector<pollfd> fds = {{wake_fd, POLLIN, 0}};
      auto wait = std::chrono::milliseconds(-1);
      const auto now = Clock::now();
      for (Worker& worker : workers) {
        const short out = worker.to_write.empty() ? 0 : POLLOUT;
        fds.push_back({worker.pid < 0 ? -1 : worker.socket, static_cast<short>(POLLIN | out), 0});
        fds.push_back({worker.pid < 0 ? -1 : worker.errors, POLLIN, 0});
        if (!worker.building) continue;
        auto left =
            std::chrono::ceil<std::chrono::milliseconds>(worker.started + options.deadline - now);
        left = std::clamp(left, std::chrono::milliseconds(0), longest_turn());
        wait = wait.count() < 0 ? left : std::min(wait, left);
      }
      if (::poll(fds.data(), fds.size(), static_cast<int>(wait.count())) < 0 && errno != EINTR) {
        return set_error(
            {ErrorCode::Io, std::string("polling the build workers: ") + std::strerror(errno), {}});
      }
      if (fds[0].revents != 0) clear_fd(wake_fd);
      const auto turn = Clock::now() - now;
      if (wait.count() >= 0 && turn > 2 * longest_turn()) stood_still(turn - longest_turn());
      for (std::size_t i = 0; i < workers.size(); ++i) {
        Worker& worker = workers[i];
        if (worker.pid < 0) continue;
        const pollfd &talk = fds[1 + 2 * i], &errors = fds[2 + 2 * i];
        if (errors.revents != 0) read_errors(worker);
        if (talk.revents & POLLOUT) write_request(worker);
        if ((talk.revents & (POLLIN | POLLHUP | POLLERR)) && !read_results(worker)) continue;
        if (worker.building && Clock::now() >= worker.started + options.deadline) timed_out(worker);
      }
    }
  }

  void thread_main() {
    workers.resize(options.workers);
    Result<void> all;
    for (Worker& worker : workers) {
      if (all = start(worker); !all) break;
    }
    {
      std::lock_guard lock(mutex);
      if (!all) error = std::move(all).error();
      started = true;
      changed.notify_all();
    }
    if (all) run();
    for (Worker& worker : workers) end(worker);
  }
};

Result<std::unique_ptr<BuildPool>> BuildPool::start(BuildPoolOptions options) {
  if (options.workers == 0) {
    return Error{ErrorCode::InvalidArgument, "a build pool needs at least one worker"};
  }
  if (options.argv.empty()) {
    auto self = own_executable();
    if (!self) return std::move(self).error();
    options.argv = {*self, "build-worker"};
  }
  std::unique_ptr<BuildPool> pool(new BuildPool);
  pool->loop_ = std::make_unique<Loop>();
  Loop& loop = *pool->loop_;
  loop.options = std::move(options);
  // The children are tied to this thread's life, so it starts them itself.
  loop.thread = std::thread([&loop] { loop.thread_main(); });
  std::unique_lock lock(loop.mutex);
  loop.changed.wait(lock, [&] { return loop.started; });
  if (loop.error) return Error(*loop.error);
  return pool;
}

BuildPool::~BuildPool() {
  if (!loop_ || !loop_->thread.joinable()) return;
  {
    std::lock_guard lock(loop_->mutex);
    loop_->stopping = true;
  }
  signal_fd(loop_->wake_fd);
  loop_->thread.join();
}

std::size_t BuildPool::workers() const { return loop_->options.workers; }
int BuildPool::ready_fd() const { return loop_->ready_fd; }

void BuildPool::submit(wire::BuildRequestT request) {
  {
    std::lock_guard lock(loop_->mutex);
    loop_->requests.push_back(std::move(request));
  }
  signal_fd(loop_->wake_fd);
}

Result<std::vector<tune::Built>> BuildPool::poll(std::chrono::milliseconds wait) {
  std::unique_lock lock(loop_->mutex);
  loop_->changed.wait_for(lock, wait, [&] { return !loop_->results.empty() || loop_->error; });
  auto results = std::exchange(loop_->results, {});
  if (results.empty() && loop_->error) return Error(*loop_->error);
  if (!loop_->error) clear_fd(loop_->ready_fd);
  return results;
}

}  // namespace fettle::fleet

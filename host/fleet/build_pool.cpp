// The pool's thread: one poll loop over the children's sockets and stderr pipes.
#include "host/fleet/build_pool.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "host/fleet/build_child.h"
#include "host/process/child_process.h"
#include "host/process/cores.h"

namespace fettle::fleet {
namespace {

using Clock = BuildChild::Clock;
constexpr int kMostStartFailures = 3;  // in a row, before any result, per worker
// A build that takes longer leaves its core to another: it may hang.
constexpr std::chrono::milliseconds kLongBuild{500};

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

}  // namespace

struct BuildPool::Loop {
  BuildPoolOptions options;         // its cores: under `placing`
  std::vector<BuildChild> workers;  // of the thread alone
  int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int ready_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  int start_failures = 0;
  bool built_any = false;

  std::mutex placing;
  std::set<pid_t> running;  // under `placing`, so that none of them is another process by then

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

  void fail(BuildChild& worker, Error why) {
    if (!worker.under_way()) return;
    const auto [id, started_at] = *worker.under_way();
    wire::BuildResultT result;
    result.id = id;
    result.build_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - started_at).count());
    result.body.Set(make_failure(wire::Stage::Build, std::move(why)));
    deliver(id, std::move(result));
    worker.give_up();
  }

  Result<void> start(BuildChild& worker) {
    const std::lock_guard lock(placing);
    auto started = worker.start(options);
    if (started) running.insert(worker.pid());
    return started;
  }

  // Its wait status.
  int end(BuildChild& worker) {
    const std::lock_guard lock(placing);
    running.erase(worker.pid());
    return worker.end();
  }

  void replace(BuildChild& worker) {
    if (auto again = start(worker); !again) set_error(std::move(again).error());
  }

  // The child closed its end or wrote what cannot be: it is ended and replaced.
  void died(BuildChild& worker, const std::string& nonsense) {
    const int status = end(worker);
    const bool by_itself = nonsense.empty() && WIFEXITED(status);
    if (!nonsense.empty()) {
      fail(worker, {ErrorCode::CompilerCrash, nonsense + worker.said(), {}});
    } else {
      fail(worker,
           {ErrorCode::CompilerCrash,
            "the build worker died by " + process::describe_wait_status(status) + worker.said(),
            {}});
    }
    // A program that ends by itself before it built anything is no build worker.
    if (by_itself && !built_any &&
        ++start_failures >= kMostStartFailures * static_cast<int>(options.workers)) {
      return set_error({ErrorCode::Io,
                        "build workers (" + options.argv[0] + ") end at once, with " +
                            process::describe_wait_status(status) + worker.said(),
                        {}});
    }
    replace(worker);
  }

  void timed_out(BuildChild& worker) {
    end(worker);
    fail(worker, {ErrorCode::BuildTimeout,
                  "the build took longer than " + std::to_string(options.deadline.count()) + " ms",
                  {}});
    replace(worker);
  }

  // False: the worker was replaced.
  bool read_results(BuildChild& worker) {
    BuildChild::Heard heard = worker.hear();
    for (wire::BuildResultT& result : heard.results) {
      built_any = true;
      const std::uint64_t id = result.id;
      deliver(id, std::move(result));
    }
    if (heard.nonsense.empty() && !heard.ended) return true;
    died(worker, heard.nonsense);
    return false;
  }

  // Builds that share a core would both be done later than the first of them needs to be.
  std::size_t most_at_once() {
    const std::lock_guard lock(placing);
    return options.cores.empty() ? workers.size() : std::min(workers.size(), options.cores.size());
  }

  void hand_out() {
    const auto recent = Clock::now() - kLongBuild;
    std::size_t busy = static_cast<std::size_t>(
        std::count_if(workers.begin(), workers.end(), [&](const BuildChild& worker) {
          return worker.under_way() && worker.under_way()->started > recent;
        }));
    const std::size_t most = most_at_once();
    for (BuildChild& worker : workers) {
      if (busy >= most) return;
      if (!worker.running() || worker.under_way()) continue;
      wire::BuildRequestT request;
      {
        std::lock_guard lock(mutex);
        if (requests.empty() || error) return;
        request = std::move(requests.front());
        requests.pop_front();
      }
      worker.send(request);
      ++busy;
    }
  }

  // A turn waits for this long at most while something is built.
  std::chrono::milliseconds longest_turn() const {
    return std::clamp(options.deadline / 4, std::chrono::milliseconds(1), kLongBuild);
  }

  // The pool itself could not run for that long (Ctrl-Z stops the builders with it): that time
  // is no candidate's.
  void stood_still(Clock::duration time) {
    for (BuildChild& worker : workers) worker.forgive(time);
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
      for (BuildChild& worker : workers) {
        const short out = worker.wants_to_write() ? POLLOUT : 0;
        fds.push_back({worker.socket(), static_cast<short>(POLLIN | out), 0});
        fds.push_back({worker.errors(), POLLIN, 0});
        if (!worker.under_way()) continue;
        auto left = std::chrono::ceil<std::chrono::milliseconds>(worker.under_way()->started +
                                                                 options.deadline - now);
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
        BuildChild& worker = workers[i];
        if (!worker.running()) continue;
        const pollfd &talk = fds[1 + 2 * i], &errors = fds[2 + 2 * i];
        if (errors.revents != 0) worker.read_errors();
        if (talk.revents & POLLOUT) worker.write_on();
        if ((talk.revents & (POLLIN | POLLHUP | POLLERR)) && !read_results(worker)) continue;
        const auto& building = worker.under_way();
        if (building && Clock::now() >= building->started + options.deadline) timed_out(worker);
      }
    }
  }

  void thread_main() {
    workers = std::vector<BuildChild>(options.workers);
    Result<void> all;
    for (BuildChild& worker : workers) {
      if (all = start(worker); !all) break;
    }
    {
      std::lock_guard lock(mutex);
      if (!all) error = std::move(all).error();
      started = true;
      changed.notify_all();
    }
    if (all) run();
    for (BuildChild& worker : workers) end(worker);
  }
};

Result<std::unique_ptr<BuildPool>> BuildPool::start(BuildPoolOptions options) {
  if (options.workers == 0) {
    return Error{ErrorCode::InvalidArgument, "a build pool needs at least one worker"};
  }
  if (options.argv.empty()) {
    auto self = process::own_executable();
    if (!self) return std::move(self).error();
    options.argv = {*self, "build-worker"};
    options.program = process::kOwnProgram;
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

void BuildPool::keep_to(const std::vector<int>& cores) {
  const std::lock_guard lock(loop_->placing);
  loop_->options.cores = cores;
  for (const pid_t worker : loop_->running) process::move_process(worker, cores);
  signal_fd(loop_->wake_fd);
}

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

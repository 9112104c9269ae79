// The agent's process: started, watched, started again, stopped.
#include "host/fleet/local_agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sodium.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <sstream>
#include <thread>

#include "host/fleet/broker_question.h"
#include "host/process/child_process.h"

namespace fettle::fleet {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kTail = 400;     // characters of its stderr kept for errors
constexpr milliseconds kGentle{2000};  // between SIGTERM and SIGKILL
constexpr int kKeyDescriptor = 3;      // the agent's --key-fd

// Stopped by someone, wrong options, or refused by the broker: it would end again.
// (agent/server/supervisor.h; 126 and 127 are a prefix's "cannot run that").
bool ends_for_good(int status) {
  if (!WIFEXITED(status)) return false;
  const int code = WEXITSTATUS(status);
  return code == 0 || code == 2 || code == 3 || code == 126 || code == 127;
}

}  // namespace

std::string machine_arch() {
  utsname name{};
  ::uname(&name);
  const std::string machine = name.machine;
  if (machine == "x86_64" || machine == "aarch64") return machine;
  if (machine == "armv7l" || machine == "armv8l") return "armv7";
  return "";
}

Result<std::string> find_agent(const std::string& arch) {
  if (const char* given = std::getenv("FETTLE_AGENT"); given && *given) {
    if (::access(given, X_OK) == 0) return std::string(given);
    return Error{ErrorCode::NotFound, std::string("FETTLE_AGENT names ") + given +
                                          ", which is no program: " + std::strerror(errno)};
  }
  auto folder = process::own_folder();
  if (!folder) return std::move(folder).error();
  const auto path =
      (std::filesystem::path(*folder) / ".." / "agents" / arch / "fettle-agent").lexically_normal();
  if (::access(path.c_str(), X_OK) == 0) return path.string();
  return Error{ErrorCode::NotFound, "no agent at " + path.string() +
                                        ": build it with `./dev agents " + arch +
                                        "`, or name one in FETTLE_AGENT"};
}

struct LocalAgent::Loop {
  LocalAgentOptions options;
  int wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  mutable std::mutex mutex;
  std::condition_variable changed;
  bool stopping = false;
  pid_t pid = -1;
  int starts = 0;
  std::optional<Error> dead;
  std::string tail;
  std::thread thread;

  ~Loop() {
    if (wake_fd >= 0) ::close(wake_fd);
  }

  bool is_stopping() const {
    std::lock_guard lock(mutex);
    return stopping;
  }

  // One run of the agent: its stderr, read until it ends.
  Result<pid_t> launch(int& errors_fd) {
    int key[2], errors[2];
    if (::pipe2(key, O_CLOEXEC) != 0) return Error{ErrorCode::Io, "cannot make a pipe"};
    if (::pipe2(errors, O_CLOEXEC) != 0) {
      ::close(key[0]);
      ::close(key[1]);
      return Error{ErrorCode::Io, "cannot make a pipe"};
    }
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    process::ChildPlan plan;
    plan.argv = options.prefix;
    plan.cores = options.cores;
    for (const std::string& word :
         {options.program, std::string("--broker"), options.broker_url, std::string("--broker-key"),
          options.broker_public_key, std::string("--key-fd"), std::to_string(kKeyDescriptor),
          std::string("--key"), options.device_key}) {
      plan.argv.push_back(word);
    }
    plan.argv.insert(plan.argv.end(), options.arguments.begin(), options.arguments.end());
    if (const char* more = std::getenv("FETTLE_AGENT_OPTIONS")) {
      std::istringstream words(more);
      for (std::string word; words >> word;) plan.argv.push_back(word);
    }
    // It ends by itself where it is told to; whose agent it is decides when.
    plan.own_group = true;
    plan.descriptors = {{nothing, 0}, {nothing, 1}, {errors[1], 2}, {key[0], kKeyDescriptor}};
    // Far below a pipe's capacity: it does not block before the child reads.
    std::string text = options.keys.secret_key + "\n";
    const bool told =
        ::write(key[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    sodium_memzero(text.data(), text.size());
    ::close(key[1]);
    Result<pid_t> child = Error{ErrorCode::Io, "cannot hand the agent its key"};
    if (told) child = process::start_child(plan);
    ::close(key[0]);
    ::close(errors[1]);
    if (nothing >= 0) ::close(nothing);
    if (!child)
      ::close(errors[0]);
    else
      errors_fd = errors[0];
    return child;
  }

  void keep(const char* text, std::size_t size, std::string& line) {
    {
      std::lock_guard lock(mutex);
      tail.append(text, size);
      if (tail.size() > kTail) tail.erase(0, tail.size() - kTail);
    }
    line.append(text, size);
    for (std::size_t end; (end = line.find('\n')) != std::string::npos; line.erase(0, end + 1)) {
      if (options.log) options.log(line.substr(0, end));
    }
  }

  // Reads stderr until the agent's death or stop(); the wait status.
  int watch(pid_t child, int errors_fd) {
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, child, 0));
    std::string line;
    bool ended = false;
    while (!ended && !is_stopping()) {
      // Without a pidfd (old kernel) the agent is looked at ten times a second.
      pollfd fds[] = {{wake_fd, POLLIN, 0}, {errors_fd, POLLIN, 0}, {pidfd, POLLIN, 0}};
      ::poll(fds, 3, pidfd < 0 ? 100 : -1);
      if (fds[1].revents != 0) {
        char text[1024];
        const ssize_t n = ::read(errors_fd, text, sizeof text);
        if (n > 0)
          keep(text, static_cast<std::size_t>(n), line);
        else if (n == 0)
          errors_fd = (::close(errors_fd), -1);
      }
      siginfo_t state{};
      ended = ::waitid(P_PID, static_cast<id_t>(child), &state, WEXITED | WNOHANG | WNOWAIT) == 0 &&
              state.si_pid == child;
    }
    if (!ended) {
      ::kill(child, SIGTERM);
      pollfd end{pidfd, POLLIN, 0};
      ::poll(&end, 1, static_cast<int>(pidfd < 0 ? 200 : kGentle.count()));
    }
    const int status = process::end_child(child);
    if (errors_fd >= 0) {
      ::fcntl(errors_fd, F_SETFL, O_NONBLOCK);
      char text[1024];
      for (ssize_t n; (n = ::read(errors_fd, text, sizeof text)) > 0;) {
        keep(text, static_cast<std::size_t>(n), line);
      }
      ::close(errors_fd);
    }
    if (pidfd >= 0) ::close(pidfd);
    return status;
  }

  void give_up(Error error) {
    std::lock_guard lock(mutex);
    pid = -1;
    dead = std::move(error);
    changed.notify_all();
  }

  std::string said() const {
    std::lock_guard lock(mutex);
    std::string text = tail;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    std::replace(text.begin(), text.end(), '\n', '|');
    return text.empty() ? "" : "; it said: " + text;
  }

  void run() {
    for (int run = 0; !is_stopping(); ++run) {
      int errors_fd = -1;
      auto child = launch(errors_fd);
      if (!child) return give_up(std::move(child).error().in("starting the local agent"));
      {
        std::lock_guard lock(mutex);
        pid = *child;
        ++starts;
        tail.clear();
        changed.notify_all();
      }
      const int status = watch(*child, errors_fd);
      {
        std::lock_guard lock(mutex);
        pid = -1;
        if (stopping) return;
      }
      if (ends_for_good(status) || run >= options.restarts) {
        return give_up({ErrorCode::WorkerLost,
                        "the local agent " + options.program + " ended with " +
                            process::describe_wait_status(status) +
                            (run > 0 ? " after " + std::to_string(run) + " restarts" : "") + said(),
                        {}});
      }
      if (options.log) {
        options.log("the agent died by " + process::describe_wait_status(status) +
                    " and is started again");
      }
      pollfd wake{wake_fd, POLLIN, 0};
      ::poll(&wake, 1, std::min(50 << std::min(run, 5), 1000));
    }
  }
};

Result<std::unique_ptr<LocalAgent>> LocalAgent::start(LocalAgentOptions options) {
  if (options.program.empty()) {
    auto found = find_agent(machine_arch());
    if (!found) return std::move(found).error();
    options.program = *found;
  }
  std::unique_ptr<LocalAgent> agent(new LocalAgent);
  agent->loop_ = std::make_unique<Loop>();
  Loop& loop = *agent->loop_;
  loop.options = std::move(options);
  loop.thread = std::thread([&loop] { loop.run(); });
  std::unique_lock lock(loop.mutex);
  loop.changed.wait(lock, [&] { return loop.starts > 0 || loop.dead; });
  // One that started and has ended already is health()'s to tell, however fast it was.
  if (loop.starts == 0) return Error(*loop.dead);
  return agent;
}

LocalAgent::~LocalAgent() {
  if (!loop_ || !loop_->thread.joinable()) return;
  {
    std::lock_guard lock(loop_->mutex);
    loop_->stopping = true;
  }
  const std::uint64_t one = 1;
  if (::write(loop_->wake_fd, &one, sizeof one) < 0) { /* it is awake already */
  }
  loop_->thread.join();
}

Result<void> LocalAgent::health() const {
  std::lock_guard lock(loop_->mutex);
  if (loop_->dead) return Error(*loop_->dead);
  return {};
}

pid_t LocalAgent::pid() const {
  std::lock_guard lock(loop_->mutex);
  return loop_->pid;
}

int LocalAgent::starts() const {
  std::lock_guard lock(loop_->mutex);
  return loop_->starts;
}

Result<void> LocalAgent::wait_registered(const BrokerAddress& broker, milliseconds limit,
                                         const tune::StopSignal* stop) const {
  const TimePoint end = Clock::now() + limit;
  while (true) {
    if (stop && stop->requested()) return Error{ErrorCode::Canceled, "interrupted", {}};
    if (auto well = health(); !well) return well;
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now());
    if (left.count() <= 0) {
      return Error{ErrorCode::Timeout, "the local agent " + loop_->options.program +
                                           " did not register with the broker within " +
                                           std::to_string(limit.count()) + " ms" + loop_->said()};
    }
    auto list = list_devices(broker, std::min(left, milliseconds(1000)));
    if (list) {
      for (const auto& pool : list->keys) {
        for (const auto& device : pool->devices) {
          if (device->key == loop_->options.device_key) return {};
        }
      }
    } else if (list.error().code != ErrorCode::Unreachable) {
      return std::move(list).error();
    }
    std::unique_lock lock(loop_->mutex);
    loop_->changed.wait_for(lock, milliseconds(10), [&] { return loop_->dead.has_value(); });
  }
}

}  // namespace fettle::fleet

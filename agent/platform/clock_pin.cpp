// Clock domains and the guard (clock_pin.h).
#include "agent/platform/clock_pin.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "agent/platform/board_sysfs.h"
#include "agent/platform/clock_store.h"
#include "agent/platform/cooling.h"

namespace fettle::agent {
namespace {

constexpr int kCoolStepMs = 100;

struct Pinned {
  ClockDomain domain;
  std::vector<OpenText> cooling;
  int held = -1;  // of the ClockStore
};

std::vector<Pinned> domains_of(const SystemRoot& root, const std::vector<std::uint32_t>& cores,
                               bool gpu_too) {
  std::vector<Pinned> all;
  for (std::uint32_t core : cores) {
    ClockDomain domain = cpu_clock_domain(clock_domain_of(root, core).front(), core);
    if (!root.text(domain.most_file)) continue;
    if (std::any_of(all.begin(), all.end(),
                    [&](const Pinned& seen) { return seen.domain.id == domain.id; })) {
      continue;
    }
    all.push_back({std::move(domain), cpu_cooling_states(root, {core})});
  }
  if (const std::string gpu = gpu_devfreq(root); gpu_too && !gpu.empty()) {
    all.push_back({gpu_clock_domain(gpu), gpu_cooling_states(root, gpu)});
  }
  return all;
}

void wait_until_cool(const std::vector<Pinned>& domains, int most_ms) {
  const timespec step{0, kCoolStepMs * 1'000'000L};
  for (; most_ms > 0; most_ms -= kCoolStepMs) {
    if (std::none_of(domains.begin(), domains.end(),
                     [](const Pinned& one) { return any_active(one.cooling); })) {
      return;
    }
    nanosleep(&step, nullptr);
  }
}

// Takes the domain, whose found bounds are known and kept then. Else why not.
std::string claim(const SystemRoot& root, ClockStore& store, Pinned& one, std::uint32_t khz) {
  ClockDomain& domain = one.domain;
  // The right to set it, before anything is promised.
  for (const std::string& file : {domain.least_file, domain.most_file}) {
    const int fd = open(root.path(file).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return file + ": " + std::strerror(errno);
    close(fd);
  }
  bool shared = false;
  one.held = store.claim(domain, shared);
  const std::string held_at = domain.pinned;
  if (domain.most.empty()) {
    if (any_active(one.cooling)) return "it is held down against heat now";
    domain.least = root.text(domain.least_file).value_or("");
    domain.most = root.text(domain.most_file).value_or("");
  }
  domain.pinned = khz == kHighestClock ? domain.most : std::to_string(khz);
  if (shared && held_at != domain.pinned) return "another agent holds it at " + held_at;
  if (one.held >= 0 && !store.keep(one.held, domain)) return "its bounds cannot be kept";
  return "";
}

[[noreturn]] void guard_main(int alive, ClockStore& store, const std::vector<Pinned>& domains) {
  setsid();
  char nothing;
  ssize_t n;
  do n = read(alive, &nothing, 1);
  while (n > 0 || (n < 0 && errno == EINTR));
  store.lock();
  for (const Pinned& one : domains) store.give_back(one.domain, one.held);
  _exit(0);
}

// The guard outlives whatever the agent gets, a service manager's SIGABRT of all included.
pid_t fork_guard(int ends[2], ClockStore& store, const std::vector<Pinned>& domains) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t guard = fork();
  if (guard == 0) {
    close(ends[1]);
    guard_main(ends[0], store, domains);
  }
  const int why = errno;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  errno = why;
  return guard;
}

}  // namespace

Result<PinnedClocks> PinnedClocks::pin(const SystemRoot& root,
                                       const std::vector<std::uint32_t>& cores, std::uint32_t khz,
                                       std::vector<std::string>& refused, int cool_ms) {
  PinnedClocks out;
  std::vector<Pinned> found = domains_of(root, cores, khz == kHighestClock), domains;
  if (found.empty()) {
    refused.emplace_back("the cores' clocks cannot be set here (no cpufreq)");
    return out;
  }
  wait_until_cool(found, cool_ms);
  ClockStore store(root, true);
  store.lock();
  for (Pinned& one : found) {
    const std::string why = claim(root, store, one, khz);
    if (why.empty()) {
      domains.push_back(std::move(one));
      continue;
    }
    refused.push_back(one.domain.name + " cannot be set: " + why);
    if (one.held >= 0) close(one.held);
  }
  store.give_back_abandoned();
  if (domains.empty()) return out;
  if (!store.problem().empty()) {
    refused.push_back(
        "clocks come back when the agent is killed, but not when its guard is, too: " +
        store.problem());
  }
  // The guard is there before the first clock changes.
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) == 0) out.guard_ = fork_guard(ends, store, domains);
  if (out.guard_ < 0) {
    const Error error{ErrorCode::Io,
                      std::string("no guard of the clocks: ") + std::strerror(errno)};
    for (const Pinned& one : domains) store.give_back(one.domain, one.held);
    for (int end : ends) close(end);
    return error;
  }
  close(ends[0]);
  out.root_ = root;
  out.alive_ = ends[1];
  for (const Pinned& one : domains) {
    if (one.held >= 0) close(one.held);  // the guard's is open
    if (!set_bounds(root, one.domain, one.domain.pinned, one.domain.pinned)) {
      refused.push_back(one.domain.name + " cannot be set to " + one.domain.pinned + ": " +
                        one.domain.least_file + ": " + std::strerror(errno));
    }
  }
  store.unlock();
  return out;
}

std::vector<std::string> PinnedClocks::give_back_abandoned(const SystemRoot& root) {
  ClockStore store(root, false);
  store.lock();
  auto given = store.give_back_abandoned();
  store.unlock();
  return given;
}

PinnedClocks::PinnedClocks(PinnedClocks&& other) noexcept
    : root_(std::move(other.root_)),
      alive_(std::exchange(other.alive_, -1)),
      guard_(std::exchange(other.guard_, -1)) {}

PinnedClocks& PinnedClocks::operator=(PinnedClocks&& other) noexcept {
  std::swap(root_, other.root_);
  std::swap(alive_, other.alive_);
  std::swap(guard_, other.guard_);
  return *this;
}

PinnedClocks::~PinnedClocks() {
  if (alive_ < 0) return;
  close(alive_);
  int status = 0;
  while (waitpid(guard_, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) give_back_abandoned(root_);  // the guard was killed: ours to do
}

}  // namespace fettle::agent

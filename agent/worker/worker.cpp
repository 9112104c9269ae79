// The worker's life (worker.h).
#include "agent/worker/worker.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <list>

#include "agent/measure/trial.h"
#include "agent/platform/conditions.h"
#include "agent/platform/cpu_facts.h"
#include "agent/sandbox/file_access.h"
#include "agent/sandbox/own_folder.h"
#include "agent/sandbox/sandbox.h"
#include "agent/worker/fault_handler.h"
#include "agent/worker/request_link.h"
#include "runtime/cpu/code_memory.h"
#include "schemas/wire/content_hash.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace fettle::agent {
namespace {

// Blobs of past requests, mapped read-only, so that the expected outputs of a
// workload are mapped once and not for each trial.
class MappedBlobs {
 public:
  explicit MappedBlobs(std::uint64_t limit) : limit_(limit) {}
  ~MappedBlobs() {
    for (const Entry& entry : entries_) unmap(entry);
  }
  MappedBlobs(const MappedBlobs&) = delete;
  MappedBlobs& operator=(const MappedBlobs&) = delete;

  // After this the request's blobs are at hand; others may be gone.
  Result<void> take(std::vector<ReceivedBlob>& blobs) {
    for (ReceivedBlob& blob : blobs) {
      if (auto at = find(blob.hash); at != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, at);
        continue;
      }
      const auto bytes = static_cast<std::size_t>(blob.bytes);
      void* memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, blob.fd.get(), 0);
      if (memory == MAP_FAILED && keep_only(blobs)) {
        memory = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, blob.fd.get(), 0);
      }
      if (memory == MAP_FAILED) return Error{ErrorCode::OutOfMemory, "no memory to map a blob"};
      entries_.push_front({blob.hash, static_cast<const std::uint8_t*>(memory), bytes});
      held_ += bytes;
    }
    while (held_ > limit_ && entries_.size() > blobs.size()) {
      unmap(entries_.back());
      held_ -= entries_.back().bytes;
      entries_.pop_back();
    }
    return {};
  }

  ByteView lookup(const wire::Hash& hash) {
    const auto at = find(hash);
    return at == entries_.end() ? ByteView() : ByteView(at->data, at->bytes);
  }

 private:
  struct Entry {
    wire::Hash hash;
    const std::uint8_t* data;
    std::size_t bytes;
  };
  std::list<Entry>::iterator find(const wire::Hash& hash) {
    for (auto at = entries_.begin(); at != entries_.end(); ++at) {
      if (!HashLess()(at->hash, hash) && !HashLess()(hash, at->hash)) return at;
    }
    return entries_.end();
  }
  // False: there were no others.
  bool keep_only(const std::vector<ReceivedBlob>& wanted) {
    const std::size_t before = entries_.size();
    for (auto at = entries_.begin(); at != entries_.end();) {
      const bool kept = std::any_of(wanted.begin(), wanted.end(), [&](const ReceivedBlob& blob) {
        return !HashLess()(at->hash, blob.hash) && !HashLess()(blob.hash, at->hash);
      });
      if (!kept) {
        unmap(*at);
        held_ -= at->bytes;
      }
      at = kept ? std::next(at) : entries_.erase(at);
    }
    return entries_.size() < before;
  }
  static void unmap(const Entry& entry) {
    munmap(const_cast<std::uint8_t*>(entry.data), entry.bytes);
  }
  std::uint64_t limit_, held_ = 0;
  std::list<Entry> entries_;  // last used first
};

wire::OutcomeT failure_outcome(wire::Stage stage, Error error) {
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(stage, std::move(error)));
  outcome.times = std::make_unique<wire::StageTimesT>();
  return outcome;
}

// Before the measuring threads start, which inherit it. Without the right to it the
// worker competes as any process does; a sample that lost its core is retaken. Where
// the kernel groups processes by session (autogroup), niceness counts within a session
// only: the worker takes one of its own and asks for that session's share. On a machine's
// only core it asks for nothing: there it would keep sshd and the agent itself from answering.
void claim_core_time() {
  constexpr int kNiceness = -15;
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) return;
  setpriority(PRIO_PROCESS, 0, kNiceness);
  if (setsid() < 0) return;
  const int group = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
  if (group < 0) return;
  (void)!dprintf(group, "%d", kNiceness);
  close(group);
}

// Where a driver that builds may write, and is told to.
std::string folder_for_building() {
  std::string made = make_own_folder();
  for (const char* name : {"TMPDIR", "XDG_CACHE_HOME"}) {
    if (!made.empty()) setenv(name, made.c_str(), 1);
  }
  return made;
}

void go_first_where_memory_is_short() {
  const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (score < 0) return;
  (void)!write(score, "1000", 4);
  close(score);
}

// Never all that the board has.
std::uint64_t bound_for_board(std::uint64_t wanted) {
  const std::uint64_t all = physical_memory_bytes();
  return all == 0 ? wanted : std::min(wanted, all - all / 8);
}

}  // namespace

int refuse_device(int socket, const Error& why) {
  (void)!write_frame(socket, encode_refusal(why.text()));
  return kCannotOpenExit;
}

int run_worker(const WorkerRow& row, const wire::DeviceInfoT& info, int socket, int status_memory,
               const WorkerTerms& terms) {
  StatusPage* status = StatusPage::map(status_memory);
  if (!status) return refuse_device(socket, {ErrorCode::Io, "no memory for a status page"});
  claim_core_time();
  go_first_where_memory_is_short();
  // Before a driver starts threads, on which it would not count; behind what takes rights that a
  // namespace of its own would not have.
  const bool builds = row.sandbox && row.sandbox(info).calls == SystemCalls::Builds;
  SandboxSurroundings surroundings;
  surroundings.files_in_reach =
      confine_files({terms.hidden, builds ? folder_for_building() : std::string()});
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // arenas per thread reserve address space, which is limited
#endif
  const SystemRoot root;
  auto device = row.open(info);
  if (!device) return refuse_device(socket, device.error());
  const ConditionsReader conditions(root, info.cpu ? info.cpu->cores : std::vector<std::uint32_t>(),
                                    [&] { return (*device)->conditions(); });
  const int statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  install_fault_handlers(status, statm);

  const wire::DeviceInfoT& opened = (*device)->info();
  // Beside the device's: room for mapped blobs and the worker's own heap.
  const std::uint64_t blob_bytes =
      std::min<std::uint64_t>(opened.memory_limit_bytes / 4, std::uint64_t{256} << 20);
  SandboxPolicy policy = row.sandbox(opened);
  if (policy.extra_memory_bytes > 0) {
    policy.extra_memory_bytes =
        bound_for_board(policy.extra_memory_bytes + blob_bytes + (std::uint64_t{160} << 20));
  }
  if (policy.calls == SystemCalls::Listed && policy.runs_candidates_code) {
    const auto arena = runtime::reserve_code_arena();
    if (!arena) return refuse_device(socket, arena.error());
    surroundings.code = {arena->begin, arena->end};
  }
  const SandboxState sandbox = enter_sandbox(policy, surroundings);
  if (!sandbox.holds && !terms.allow_unsandboxed) {
    return refuse_device(
        socket,
        {ErrorCode::Unsupported,
         "candidates would run here without their sandbox (" + sandbox.note +
             "): take a Linux with CONFIG_SECCOMP_FILTER, or, where you trust all who may send "
             "programs, start the agent with --allow-unsandboxed (a session's own agent "
             "takes it from $FETTLE_AGENT_OPTIONS)"});
  }
  status->address_space_limit = sandbox.address_space_limit;
  wire::DeviceInfoT seen = opened;
  seen.sandbox = sandbox.level;
  if (!write_frame(socket, encode_ready(seen, sandbox.note))) return 0;

  MappedBlobs blobs(blob_bytes);
  std::uint64_t idle_since = StatusPage::monotonic_ns();
  while (true) {
    auto received = receive_request(socket);
    if (!received) return 0;  // the supervisor is gone: so are we
    const std::uint64_t start = StatusPage::monotonic_ns();
    status->run_ns.store(0);
    status->run_since.store(0);
    status->enter(WorkerPhase::Load);
    status->ticket.store(received->ticket);

    TrialContext context{
        **device, conditions, *status, [&](const wire::Hash& hash) { return blobs.lookup(hash); },
        [&] {
          const bool theirs = policy.runs_candidates_code && sandbox.address_space_limit > 0;
          return theirs ? address_space_bytes(statm) : std::uint64_t{0};
        }};
    wire::OutcomeT outcome;
    if (auto mapped = blobs.take(received->blobs); !mapped) {
      outcome = failure_outcome(wire::Stage::Load, std::move(mapped).error());
    } else if (auto request = decode_request(received->request); !request) {
      outcome = failure_outcome(wire::Stage::Load, std::move(request).error());
    } else {
      outcome = run_trial(context, *request, StatusPage::monotonic_ns() - start);
    }
    (*device)->reset();
    outcome.times->idle_before_ns = start - idle_since;
    outcome.times->total_ns = StatusPage::monotonic_ns() - start;
    outcome.device_index = info.index;
    const Bytes reply = encode_outcome_reply(received->ticket, encode(outcome));
    idle_since = StatusPage::monotonic_ns();
    const bool sent = write_frame(socket, reply).ok();
    // Only now: until the outcome is out, a death belongs to this trial.
    status->ticket.store(0);
    status->enter(WorkerPhase::Idle);
    if (!sent) return 0;
    if (context.tainted || (*device)->lost()) return kTaintedExit;
  }
}

}  // namespace fettle::agent

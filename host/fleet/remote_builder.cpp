// Requests as trials of a session (remote_builder.h).
#include "host/fleet/remote_builder.h"

#include "host/fleet/build_blobs.h"
#include "host/fleet/build_key.h"
#include "host/fleet/session_loop.h"

namespace fettle::fleet {

RemoteBuilder::RemoteBuilder(std::unique_ptr<SessionLoop> loop,
                             std::function<void(const wire::Hash&)> there)
    : loop_(std::move(loop)), there_(std::move(there)) {}

RemoteBuilder::~RemoteBuilder() = default;

Result<std::unique_ptr<RemoteBuilder>> RemoteBuilder::open(
    const BrokerAddress& broker, const std::string& version, const std::string& name,
    std::function<void(const wire::Hash&)> there, const tune::StopSignal* stop, int priority) {
  SessionPlan plan;
  plan.device_key = build_key(version);
  plan.name = name;
  plan.priority = priority;
  auto loop = SessionLoop::open(broker, std::move(plan), stop);
  if (!loop) return std::move(loop).error();
  return std::unique_ptr<RemoteBuilder>(new RemoteBuilder(std::move(*loop), std::move(there)));
}

std::size_t RemoteBuilder::workers() const {
  std::size_t workers = 0;
  loop_->look([&](const SessionCore& core) {
    workers = core.capacity() / std::max<std::size_t>(core.device().queue_depth, 1);
  });
  return workers;
}

std::size_t RemoteBuilder::capacity() const {
  std::size_t capacity = 0;
  loop_->look([&](const SessionCore& core) { capacity = core.capacity(); });
  return capacity;
}

void RemoteBuilder::submit(wire::BuildRequestT request) {
  const std::uint64_t trial = next_++;
  // Equal requests are equal bytes: the number is the trial's.
  ids_[trial] = std::exchange(request.id, 0);
  const Bytes encoded = encode(request);
  loop_->with_core([&](SessionCore& core) { core.submit_build(trial, encoded); });
}

Result<std::vector<tune::Built>> RemoteBuilder::poll(std::chrono::milliseconds wait) {
  std::vector<BuiltTrial> ended;
  std::optional<Error> error;
  loop_->when_ready(wait, [&](SessionCore& core) {
    ended = core.take_built();
    error = core.error();
  });
  std::vector<tune::Built> results;
  for (BuiltTrial& each : ended) {
    const auto known = ids_.extract(each.trial);
    if (known.empty()) continue;  // forgotten meanwhile
    each.result.id = known.mapped();
    if (const auto* output = each.result.body.AsBuildOutput()) {
      for (const wire::Hash& hash : blobs_of(*output->program)) there_(hash);
    }
    results.push_back({each.result.id, std::move(each.result)});
  }
  if (results.empty() && error) return std::move(*error);
  return results;
}

int RemoteBuilder::ready_fd() const { return loop_->ready_fd(); }

void RemoteBuilder::forget_all() {
  ids_.clear();
  loop_->with_core([](SessionCore& core) { core.cancel_pending(); });
}

}  // namespace fettle::fleet

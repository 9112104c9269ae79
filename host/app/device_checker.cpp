// DeviceChecker (device_checker.h).
#include "host/app/device_checker.h"

#include "host/fleet/durations.h"
#include "host/tune/one_trial.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/limits.h"

namespace fettle::app {
namespace {

using Clock = std::chrono::steady_clock;

// Ctrl-C, or no time left.
class BoundedStop final : public tune::StopSignal {
 public:
  BoundedStop(const Interrupt& interrupt, Clock::time_point end)
      : interrupt_(interrupt), end_(end) {}
  bool requested() const override { return interrupt_.requested() || Clock::now() >= end_; }
  int fd() const override { return interrupt_.fd(); }

 private:
  const Interrupt& interrupt_;
  const Clock::time_point end_;
};

}  // namespace

DeviceChecker::DeviceChecker(fleet::BrokerAddress address, std::chrono::seconds within,
                             const Interrupt& interrupt, const CheckHistory& history)
    : address_(std::move(address)), within_(within), interrupt_(interrupt), history_(history) {}

CheckedDevice DeviceChecker::check(const std::string& pool, const wire::BoardT& board,
                                   const wire::DeviceInfoT& info,
                                   const wire::BoardStandingT* standing) {
  CheckedDevice out;
  out.name = standing && !standing->name.empty() ? standing->name : board.hostname;
  out.board_id = board.id;
  out.hostname = board.hostname;
  out.key = pool;
  out.device = info.name;
  out.index = info.index;
  if (standing && !standing->reserved_for.empty() && !standing->yours) {
    out.skipped = "not checked: reserved for " + standing->reserved_for;
    return out;
  }
  const auto& kernel = kernel_for(info);
  if (!kernel) {
    // A kind of device that nothing is built for here; all else would be our own bug.
    (kernel.error().code == ErrorCode::Unsupported ? out.skipped : out.failure) =
        "not checked: " + kernel.error().text();
    return out;
  }
  out.kernel = kernel->title;
  out.kernel_id = kernel->id;
  const auto outcome = run(pool, board.id, *kernel);
  if (!outcome) {
    out.failure = outcome.error().code == ErrorCode::Canceled
                      ? "no answer within " + fleet::duration_text(within_)
                      : outcome.error().text();
    return out;
  }
  const auto* measured = outcome->body.AsMeasurement();
  if (measured == nullptr) {
    const auto* failure = outcome->body.AsFailure();
    out.failure = failure && failure->error ? from_wire(*failure->error).text() : "no measurement";
    return out;
  }
  const auto time =
      ticks_to_nanoseconds(measured->median, measured->clock, measured->ticks_per_second);
  out.ticks = time.value_or(measured->median);
  if (!time) out.unit = clock_facts(measured->clock).unit;
  out.time_of_a_board = time.has_value() && !info.emulated;
  if (out.time_of_a_board) out.before = history_.times(board.id, info.index, kernel->id);
  return out;
}

const Result<CheckKernel>& DeviceChecker::kernel_for(const wire::DeviceInfoT& info) {
  wire::DeviceInfoT alike = info;
  alike.index = 0;
  alike.extra.clear();
  const Bytes bytes = encode(alike);
  const std::string text(bytes.begin(), bytes.end());
  const auto known = kernels_.find(text);
  return known != kernels_.end() ? known->second
                                 : kernels_.emplace(text, check_kernel(info)).first->second;
}

// Canceled: no time left.
Result<wire::OutcomeT> DeviceChecker::run(const std::string& pool, const std::string& board_id,
                                          const CheckKernel& kernel) {
  BoundedStop stop(interrupt_, Clock::now() + within_);
  if (!session_ || pool_ != pool) {
    session_.reset();
    fleet::SessionPlan plan;
    plan.device_key = pool_ = pool;
    plan.name = "fettle devices check";
    plan.where = address_.url;
    plan.public_key = address_.keys.public_key;
    plan.priority = limits::kPriority;
    auto opened = fleet::Session::open(address_, std::move(plan), &stop);
    if (!opened) return std::move(opened).error();
    session_ = std::move(*opened);
  }
  for (const auto& output : kernel.expected.outputs) {
    session_->offer_blob(*output.check.blob, output.bytes);
  }
  std::vector<tune::Measured> late;  // of devices before, whose time was over
  return tune::run_undisturbed(*session_, board_id, stop, kernel.request, late);
}

}  // namespace fettle::app

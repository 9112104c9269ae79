// What a client does, and may count on (sim_client.h).
#include "tests/simulation/sim_client.h"

#include <algorithm>

#include "schemas/wire/content_hash.h"
#include "tests/simulation/sim_agent.h"
#include "tests/support/fleet_request.h"

namespace fettle::fleet::simulation {
namespace {

constexpr std::size_t kBlobs = 3;
constexpr std::size_t kAtOnce = 8;  // submitted and without a result

wire::MeasureRequestT request_of(double marker, const std::vector<wire::Hash>& blobs) {
  wire::MeasureRequestT request = fleet::small_request(marker);
  for (const wire::Hash& hash : blobs) {
    auto expected = std::make_unique<wire::ExpectedOutputT>();
    expected->blob = std::make_unique<wire::Hash>(hash);
    request.expected.push_back(std::move(expected));
  }
  return request;
}

}  // namespace

SimClient::SimClient(Events& events, Network& network, Random random, std::uint32_t number,
                     std::string device_key, std::uint32_t trials, Broken broken)
    : events_(events),
      network_(network),
      random_(random),
      number_(number),
      device_key_(std::move(device_key)),
      who_{"client-" + std::to_string(number), wire::Role::Client,
           "key of client " + std::to_string(number)},
      broken_(std::move(broken)) {
  for (std::size_t i = 0; i < kBlobs; ++i) {
    // One of three is everybody's, as a network's weights are.
    Bytes bytes(100 + random_.below(3000),
                static_cast<std::uint8_t>(i == 0 ? 0 : number_ * 16 + i));
    if (i == 0) bytes.resize(2000);
    blobs_.push_back(std::move(bytes));
  }
  for (std::uint32_t i = 0; i < trials; ++i) {
    Wanted wanted;
    for (std::uint32_t blob = 0; blob < kBlobs; ++blob) {
      if (random_.chance(25)) wanted.blobs.push_back(blob);
    }
    wanted_.push_back(std::move(wanted));
  }
  events_.after(random_.between(0, 5000), [this] { start(); });
}

std::size_t SimClient::unresolved() const {
  return static_cast<std::size_t>(std::count_if(
      wanted_.begin(), wanted_.end(), [](const Wanted& wanted) { return !wanted.resolved; }));
}

void SimClient::start() {
  if (finished_) return;
  const std::uint64_t run = ++run_;
  ++tally_.sessions;
  SessionPlan plan;
  plan.device_key = device_key_;
  plan.where = "the simulated broker";
  plan.public_key = who_.public_key;
  plan.priority = random_.chance(80) ? 0 : static_cast<int>(random_.below(5)) - 2;
  plan.window = 24;
  core_ = std::make_unique<SessionCore>(plan, random_.next() | 1, random_.next() | 1, local());
  for (const Bytes& blob : blobs_) core_->offer_blob(content_hash(blob), blob);
  for (Wanted& wanted : wanted_) wanted.submitted = false;
  revoked_ = canceling_ = false;
  stepped_ = milliseconds(0);
  endpoint_ = network_.dial(who_, [this, run](ByteView bytes) {
    if (run != run_ || !core_) return;
    core_->receive(bytes, local());
    pump();
  });
  tick();
}

void SimClient::end_session() {
  ++run_;
  core_.reset();
  if (endpoint_) network_.close(*endpoint_);
  endpoint_.reset();
}

void SimClient::vanish() {
  if (!core_) return;
  end_session();
  events_.after(random_.between(100, 3000), [this] { start(); });
}

void SimClient::close_session() {
  if (!core_) return;
  core_->close();
  for (Outgoing& next : core_->take_outgoing()) network_.send(*endpoint_, std::move(next.bytes));
  const std::uint64_t run = ++run_;
  core_.reset();
  events_.after(milliseconds(500), [this, run] {  // the close goes out first
    if (run != run_) return;
    end_session();
    start();
  });
}

void SimClient::finish() {
  if (finished_) return;
  finished_ = true;
  if (core_) {
    core_->close();
    pump();
  }
  ++run_;
  core_.reset();
  events_.after(milliseconds(500), [this] { end_session(); });
}

void SimClient::cancel() {
  if (!core_) return;
  core_->cancel_pending();
  canceling_ = true;  // what is on a board may still end; the user waits for that
  pump();
}

void SimClient::hear_garbage() {
  if (!core_) return;
  Bytes bytes = encode(message_of(wire::HelloNeededT()));
  bytes.resize(random_.below(bytes.size()));
  core_->receive(bytes, local());
  pump();
}

void SimClient::tick() {
  core_->tick(local());
  pump();
  if (!core_) return;
  if (core_->opened()) submit_some();
  events_.after(milliseconds(250), [this, run = run_] {
    if (run == run_ && core_) tick();
  });
}

void SimClient::submit_some() {
  if (canceling_) {
    if (core_->in_flight() > 0) return;
    canceling_ = false;
    for (Wanted& wanted : wanted_) {
      if (wanted.submitted && !wanted.resolved) ++tally_.canceled;
      wanted.submitted = false;
    }
  }
  for (Wanted& wanted : wanted_) {
    if (!core_ || core_->in_flight() >= kAtOnce) break;
    if (wanted.submitted || wanted.resolved) continue;
    wanted.submitted = true;
    wanted.number = next_number_++;
    wanted.marker = number_ * 1e6 + static_cast<double>(next_number_);
    ++tally_.submitted;
    std::vector<wire::Hash> hashes;
    for (std::uint32_t blob : wanted.blobs) hashes.push_back(content_hash(blobs_[blob]));
    core_->submit(wanted.number, encode(request_of(wanted.marker, hashes)), hashes);
  }
  pump();
}

void SimClient::pump() {
  for (Outgoing& next : core_->take_outgoing()) network_.send(*endpoint_, std::move(next.bytes));
  for (const tune::Measured& result : core_->take_results()) take(result);
  if (core_->error()) on_error(Error(*core_->error()));
}

void SimClient::take(const tune::Measured& result) {
  const auto wanted = std::find_if(wanted_.begin(), wanted_.end(), [&](const Wanted& each) {
    return each.submitted && each.number == result.trial;
  });
  if (wanted == wanted_.end()) return broken_("a client got a result that it did not ask for");
  if (wanted->resolved) return broken_("a client got two results of one trial");
  if (const auto* measurement = result.outcome.body.AsMeasurement()) {
    if (measurement->median == kForged) return broken_("a forged result counted");
    if (measurement->median != wanted->marker) {
      return broken_("a client got another trial's result");
    }
    ++tally_.measured;
  } else {
    const auto* failure = result.outcome.body.AsFailure();
    ++tally_.failed;
    ++tally_.failures[name_of(failure->error->code)];
    if (failure->error->code == ErrorCode::Canceled && !canceling_) {
      return broken_("a trial was canceled that nobody canceled");
    }
  }
  wanted->resolved = true;
}

// A session may end by itself only for what really befell it.
void SimClient::on_error(const Error& error) {
  ++tally_.errors;
  const bool never_opened = !core_->opened() && (error.code == ErrorCode::NotFound ||
                                                 error.code == ErrorCode::Unreachable);
  const bool no_boards = error.code == ErrorCode::NotFound;
  const bool uploads = error.code == ErrorCode::Timeout;
  // By its own clock the broker was away for as long as it waits.
  const bool clock = error.code == ErrorCode::Unreachable && stepped_ > milliseconds(60'000);
  if (!never_opened && !no_boards && !uploads && !revoked_ && !clock) {
    broken_("a session ended without a reason: " + error.text());
  }
  end_session();
  events_.after(random_.between(500, 3000), [this] { start(); });
}

std::string SimClient::state() const {
  std::string text = who_.name + ": " + std::to_string(unresolved()) + " of " +
                     std::to_string(wanted_.size()) + " trials without a result";
  if (!core_) return text + ", no session";
  return text + ", " + std::to_string(core_->in_flight()) + " in flight, " +
         (core_->opened() ? "opened" : "not opened");
}

}  // namespace fettle::fleet::simulation

// The client's half of the protocol (session_core.h).
#include "host/fleet/session_core.h"

#include <algorithm>

#include "host/fleet/build_key.h"
#include "host/fleet/device_kind.h"
#include "host/fleet/keys.h"
#include "host/fleet/pool.h"
#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/clip_outcome.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

constexpr int kMostUploads = 10;  // of one blob, without any outcome

}  // namespace

std::vector<Bytes> take_images_out(wire::MeasureRequestT& request) {
  std::vector<Bytes> images;
  for (const auto& image : request.program->images) {
    if (image->bytes.empty()) continue;
    image->blob = std::make_unique<wire::Hash>(content_hash(image->bytes));
    images.push_back(std::exchange(image->bytes, {}));
  }
  return images;
}

std::vector<wire::Hash> blobs_of(const wire::MeasureRequestT& request) {
  std::set<wire::Hash, HashLess> hashes;
  for (const auto& image : request.program->images)
    if (image->blob) hashes.insert(*image->blob);
  for (const auto& buffer : request.program->buffers) {
    if (buffer->fill && buffer->fill->kind == wire::FillKind::Blob && buffer->fill->blob) {
      hashes.insert(*buffer->fill->blob);
    }
  }
  for (const auto& expected : request.expected)
    if (expected->blob) hashes.insert(*expected->blob);
  return {hashes.begin(), hashes.end()};
}

SessionCore::SessionCore(SessionPlan plan, std::uint64_t instance, std::uint64_t session,
                         TimePoint now)
    : plan_(std::move(plan)),
      instance_(instance),
      session_(session),
      last_heard_(now),
      last_said_(now),
      waiting_since_(now),
      builds_(is_build_key(plan_.device_key)) {
  say_hello(now);
}

void SessionCore::say_hello(TimePoint now) {
  if (state_ != State::Dialling) waiting_since_ = now;
  state_ = State::Dialling;
  last_said_ = now;
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = FETTLE_VERSION;
  hello.role = wire::Role::Client;
  hello.instance = instance_;
  send(pack_message(std::move(hello)));
}

void SessionCore::say_open(TimePoint now) {
  state_ = State::Opening;
  refused_.reset();
  last_said_ = now;
  wire::OpenSessionT open;
  open.session = session_;
  open.device_key = opened_once_ ? pool_of(plan_.device_key, device_) : plan_.device_key;
  open.name = plan_.name;
  open.priority = plan_.priority;
  open.kind = kind_;
  send(pack_message(std::move(open)));
}

void SessionCore::receive(ByteView bytes, TimePoint now) {
  if (closed_ || error_) return;
  auto decoded = decode_message(bytes);
  if (!decoded) return;  // a broker of ours never sends such; what it left out shows as silence
  last_heard_ = now;
  auto& body = decoded->body;
  if (auto* completed = body.AsCompleted()) {
    on_completed(*completed);
  } else if (auto* beat = body.AsHeartbeat()) {
    if (beat->instance != broker_instance_ && state_ != State::Dialling) say_hello(now);
  } else if (auto* welcome = body.AsWelcome()) {
    broker_instance_ = welcome->broker_instance;
    heartbeat_ = milliseconds(std::clamp<std::uint32_t>(welcome->heartbeat_ms, 10, 60'000));
    silence_ = std::max(milliseconds(welcome->silence_ms), 2 * heartbeat_);
    if (state_ == State::Dialling) say_open(now);
  } else if (body.AsHelloNeeded()) {
    if (state_ != State::Dialling) say_hello(now);
  } else if (auto* opened = body.AsSessionOpened()) {
    on_opened(*opened, now);
  } else if (auto* wanted = body.AsBlobsWanted()) {
    for (const auto& hash : wanted->hashes) send_blob(hash, now);
  } else if (auto* reject = body.AsReject()) {
    error_ = from_wire(*reject->error).in("talking to the broker at " + plan_.where);
  }
}

void SessionCore::on_opened(wire::SessionOpenedT& opened, TimePoint now) {
  if (opened.session != session_) return;
  if (opened.error) {
    const bool not_found = opened.error->code == ErrorCode::NotFound;
    if (!opened_once_ || !not_found) {
      error_ = from_wire(*opened.error);
      return;
    }
    // The broker was restarted and the boards have not dialled in again yet, or it
    // gave this session up while we were cut off.
    if (state_ == State::Open) {
      waiting_since_ = now;
      say_open(now);
    } else {
      refused_ = from_wire(*opened.error);
    }
    return;
  }
  const bool was_open = state_ == State::Open;
  if (opened.device) {
    // What the caller makes programs for is the first that it was told of.
    if (!builds_ && kind_.empty()) kind_ = kind_of(*opened.device);
    device_ = std::move(*opened.device);
  }
  if (opened.board) board_ = std::move(*opened.board);
  boards_ = opened.boards;
  unlike_ = opened.unlike;
  const std::size_t boards = std::max(opened.boards, builds_ ? 0u : 1u);
  capacity_ = boards * (std::max(device_.queue_depth, 1u) + (plan_.shares ? 1u : 0u));
  opened_once_ = true;
  if (was_open || state_ == State::Dialling) return;
  state_ = State::Open;
  // A broker that still knows a trial takes no notice; one that finished it answers again.
  unsent_.clear();
  sent_ = 0;
  std::erase_if(trials_, [this](const auto& entry) {
    if (entry.second.canceled) let_go(entry.second.blobs);
    return entry.second.canceled;
  });
  for (auto& [number, trial] : trials_) {
    trial.sent = false;
    unsent_.push_back(number);
  }
  send_submits();
}

void SessionCore::send_submits() {
  while (state_ == State::Open && sent_ < plan_.window && !unsent_.empty()) {
    const auto trial = trials_.find(unsent_.front());
    unsent_.pop_front();
    if (trial == trials_.end() || trial->second.sent) continue;
    trial->second.sent = true;
    ++sent_;
    send(trial->second.message);
  }
}

void SessionCore::offer_blob(const wire::Hash& hash, ByteView bytes) {
  Offered& blob = blobs_[hash];
  blob.of_trials = false;
  if (!blob.messages.empty()) return;
  for_each_piece(hash, bytes, [&](wire::PutBlobT piece) {
    blob.messages.push_back(pack_message(std::move(piece)));
    blob.bytes += blob.messages.back()->size();
  });
}

void SessionCore::offer_image(const wire::Hash& hash, ByteView bytes) {
  const auto known = blobs_.find(hash);
  const bool of_trials = known == blobs_.end() || known->second.of_trials;
  offer_blob(hash, bytes);
  blobs_.at(hash).of_trials = of_trials;
}

void SessionCore::let_go(const std::vector<wire::Hash>& blobs, bool entered) {
  for (const wire::Hash& hash : blobs) {
    const auto found = blobs_.find(hash);
    if (found == blobs_.end()) continue;
    if (entered && found->second.trials > 0) --found->second.trials;
    if (found->second.of_trials && found->second.trials == 0) blobs_.erase(found);
  }
}

void SessionCore::submit(std::uint64_t trial, ByteView request, std::vector<wire::Hash> blobs,
                         const std::string& board_id) {
  for (const auto& hash : blobs) {
    if (blobs_.count(hash) != 0) continue;
    wire::OutcomeT outcome;
    outcome.body.Set(
        make_failure(wire::Stage::Dispatch,
                     {ErrorCode::MissingBlob,
                      "the request names the blob " + to_hex(hash) + ", which was not offered",
                      {}}));
    results_.push_back({trial, 0, std::move(outcome)});
    return let_go(blobs, false);
  }
  if (request.size() > limits::kRequestBytes) {
    wire::OutcomeT outcome;
    outcome.body.Set(make_failure(
        wire::Stage::Dispatch,
        {ErrorCode::TooLarge,
         "a request of " + std::to_string(request.size()) + " bytes, without its images, is over " +
             std::to_string(limits::kRequestBytes),
         {}}));
    results_.push_back({trial, 0, std::move(outcome)});
    return let_go(blobs, false);
  }
  wire::SubmitT submit;
  submit.blobs = std::move(blobs);
  submit.request.assign(request.begin(), request.end());
  submit.board_id = board_id;
  enter(trial, std::move(submit));
}

void SessionCore::submit_build(std::uint64_t trial, ByteView request) {
  if (request.size() > limits::kRequestBytes) {
    BuiltTrial& failed = built_.emplace_back();
    failed.trial = trial;
    failed.result.body.Set(make_failure(
        wire::Stage::Dispatch, {ErrorCode::TooLarge,
                                "a request of " + std::to_string(request.size()) +
                                    " bytes is over " + std::to_string(limits::kRequestBytes),
                                {}}));
    return;
  }
  wire::SubmitT submit;
  submit.build.assign(request.begin(), request.end());
  enter(trial, std::move(submit));
}

void SessionCore::enter(std::uint64_t trial, wire::SubmitT submit) {
  submit.session = session_;
  submit.trial = trial;
  InFlight& in_flight = trials_[trial];
  in_flight.blobs = submit.blobs;
  for (const wire::Hash& hash : in_flight.blobs) ++blobs_.at(hash).trials;
  in_flight.message = pack_message(std::move(submit));
  unsent_.push_back(trial);
  send_submits();
}

void SessionCore::send_blob(const wire::Hash& hash, TimePoint now) {
  const auto found = blobs_.find(hash);
  if (found == blobs_.end() || error_) return;
  Offered& blob = found->second;
  if (blob.messages.empty()) return lost_blob(hash);
  const std::size_t bytes = blob.bytes;
  if (++blob.sent > kMostUploads) {
    error_ = Error{ErrorCode::Timeout,
                   "the broker at " + plan_.where + " asked for " + std::to_string(bytes) +
                       " bytes for the " + std::to_string(blob.sent) +
                       "th time, and no trial was completed since the first: the link to it breaks "
                       "before they are through"};
    return;
  }
  uploads_.send(bytes, now);
  for (const SharedBytes& message : blob.messages) send(message);
}

// Only a builder could bring it again. Told at once, and not after the broker's patience.
void SessionCore::lost_blob(const wire::Hash& hash) {
  std::vector<std::uint64_t> lost;
  for (const auto& [number, trial] : trials_) {
    const bool names = std::any_of(
        trial.blobs.begin(), trial.blobs.end(),
        [&](const wire::Hash& each) { return !HashLess()(each, hash) && !HashLess()(hash, each); });
    if (names) lost.push_back(number);
  }
  for (const std::uint64_t number : lost) {
    wire::CancelT cancel;
    cancel.session = session_;
    cancel.trial = number;
    send(pack_message(std::move(cancel)));
    wire::OutcomeT outcome;
    outcome.body.Set(make_failure(
        wire::Stage::Dispatch,
        {ErrorCode::MissingBlob,
         "the broker does not hold the program any more that a build worker brought it",
         {}}));
    finish(number, 0, std::move(outcome));
  }
  blobs_.erase(hash);
}

// What a builder says is checked as what a compiler of this machine says.
void SessionCore::finish_build(std::uint64_t trial, ByteView built) {
  auto decoded = decode_build_result(built);
  wire::BuildResultT result;
  if (decoded) {
    result = std::move(*decoded);
  } else {
    result.body.Set(make_failure(wire::Stage::Dispatch, clipped(std::move(decoded).error())));
  }
  if (take_out(trial, nullptr)) built_.push_back({trial, std::move(result)});
  send_submits();
}

void SessionCore::on_completed(wire::CompletedT& completed) {
  if (completed.session != session_ || trials_.count(completed.trial) == 0) return;
  if (builds_ && !completed.built.empty()) return finish_build(completed.trial, completed.built);
  for (auto& [hash, blob] : blobs_) blob.sent = 0;
  auto outcome = decode_outcome(completed.outcome);
  if (!outcome) {
    wire::OutcomeT malformed;
    malformed.body.Set(make_failure(wire::Stage::Dispatch, clipped(std::move(outcome).error())));
    return finish(completed.trial, completed.attempt, std::move(malformed));
  }
  clip_texts(*outcome);
  finish(completed.trial, completed.attempt, std::move(*outcome));
}

void SessionCore::finish(std::uint64_t trial, std::uint32_t attempt, wire::OutcomeT outcome) {
  const auto* failure = outcome.body.AsFailure();
  if (take_out(trial, failure)) {
    if (!builds_) {
      results_.push_back({trial, attempt, std::move(outcome)});
    } else {
      BuiltTrial& ended = built_.emplace_back();
      ended.trial = trial;
      ended.result.body.Set(
          failure ? wire::FailureT(*failure)
                  : make_failure(
                        wire::Stage::Dispatch,
                        {ErrorCode::Malformed, "the broker measured what was to be built", {}}));
    }
  }
  send_submits();
}

// False: it was canceled, and nobody waits for it.
bool SessionCore::take_out(std::uint64_t trial, const wire::FailureT* failure) {
  const auto found = trials_.find(trial);
  if (found->second.sent) --sent_;
  const bool dropped =
      found->second.canceled && failure && failure->error->code == ErrorCode::Canceled;
  let_go(found->second.blobs);
  trials_.erase(found);
  return !dropped;
}

void SessionCore::cancel_pending() {
  for (auto trial = trials_.begin(); trial != trials_.end();) {
    if (!trial->second.sent || state_ != State::Open) {
      if (trial->second.sent) --sent_;
      let_go(trial->second.blobs);
      trial = trials_.erase(trial);
      continue;
    }
    trial->second.canceled = true;
    wire::CancelT cancel;
    cancel.session = session_;
    cancel.trial = trial->first;
    send(pack_message(std::move(cancel)));
    ++trial;
  }
  unsent_.clear();
}

void SessionCore::close() {
  if (state_ == State::Open && !closed_) {
    wire::CloseSessionT close;
    close.session = session_;
    send(pack_message(std::move(close)));
  }
  if (state_ != State::Dialling && !closed_) send(pack_message(wire::GoodbyeT{}));
  closed_ = true;
}

void SessionCore::tick(TimePoint now) {
  if (closed_ || error_) return;
  if (state_ == State::Open) {
    if (now - last_heard_ >= silence_ && uploads_.arrived(now) <= now) return say_hello(now);
    if (now - last_said_ < heartbeat_) return;
    last_said_ = now;
    wire::HeartbeatT beat;
    beat.instance = instance_;
    return send(pack_message(std::move(beat)));
  }
  const auto limit = opened_once_ ? plan_.away_at_most : plan_.answer_within;
  if (now - waiting_since_ >= limit) {
    const auto seconds =
        std::to_string(std::chrono::duration_cast<std::chrono::seconds>(limit).count());
    if (refused_) {
      error_ = Error{ErrorCode::NotFound, "the broker at " + plan_.where +
                                              " is back, but no board "
                                              "with the key '" +
                                              plan_.device_key + "' dialled in within " + seconds +
                                              " s: " + refused_->message};
    } else {
      error_ = no_answer(plan_.where, plan_.public_key, limit);
    }
    return;
  }
  // Dialling and opening repeat themselves: a message may have gone down with a connection.
  if (now - last_said_ < std::max(heartbeat_, milliseconds(500))) return;
  if (state_ == State::Opening && now - last_heard_ < silence_) return say_open(now);
  say_hello(now);
}

Error no_answer(const std::string& where, const std::string& public_key, milliseconds within) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(within).count();
  return {ErrorCode::Unreachable,
          "no answer from the broker at " + where + " within " + std::to_string(seconds) +
              " s: check the address, that the broker runs, that its public key is the one given "
              "here, and that it allows this client's key (there: `" +
              allow_command(public_key) + "`)",
          {}};
}

Error no_answer(const std::string& where, const std::string& cause) {
  return {ErrorCode::Unreachable, "no broker at " + where + ": " + cause, {}};
}

}  // namespace fettle::fleet

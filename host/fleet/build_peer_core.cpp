// Leases of a build worker (build_peer_core.h).
#include "host/fleet/build_peer_core.h"

#include <algorithm>

#include "host/fleet/build_key.h"
#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {
namespace {

constexpr milliseconds kHelloEvery{1000};  // while no Welcome has come
constexpr std::uint32_t kDepth = 2;  // requests for each builder: one is there when it is free

wire::BuildResultT failed(Error error) {
  wire::BuildResultT result;
  result.body.Set(make_failure(wire::Stage::Build, clipped(std::move(error))));
  return result;
}

}  // namespace

BuildPeerCore::BuildPeerCore(BuildPeerPlan plan, std::uint64_t instance, TimePoint now)
    : plan_(std::move(plan)), instance_(instance), last_heard_(now), last_beat_(now) {
  say_hello(now);
}

void BuildPeerCore::send(SharedBytes bytes, TimePoint now) {
  uploads_.send(bytes->size(), now);
  outgoing_.push_back({"", std::move(bytes)});
}

std::vector<LeaseId> BuildPeerCore::leases() const {
  std::vector<LeaseId> all;
  for (const auto& [lease, held] : held_) all.push_back(lease);
  return all;
}

void BuildPeerCore::say_hello(TimePoint now) {
  welcomed_ = false;
  last_hello_ = now;
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = FETTLE_VERSION;
  hello.role = wire::Role::BuildWorker;
  hello.instance = instance_;
  hello.board = std::make_unique<wire::BoardT>();
  hello.board->id = plan_.name.substr(0, 64) + "-" + std::to_string(instance_);
  hello.board->hostname = plan_.name;
  hello.board->model = "build worker";
  hello.board->agent_version = FETTLE_VERSION;
  hello.board->agent_instance = instance_;
  for (std::uint32_t i = 0; i < plan_.builders; ++i) {
    auto builder = std::make_unique<wire::DeviceInfoT>();
    builder->key = build_key(plan_.version);
    builder->index = i;
    builder->name = "builder";
    builder->queue_depth = kDepth;
    hello.devices.push_back(std::move(builder));
  }
  hello.leases = leases();
  send(pack_message(std::move(hello)), now);
}

void BuildPeerCore::receive(ByteView bytes, TimePoint now) {
  if (error_) return;
  auto decoded = decode_message(bytes);
  if (!decoded) return;  // a broker of ours never sends such
  last_heard_ = now;
  auto& body = decoded->body;
  if (auto* assign = body.AsAssign()) {
    on_assign(*assign, now);
  } else if (auto* release = body.AsRelease()) {
    held_.erase(release->lease);
    std::erase(waiting_, release->lease);
  } else if (auto* wanted = body.AsBlobsWanted()) {
    on_wanted(*wanted, now);
  } else if (auto* welcome = body.AsWelcome()) {
    broker_instance_ = welcome->broker_instance;
    heartbeat_ = milliseconds(std::clamp<std::uint32_t>(welcome->heartbeat_ms, 10, 60'000));
    silence_ = std::max(milliseconds(welcome->silence_ms), 2 * heartbeat_);
    if (std::exchange(welcomed_, true)) return;
    // What it was told last may not have reached it.
    for (const auto& [lease, held] : held_)
      if (held.done) send(held.done, now);
  } else if (auto* beat = body.AsHeartbeat()) {
    if (welcomed_ && beat->instance != broker_instance_) say_hello(now);
  } else if (body.AsHelloNeeded()) {
    if (welcomed_) say_hello(now);
  } else if (auto* reject = body.AsReject()) {
    error_ =
        from_wire(*reject->error).in("the broker at " + plan_.where + " refuses this build worker");
  }
}

void BuildPeerCore::on_assign(wire::AssignT& assign, TimePoint now) {
  const LeaseId lease = assign.lease;
  if (held_.count(lease) != 0 || building_.count(lease) != 0) return;
  auto request = decode_build_request(assign.build);
  if (!request) {
    return done(lease, failed(std::move(request).error().in("reading the request")), now);
  }
  request->id = lease;
  held_[lease].waits = std::move(*request);
  waiting_.push_back(lease);
}

std::optional<wire::BuildRequestT> BuildPeerCore::next() {
  if (waiting_.empty() || building_.size() >= plan_.builders) return std::nullopt;
  const LeaseId lease = waiting_.front();
  waiting_.pop_front();
  building_.insert(lease);
  return std::exchange(held_.at(lease).waits, std::nullopt);
}

void BuildPeerCore::built(LeaseId lease, wire::BuildResultT result, TimePoint now) {
  building_.erase(lease);
  if (held_.count(lease) == 0) return;  // nobody wants it any more
  done(lease, std::move(result), now);
}

void BuildPeerCore::done(LeaseId lease, wire::BuildResultT result, TimePoint now) {
  Held& held = held_[lease];
  result.id = 0;
  if (auto* output = result.body.AsBuildOutput()) {
    held.blobs = take_blobs_out(*output->program);
  } else if (auto* failure = result.body.AsFailure()) {
    *failure->error = to_wire(clipped(from_wire(*failure->error)));
  }
  Bytes encoded = encode(result);
  if (encoded.size() > limits::kRequestBytes) {
    held.blobs.clear();
    encoded = encode(
        failed({ErrorCode::TooLarge,
                "a program of " + std::to_string(encoded.size()) +
                    " bytes, without its images, is over " + std::to_string(limits::kRequestBytes),
                {}}));
  }
  wire::DoneT message;
  message.lease = lease;
  message.built = std::move(encoded);
  held.done = pack_message(std::move(message));
  if (welcomed_) send(held.done, now);
}

void BuildPeerCore::on_wanted(const wire::BlobsWantedT& wanted, TimePoint now) {
  for (const wire::Hash& hash : wanted.hashes) {
    for (const auto& [lease, held] : held_) {
      const auto blob = held.blobs.find(hash);
      if (blob == held.blobs.end()) continue;
      for_each_piece(hash, blob->second,
                     [&](wire::PutBlobT piece) { send(pack_message(std::move(piece)), now); });
      break;
    }
  }
}

void BuildPeerCore::tick(TimePoint now) {
  if (error_) return;
  if (!welcomed_) {
    if (now - last_hello_ >= kHelloEvery) say_hello(now);
    return;
  }
  if (now - last_heard_ >= silence_ && uploads_.arrived(now) <= now) return say_hello(now);
  if (now - last_beat_ < heartbeat_) return;
  last_beat_ = now;
  wire::HeartbeatT beat;
  beat.instance = instance_;
  beat.leases = leases();
  send(pack_message(std::move(beat)), now);
}

}  // namespace fettle::fleet

// The supervisor's loop, dispatch table and handlers (supervisor.h).
#include "agent/server/supervisor.h"

#include <sys/signalfd.h>
#include <unistd.h>
#include <zmq.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "agent/platform/board.h"
#include "agent/server/log.h"
#include "schemas/wire/clip_outcome.h"
#include "schemas/wire/clock_domain.h"
#include "schemas/wire/limits.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kHelloEvery = 1000 * kMs;  // while no Welcome has come
constexpr std::uint64_t kComplainAfter = 5000 * kMs;
constexpr std::uint64_t kComplainEvery = 60'000 * kMs;

}  // namespace

template <typename BodyT, void (Supervisor::*handler)(BodyT&)>
void Supervisor::call(Supervisor& self, wire::MessageT& message) {
  (self.*handler)(*static_cast<BodyT*>(message.body.value));
}

// Everything that an agent understands.
const Supervisor::DispatchRow Supervisor::kDispatch[] = {
    {wire::Body::Welcome, call<wire::WelcomeT, &Supervisor::on_welcome>},
    {wire::Body::Reject, call<wire::RejectT, &Supervisor::on_reject>},
    {wire::Body::HelloNeeded, call<wire::HelloNeededT, &Supervisor::on_hello_needed>},
    {wire::Body::Heartbeat, call<wire::HeartbeatT, &Supervisor::on_heartbeat>},
    {wire::Body::PutBlob, call<wire::PutBlobT, &Supervisor::on_put_blob>},
    {wire::Body::Assign, call<wire::AssignT, &Supervisor::on_assign>},
    {wire::Body::Release, call<wire::ReleaseT, &Supervisor::on_release>},
};

Supervisor::Supervisor(const AgentOptions& options, wire::BoardT board,
                       std::vector<wire::DeviceInfoT> devices, Nursery nursery, BrokerLink link,
                       std::string public_key, ServiceNotifier service)
    : url_(options.broker),
      public_key_(std::move(public_key)),
      board_(std::move(board)),
      nursery_(std::move(nursery)),
      link_(std::move(link)),
      service_(std::move(service)),
      output_(nursery_.output_fd(),
              [](const std::string& line) {
                log(LogLevel::Warning, "a worker says: %s", line.c_str());
              }),
      blobs_(options.blob_cache_bytes),
      heartbeat_ns_(1000 * kMs),
      silence_ns_(10'000 * kMs),
      worker_patience_ns_(options.worker_seconds * 1000 * kMs),
      started_(StatusPage::monotonic_ns()),
      unregistered_(started_),
      next_complaint_(started_ + kComplainAfter) {
  for (wire::DeviceInfoT& info : devices) {
    // The broker, who has a real clock, must not give us up.
    if (!clock_facts(info.clock).has_rate) clock_lag_ = kInstructionClockLag;
    devices_.push_back(std::make_unique<DeviceQueue>(
        std::move(info), nursery_, blobs_,
        [this](std::uint64_t lease, Bytes outcome) { send_done(lease, std::move(outcome)); },
        [this](std::vector<wire::Hash> missing) { want(std::move(missing)); }));
  }
}

int Supervisor::run() {
  sigset_t stops;
  sigemptyset(&stops);
  sigaddset(&stops, SIGTERM);
  sigaddset(&stops, SIGINT);
  sigprocmask(SIG_BLOCK, &stops, nullptr);
  const OwnedFd stop(signalfd(-1, &stops, SFD_CLOEXEC | SFD_NONBLOCK));
  std::vector<zmq_pollitem_t> items;
  // Serving, though no broker may be there yet: that can take as long as it likes.
  service_.ready("dialling " + url_);
  while (exit_status_ < 0) {
    items.assign({{link_.socket(), 0, ZMQ_POLLIN, 0},
                  {nullptr, nursery_.fd(), ZMQ_POLLIN, 0},
                  {nullptr, stop.get(), ZMQ_POLLIN, 0}});
    const std::size_t fixed = items.size();
    std::vector<DeviceQueue*> watched;
    for (auto& device : devices_) {
      if (device->fd() < 0) continue;
      items.push_back({nullptr, device->fd(), ZMQ_POLLIN, 0});
      watched.push_back(device.get());
    }
    if (output_.fd() >= 0) items.push_back({nullptr, output_.fd(), ZMQ_POLLIN, 0});
    const int wait = on_time();
    if (exit_status_ >= 0) break;
    if (zmq_poll(items.data(), static_cast<int>(items.size()), wait) < 0) {
      if (zmq_errno() == EINTR) continue;
      log(LogLevel::Error, "polling: %s", zmq_strerror(zmq_errno()));
      return kExitBroken;
    }
    // Workers first: what they finished frees a place for what the broker sends.
    for (std::size_t i = 0; i < watched.size(); ++i) {
      if (items[fixed + i].revents) watched[i]->on_readable();
    }
    if (output_.fd() >= 0 && items.back().revents) output_.read(StatusPage::monotonic_ns());
    while (items[1].revents) {
      auto event = nursery_.next_event();
      if (!event) {
        log(LogLevel::Error, "%s: stopping", event.error().text().c_str());
        return kExitBroken;
      }
      if (!*event) break;
      for (auto& device : devices_) {
        if (device->on_event(**event)) break;
      }
    }
    if (items[2].revents) {
      log(LogLevel::Info, "stopping");
      service_.stopping();
      if (welcomed_) link_.send(message_of(wire::GoodbyeT{}));
      exit_status_ = 0;
    }
    for (int i = 0; items[0].revents && i < 64 && exit_status_ < 0; ++i) {
      auto message = link_.receive();
      if (!message) break;
      if (!*message) {
        log(LogLevel::Warning, "from the broker: %s", message->error().text().c_str());
        continue;
      }
      handle(**message);
    }
  }
  link_.close(200);
  return exit_status_;
}

void Supervisor::handle(wire::MessageT& message) {
  last_heard_ = StatusPage::monotonic_ns();
  for (const DispatchRow& row : kDispatch) {
    if (row.kind == message.body.type) return row.handle(*this, message);
  }
  log(LogLevel::Warning, "the broker sent %s, which is not for agents",
      wire::EnumNameBody(message.body.type));
}

void Supervisor::on_welcome(wire::WelcomeT& welcome) {
  if (welcome.protocol_version != limits::kProtocolVersion) {
    log(LogLevel::Error, "the broker speaks protocol version %u, this agent %u: upgrade the older",
        welcome.protocol_version, limits::kProtocolVersion);
    exit_status_ = kExitRejected;
    return;
  }
  if (broker_instance_ != 0 && broker_instance_ != welcome.broker_instance) {
    log(LogLevel::Info, "the broker was restarted: its old assignments are dropped");
    forget_leases();
  }
  broker_instance_ = welcome.broker_instance;
  // It was away, or we were: what it was told last may not have reached it.
  if (!welcomed_) {
    for (const auto& outcome : kept_.outcomes()) say_done(outcome.lease, outcome.bytes);
  }
  heartbeat_ns_ = std::clamp<std::uint64_t>(welcome.heartbeat_ms, 10, 60'000) * kMs / clock_lag_;
  silence_ns_ = std::max<std::uint64_t>(welcome.silence_ms, 100) * kMs;
  if (!welcomed_) {
    log(LogLevel::Info, "registered with %s after %llu ms", url_.c_str(),
        static_cast<unsigned long long>((last_heard_ - unregistered_) / kMs));
    service_.status("registered with " + url_);
  }
  welcomed_ = true;
}

void Supervisor::on_reject(wire::RejectT& reject) {
  log(LogLevel::Error, "the broker at %s refuses this agent: %s", url_.c_str(),
      from_wire(*reject.error).text().c_str());
  exit_status_ = kExitRejected;
}

void Supervisor::on_hello_needed(wire::HelloNeededT&) {
  forgotten(StatusPage::monotonic_ns(), kComplainAfter);
  say_hello();
}

void Supervisor::forgotten(std::uint64_t now, std::uint64_t complain_after) {
  if (welcomed_) unregistered_ = now, next_complaint_ = now + complain_after;
  welcomed_ = false;
}

void Supervisor::on_heartbeat(wire::HeartbeatT& heartbeat) {
  // Another broker at the same address: it must learn who we are.
  if (broker_instance_ == 0) return;
  if (heartbeat.instance == broker_instance_) return kept_.heartbeat_answered();
  forgotten(StatusPage::monotonic_ns(), kComplainAfter);
  say_hello();
}

void Supervisor::on_put_blob(wire::PutBlobT& blob) {
  const auto stored = blobs_.put_piece(blob);
  if (!stored) {
    log(LogLevel::Warning, "a blob from the broker: %s", stored.error().text().c_str());
    if (stored.error().code != ErrorCode::TooLarge) return;  // it may yet come, or be asked for
    for (auto& device : devices_) device->blob_refused(*blob.hash, stored.error());
    return;
  }
  if (!*stored) {
    for (auto& device : devices_) device->blob_grew(*blob.hash);
    return;
  }
  for (auto& device : devices_) device->blob_arrived(*blob.hash, total_bytes(blob));
}

void Supervisor::on_assign(wire::AssignT& assign) {
  if (assign.device_index >= devices_.size()) {
    wire::OutcomeT outcome;
    outcome.body.Set(make_failure(
        wire::Stage::Dispatch,
        {ErrorCode::NotFound, "this board has no device " + std::to_string(assign.device_index)}));
    outcome.times = std::make_unique<wire::StageTimesT>();
    send_done(assign.lease, encode(outcome));
    return;
  }
  auto missing = devices_[assign.device_index]->accept(assign.lease, assign.session,
                                                       std::move(assign.request));
  if (!missing.empty()) want(std::move(missing));
}

void Supervisor::want(std::vector<wire::Hash> missing) {
  wire::BlobsWantedT wanted;
  wanted.hashes = std::move(missing);
  link_.send(message_of(std::move(wanted)));
}

void Supervisor::on_release(wire::ReleaseT& release) {
  kept_.forget(release.lease);
  for (auto& device : devices_) device->release(release.lease);
}

void Supervisor::say_hello() {
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = agent_version();
  hello.role = wire::Role::Agent;
  hello.instance = board_.agent_instance;
  hello.board = std::make_unique<wire::BoardT>(board_);
  const auto devices = offered();
  for (const DeviceQueue* device : devices) {
    hello.devices.push_back(std::make_unique<wire::DeviceInfoT>(device->info()));
  }
  hello.leases = leases();
  const auto kept = kept_.leases();
  hello.leases.insert(hello.leases.end(), kept.begin(), kept.end());
  link_.send(message_of(std::move(hello)));
  last_hello_ = StatusPage::monotonic_ns();
  told_ready_ = ready_workers();
  told_devices_ = devices.size();
}

// As it may go to the broker. A candidate that wrote into the worker's own memory can have made
// any of it.
Result<Bytes> Supervisor::sendable(const Bytes& outcome) const {
  auto decoded = decode_outcome(outcome);
  if (!decoded) return std::move(decoded).error().in("reading the worker's outcome");
  decoded->board_id = board_.id;
  clip_texts(*decoded);  // a compiler's log may be longer than a message
  return encode_to_send(*decoded, limits::kOutcomeBytes);
}

void Supervisor::send_done(std::uint64_t lease, Bytes outcome) {
  if (auto good = sendable(outcome)) {
    outcome = std::move(*good);
  } else {
    wire::OutcomeT failed;
    failed.body.Set(make_failure(wire::Stage::Run, clipped(std::move(good).error())));
    failed.times = std::make_unique<wire::StageTimesT>();
    failed.board_id = board_.id;
    outcome = encode(failed);
  }
  if (!say_done(lease, outcome)) {
    log(LogLevel::Warning, "the broker does not take outcomes: one waits for its return");
  }
  kept_.sent(lease, std::move(outcome));
}

bool Supervisor::say_done(std::uint64_t lease, const Bytes& outcome) {
  wire::DoneT done;
  done.lease = lease;
  done.outcome = outcome;
  return link_.send(message_of(std::move(done)));
}

void Supervisor::forget_leases() {
  kept_.forget_all();
  for (auto& device : devices_) device->release_all();
}

std::vector<std::uint64_t> Supervisor::leases() const {
  std::vector<std::uint64_t> all;
  for (const auto& device : devices_) {
    const auto some = device->leases();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

// All, or once one is ready those that can be opened: the others are nothing that the board can
// do. Where there is nothing else, whoever tries one hears why.
std::vector<const DeviceQueue*> Supervisor::offered() const {
  const bool some = ready_workers() > 0;
  std::vector<const DeviceQueue*> out;
  for (const auto& device : devices_) {
    if (!some || device->ready() || device->refusal().empty()) out.push_back(device.get());
  }
  return out;
}

bool Supervisor::workers_settled() const {
  return std::all_of(devices_.begin(), devices_.end(),
                     [](const auto& d) { return d->ready() || !d->refusal().empty(); });
}

std::size_t Supervisor::ready_workers() const {
  return static_cast<std::size_t>(
      std::count_if(devices_.begin(), devices_.end(), [](const auto& d) { return d->ready(); }));
}

// From the loop itself: an agent whose loop hangs is not alive.
void Supervisor::feed_watchdog() {
  const std::uint64_t interval = service_.watchdog_interval_ns(), now = StatusPage::monotonic_ns();
  if (interval == 0 || (last_alive_ != 0 && now - last_alive_ < interval / 2)) return;
  service_.alive();
  last_alive_ = now;
}

int Supervisor::on_time() {
  feed_watchdog();
  const std::uint64_t now = StatusPage::monotonic_ns();
  int wait = 1000;
  // Woken often enough for the watchdog, however short.
  if (const std::uint64_t interval = service_.watchdog_interval_ns(); interval != 0) {
    wait = static_cast<int>(std::clamp<std::uint64_t>(interval / 2 / kMs, 1, 1000));
  }
  for (auto& device : devices_) wait = std::min(wait, device->on_time());
  if (welcomed_ && now - last_heard_ > silence_ns_) {
    log(LogLevel::Warning, "no word from the broker for %llu ms: dialling on",
        static_cast<unsigned long long>((now - last_heard_) / kMs));
    service_.status("no word from " + url_ + ": dialling on");
    forgotten(now, kComplainEvery);
  }
  if (!welcomed_) {
    // The first Hello waits for the workers, whose sandbox level it tells; a worker
    // that cannot start does not keep the board a secret.
    const bool told = workers_settled() || now - started_ > worker_patience_ns_;
    if (told && (last_hello_ == 0 || now - last_hello_ >= kHelloEvery)) say_hello();
    if (now >= next_complaint_) {
      log(LogLevel::Warning,
          "no answer from the broker at %s: is it running, is its key right, and is this agent's "
          "key %s allowed there (fettle keys allow)? Still trying",
          url_.c_str(), public_key_.c_str());
      next_complaint_ = now + kComplainEvery;
    }
    return std::min(wait, 100);
  }
  // A worker took long to see its device, or that it has none.
  if (workers_settled() && (told_ready_ < ready_workers() || told_devices_ != offered().size())) {
    say_hello();
  }
  if (now - last_heartbeat_ >= heartbeat_ns_) {
    wire::HeartbeatT heartbeat;
    heartbeat.instance = board_.agent_instance;
    heartbeat.leases = leases();
    link_.send(message_of(std::move(heartbeat)));
    last_heartbeat_ = now;
  }
  const std::uint64_t next = (last_heartbeat_ + heartbeat_ns_ - now) / kMs + 1;
  return static_cast<int>(std::min<std::uint64_t>(static_cast<std::uint64_t>(wait), next));
}

}  // namespace fettle::agent

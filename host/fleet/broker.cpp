// The broker's socket loop: receives, feeds the core, sends what the core wants.
#include "host/fleet/broker.h"

#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "host/fleet/connection_guard.h"
#include "host/fleet/curve.h"
#include "host/fleet/outbox.h"
#include "host/fleet/state_file.h"
#include "host/fleet/zap.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kMostStrangers = 1000;  // unknown keys named in the log
constexpr int kBatch = 256;                   // messages between two looks at the time
constexpr milliseconds kViewEvery{200}, kGlanceEvery{500};  // somebody looks at the fleet; nobody

}  // namespace

struct Broker::Loop {
  Loop(BrokerOptions given, std::unique_ptr<StateFile> kept)
      : options(std::move(given)),
        context(1),
        state(std::move(kept)),
        core(state ? state->instance() : random_id(), options.times, options.limits),
        power(options.power_cycle, [this](const std::string& board, const std::string& command) {
          log("board '" + board + "' is silent: " + command);
          if (!run_detached(board, command)) log("cannot start the power-cycle command");
        }) {}

  BrokerOptions options;
  zmq::context_t context;
  AllowList allowed;
  std::unique_ptr<ZapHandler> zap;
  zmq::socket_t socket;
  std::unique_ptr<ConnectionGuard> guard;
  std::unique_ptr<StateFile> state;  // null: nothing outlives it
  BrokerCore core;
  std::string own_key;  // its public half
  PowerCycle power;
  int wake_fd = -1;
  std::atomic<bool> stopping{false};
  std::thread thread;

  Outbox outbox{socket};
  // Who spoke last: it may be answered before it has said Hello.
  PeerId speaker;
  std::string speaker_key;

  void log(const std::string& line) const {
    if (options.log) options.log(line);
  }

  void audit(const BrokerEvent& event) const {
    if (options.audit) options.audit(event);
  }

  std::atomic<std::uint64_t> refused_handshakes{0};
  // Each stranger is told of once, however often it dials. Of the ZAP thread alone.
  std::set<std::string> strangers;
  void refused(const std::string& key, const std::string& address) {
    ++refused_handshakes;
    if (strangers.size() >= kMostStrangers || !strangers.insert(key).second) return;
    BrokerEvent event;
    event.kind = BrokerEventKind::KeyUnknown;
    event.public_key = key;
    event.text = address;
    audit(event);
    log("no answer to the unknown key " + key + " at " + address +
        " (`fettle keys allow NAME KEY` lets a client in, with --role agent an agent)");
  }

  // The owner has the broker's own key, and needs no line in the list.
  std::optional<Permission> find(const std::string& key) const {
    if (key == own_key) return Permission{"broker", wire::Role::Client, own_key, {}, {}};
    return allowed.find(key);
  }

  void gone(const PeerId& peer, TimePoint now) {
    outbox.forget(peer);
    core.unreachable(peer, now);
  }

  void flush(TimePoint now) {
    for (auto outgoing = core.take_outgoing(); !outgoing.empty(); outgoing = core.take_outgoing()) {
      for (Outgoing& next : outgoing) {
        const std::string account = core.account_of(next.to, speaker, speaker_key);
        if (outbox.send(next.to, account, std::move(next.bytes)) == Outbox::Sent::Gone) {
          gone(next.to, now);
        } else if (outbox.unread(account) > core.backlog_limit(next.to)) {
          core.does_not_read(next.to, outbox.unread(account));
          gone(next.to, now);
        }
      }
    }
  }

  void retry_backlogs(TimePoint now) {
    const auto lost = outbox.retry();
    for (const PeerId& peer : lost) gone(peer, now);
    if (!lost.empty()) flush(now);
  }

  bool receive_one(TimePoint now) {
    zmq::message_t address, message, extra;
    if (!socket.recv(address, zmq::recv_flags::dontwait)) return false;
    if (!address.more()) return true;
    if (!socket.recv(message)) return true;
    if (message.more()) {  // one Message per ZeroMQ message: anything else is no peer of ours
      do {
        if (!socket.recv(extra)) break;
      } while (extra.more());
      return true;
    }
    const char* user = zmq_msg_gets(message.handle(), "User-Id");
    const auto who = find(user ? user : "");
    if (!who) {  // revoked since it dialled in: no answer
      core.refused(address.to_string(), now);
      return true;
    }
    guard->proven(message, who->public_key);
    speaker = address.to_string();
    speaker_key = who->public_key;
    core.receive(speaker, *who, {static_cast<const std::uint8_t*>(message.data()), message.size()},
                 now);
    return true;
  }

  // From the loop and the ZAP thread. A problem that stays is told now and then.
  std::mutex telling;
  std::string problem;
  TimePoint told;
  void read_allow_list() {
    if (options.allow_file.empty()) return;
    const auto read = allowed.reload(options.allow_file);
    const std::lock_guard hold(telling);
    const std::string now_wrong = read ? "" : read.error().text();
    const TimePoint now = Clock::now();
    if (now_wrong == problem && (problem.empty() || now - told < std::chrono::minutes(1))) return;
    if (now_wrong.empty()) {
      log("the allow list can be read again");
    } else {
      log("the allow list has changed and cannot be read, so nobody is let in anew: " + now_wrong);
    }
    problem = now_wrong;
    told = now;
  }

  // One who was let in a moment ago may dial before the loop's next look.
  bool allows(const std::string& key) {
    read_allow_list();  // one who was revoked a moment ago may dial, too
    return key == own_key || (!allowed.stale() && allowed.find(key).has_value());
  }

  std::uint64_t rechecked = 0;  // version of the list
  void reload_allow_list(TimePoint now) {
    if (options.allow_file.empty()) return;
    read_allow_list();
    const std::uint64_t version = allowed.version();
    if (std::exchange(rechecked, version) == version) return;
    core.set_allowed(allowed.entries());
    core.recheck(
        [this](const Permission& who) {
          const auto listed = find(who.public_key);
          return listed && *listed == who;  // also as it was: it says Hello again
        },
        now);
    log("read the allow list " + options.allow_file.string());
  }

  TimePoint next_tick = Clock::now(), next_reload = Clock::now() + std::chrono::seconds(1);
  TimePoint last_turn = Clock::now();

  // For those who watch.
  const TimePoint started = Clock::now();
  std::mutex watching;
  BrokerStatus watched;
  std::uint64_t cut_told = 0;
  void take_stock(TimePoint now) {
    for (const BrokerEvent& event : core.take_events()) {
      audit(event);
      if (event.kind == BrokerEventKind::BoardDrifts || event.kind == BrokerEventKind::BoardSteady)
        log(event.text);
    }
    if (const std::uint64_t cut = guard->cut_off(); cut != cut_told) {
      BrokerEvent event;
      event.kind = BrokerEventKind::ConnectionsCut;
      event.text = std::to_string(cut - std::exchange(cut_told, cut)) + " connections";
      audit(event);
    }
    BrokerStatus status = status_of(core, now);
    status.up_seconds =
        static_cast<std::uint64_t>(std::chrono::floor<std::chrono::seconds>(now - started).count());
    status.connections = guard->open().all() - guard->open().unproven();
    status.unproven = guard->open().unproven();
    status.cut_off = guard->cut_off();
    status.unknown_keys = refused_handshakes;
    const std::lock_guard hold(watching);
    status.endpoint = watched.endpoint;
    watched = std::move(status);
  }

  TimePoint next_view;  // for the watcher
  void show(TimePoint now) {
    if (!options.watcher || now < next_view) return;
    next_view = now + (options.watcher->looks() ? kViewEvery : kGlanceEvery);
    FleetView view = core.view(now);
    {
      const std::lock_guard hold(watching);
      view.status = watched;
    }
    options.watcher->see(std::move(view));
  }

  // One turn of the loop: due work, then what has arrived within half a beat at most.
  void turn() {
    TimePoint now = Clock::now();
    if (now - last_turn > options.times.heartbeat) {
      core.stood_still(std::chrono::floor<milliseconds>(now - last_turn));
    }
    last_turn = now;
    if (now >= next_tick) {
      next_tick = now + std::max(options.times.heartbeat / 2, milliseconds(1));
      core.tick(now);
      for (const auto& change : core.take_board_changes()) {
        if (change.silent)
          power.silent(change.name, now);
        else
          power.seen(change.name);
      }
      power.tick(now);
      take_stock(now);
      outbox.tidy();
    }
    if (now >= next_reload) {
      next_reload = now + std::chrono::seconds(1);
      reload_allow_list(now);
    }
    flush(now);
    retry_backlogs(now);
    save();
    show(now);
    auto wait = std::chrono::ceil<milliseconds>(std::min(next_tick, next_reload) - now);
    if (outbox.any_waits())
      wait = std::min(wait, milliseconds(2));  // ROUTER tells no single pipe's room
    if (options.watcher) wait = std::min(wait, std::chrono::ceil<milliseconds>(next_view - now));
    if (guard->open().unproven() > 0) wait = std::min(wait, milliseconds(20));
    zmq::pollitem_t items[] = {{socket.handle(), 0, ZMQ_POLLIN, 0},
                               {nullptr, wake_fd, ZMQ_POLLIN, 0},
                               {guard->handle(), 0, ZMQ_POLLIN, 0}};
    zmq::poll(items, 3, std::max(wait, milliseconds(0)));
    guard->read();  // before messages: who accepted them is known then
    if (items[0].revents == 0) return;
    now = Clock::now();
    for (int i = 0; i < kBatch && receive_one(now); ++i) flush(now);
    save();
  }

  // What another run left, but for keys that are not allowed as they were.
  void restore() {
    if (!state) return;
    core.keep_changes();
    core.restore(state->take_state(), Clock::now());
    core.recheck([this](const Permission& who) { return find(who.public_key) == who; },
                 Clock::now());
    save();
  }

  void save() {
    if (!state) return;
    if (auto changes = core.take_changes(); !changes.empty()) state->save(std::move(changes));
  }

  // A turn that fails is told, and the fleet goes on.
  void run() {
    last_turn = Clock::now();
    // A board that is down already gets as long to dial in as one that goes silent.
    for (const auto& [board, command] : options.power_cycle.commands)
      power.silent(board, last_turn);
    while (!stopping) {
      try {
        turn();
      } catch (const zmq::error_t& error) {
        if (error.num() == ETERM) return;
        if (error.num() != EINTR) log(std::string("the broker's socket: ") + error.what());
      } catch (const std::exception& error) {
        log(std::string("a turn of the broker failed: ") + error.what());
      }
    }
  }
};

namespace {

// Half of the descriptors are for peers that have proven who they are.
ConnectionLimits within_files(ConnectionLimits limits) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return limits;
  const auto most = std::max<std::size_t>(static_cast<std::size_t>(files.rlim_cur) / 4, 4);
  limits.unproven = std::min(limits.unproven, most);
  limits.unproven_of_address = std::min(limits.unproven_of_address, (most + 1) / 2);
  return limits;
}

// A dual-stack socket says tcp://[::ffff:127.0.0.1]:9190 of an IPv4 address.
std::string plain_endpoint(const std::string& endpoint) {
  constexpr const char* kMapped = "tcp://[::ffff:";
  const std::size_t end = endpoint.find(']');
  if (endpoint.rfind(kMapped, 0) != 0 || end == std::string::npos) return endpoint;
  const std::size_t begin = std::string(kMapped).size();
  return "tcp://" + endpoint.substr(begin, end - begin) + endpoint.substr(end + 1);
}

}  // namespace

Result<std::unique_ptr<Broker>> Broker::start(BrokerOptions options) {
  auto derived = public_key_of(options.keys.secret_key);
  if (!derived) return std::move(derived).error().in("starting the broker");
  std::unique_ptr<StateFile> state;
  if (!options.state_folder.empty()) {
    auto opened = StateFile::open(options.state_folder, options.log);
    if (!opened) return std::move(opened).error().in("starting the broker");
    state = std::move(*opened);
  }
  std::unique_ptr<Broker> broker(new Broker);
  broker->loop_ = std::make_unique<Loop>(std::move(options), std::move(state));
  Loop& loop = *broker->loop_;
  broker->public_key_ = *derived;
  auto listed = loop.options.allow_file.empty()
                    ? Result<std::vector<Permission>>(loop.options.allowed)
                    : load_allow_list(loop.options.allow_file);
  if (!listed) return std::move(listed).error().in("starting the broker");
  for (const auto& [board, command] : loop.options.power_cycle.commands) {
    const bool known = std::any_of(listed->begin(), listed->end(), [&](const Permission& entry) {
      return entry.name == board && entry.role == wire::Role::Agent;
    });
    if (!known)
      loop.log("--power-cycle names '" + board +
               "', which the allow list does not know as an agent");
  }
  if (loop.options.allow_file.empty()) {
    loop.allowed.set(loop.options.allowed);
  } else if (auto loaded = loop.allowed.reload(loop.options.allow_file); !loaded) {
    return std::move(loaded).error().in("starting the broker");
  }
  loop.rechecked = loop.allowed.version();
  loop.core.set_allowed(loop.allowed.entries());
  loop.own_key = *derived;
  loop.core.set_owner(*derived);
  if (loop.options.leave_out_drifting) loop.core.leave_out_drifting();
  if (loop.options.watcher) loop.core.keep_ended();
  loop.restore();
  loop.wake_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (loop.wake_fd < 0) return Error{ErrorCode::Io, "cannot make an eventfd"};
  loop.zap = std::make_unique<ZapHandler>(
      loop.context, [&loop](const std::string& key) { return loop.allows(key); },
      [&loop](const std::string& key, const std::string& address) { loop.refused(key, address); });
  auto socket = make_server(loop.context, loop.options.listen, loop.options.keys);
  if (!socket) return std::move(socket).error();
  loop.socket = std::move(*socket);
  try {
    loop.guard = std::make_unique<ConnectionGuard>(loop.context, loop.socket,
                                                   within_files(loop.options.connections));
  } catch (const zmq::error_t& error) {
    return Error{ErrorCode::Io, std::string("watching connections: ") + error.what()};
  }
  broker->endpoint_ = plain_endpoint(loop.socket.get(zmq::sockopt::last_endpoint));
  loop.watched.endpoint = broker->endpoint_;
  loop.thread = std::thread([&loop] { loop.run(); });
  return broker;
}

void Broker::stop() {
  Loop& loop = *loop_;
  if (!loop.thread.joinable()) return;
  loop.stopping = true;
  const std::uint64_t one = 1;
  if (::write(loop.wake_fd, &one, sizeof one) < 0) { /* full: it is awake already */
  }
  loop.thread.join();
  loop.guard.reset();
  loop.socket.close();
}

Broker::~Broker() {
  if (!loop_) return;
  stop();
  loop_->guard.reset();
  loop_->socket.close();
  loop_->zap.reset();
  if (loop_->wake_fd >= 0) ::close(loop_->wake_fd);
}

BrokerStatus Broker::status() const {
  const std::lock_guard hold(loop_->watching);
  return loop_->watched;
}

const BrokerCounters& Broker::counters() const { return loop_->core.counters(); }

}  // namespace fettle::fleet

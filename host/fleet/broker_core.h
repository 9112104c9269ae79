// The broker as a state machine: messages and times in, messages out. No sockets,
// no threads, no clock of its own, so that every fault can be played in a test.
//
// What it promises:
//   - a submitted trial ends in exactly one Completed, unless it is canceled or
//     its session ends; it is on at most one board at a time;
//   - a trial whose board is lost is given to a board again, at most twice, then
//     it is Failure{Dispatch, DeviceLost}; the first 16 boards that said goodbye do not count;
//   - a device never holds more leases than its queue depth;
//   - what arrives for a lease that has ended is dropped.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/fleet/allow_list.h"
#include "host/fleet/blob_store.h"
#include "host/fleet/board_claims.h"
#include "host/fleet/broker_events.h"
#include "host/fleet/broker_state.h"
#include "host/fleet/build_cache.h"
#include "host/fleet/build_queue.h"
#include "host/fleet/device_standing.h"
#include "host/fleet/device_state.h"
#include "host/fleet/drift.h"
#include "host/fleet/lease_table.h"
#include "host/fleet/reservations.h"
#include "host/fleet/scheduler.h"
#include "host/fleet/slow_link.h"
#include "schemas/wire/blob_pieces.h"
#include "schemas/wire/limits.h"

namespace fettle::fleet {

struct BrokerTimes {
  milliseconds heartbeat{1000};       // peers send one this often
  milliseconds silence{10'000};       // a peer silent for this long is given up
  milliseconds no_board{120'000};     // trials of a key without boards fail after this; builds wait
  milliseconds upload{600'000};       // a client's word may be stuck behind a blob for so long
  milliseconds unused{1'800'000};     // a blob of no use for so long may go though it is needed
  milliseconds trial{7'200'000};      // the longest that a request's own limits may add up to
  milliseconds lease_slack{300'000};  // beyond those: workers that start, blobs that went astray
  milliseconds build{150'000};        // of a builder: two builds in turn, each within its deadline
};

struct BrokerLimits {
  std::uint32_t attempts = 3;                       // boards that one trial may be given to
  std::size_t in_flight = 4096;                     // unfinished trials of one session
  std::size_t sessions = 64;                        // of one client
  std::size_t devices = limits::kDevices;           // of one agent
  std::size_t agents = 1024;                        // of one key, where it may be any board
  std::size_t agents_of_board = 4;                  // of one key that say they are one board
  std::uint32_t queue_depth = limits::kQueueDepth;  // of one device; more is cut to this
  std::size_t blob_bytes = std::size_t{2} << 30;    // of blobs: a network of 1 GiB is two in turn
  std::size_t build_cache_bytes = std::size_t{64} << 20;  // of results, without their blobs
  std::size_t completed_kept = 1024;  // per session, for a client that reconnects
  // Of one client key, over all its connections.
  std::size_t clients = 256;  // connections
  std::size_t sessions_of_key = 512;
  std::size_t request_bytes = std::size_t{256} << 20;        // of trials that have not ended
  std::size_t completed_bytes = std::size_t{64} << 20;       // of outcomes kept
  std::size_t client_backlog_bytes = std::size_t{64} << 20;  // sent and not read yet
  std::size_t agent_backlog_bytes = std::size_t{1} << 30;    // of one agent: blobs
};

// What one client key has of the broker now.
struct ClientUsage {
  std::string name, public_key;
  std::size_t connections = 0, sessions = 0, trials = 0;
  std::size_t request_bytes = 0, completed_bytes = 0, blob_bytes = 0;
};

// Read by other threads while the broker runs.
struct BrokerCounters {
  std::atomic<std::uint64_t> submitted{0}, completed{0}, requeued{0}, device_lost{0},
      stale_results{0}, malformed{0}, unauthorized{0}, rejected{0}, quota_hits{0}, overdue{0},
      events_dropped{0}, known_builds{0};
};

struct FleetView;
struct TrialEnded;

class BrokerCore {
 public:
  BrokerCore(std::uint64_t instance, BrokerTimes times = {}, BrokerLimits limits = {});
  ~BrokerCore();

  // One message from the peer whose key has that permission.
  void receive(const PeerId& from, const Permission& who, ByteView bytes, TimePoint now);
  // A message could not be delivered: that connection is gone.
  void unreachable(const PeerId& peer, TimePoint now);
  // The allow list as it is now: which boards are whose. Before any peer, and when it changes.
  void set_allowed(const std::vector<Permission>& entries) { claims_.set_entries(entries); }
  // The key of the broker's owner, who may end what others reserved; the broker's own.
  void set_owner(std::string public_key) { owner_key_ = std::move(public_key); }
  // From now on a device that drifts (drift.h) gets only trials that name its board.
  void leave_out_drifting() { leave_out_ = true; }
  // Peers whose key `allowed` refuses are dropped (a key was revoked).
  void recheck(const std::function<bool(const Permission&)>& allowed, TimePoint now);
  // A message was not taken, for its peer's key is off the list: that peer is dropped at once,
  // though it may be back on the list before anyone calls recheck, as what it said is lost.
  void refused(const PeerId& peer, TimePoint now);
  // Call at least every half heartbeat.
  void tick(TimePoint now);
  // The caller itself could not run for that long (stopped by Ctrl-Z, or a loaded machine):
  // that time is nobody's silence, and what the peers said in it is still to be read.
  void stood_still(milliseconds time);

  // Boards that registered, or were given up for their silence, since the last call, by
  // their name in the allow list; in that order.
  struct BoardChange {
    std::string name;
    bool silent;
  };
  std::vector<BoardChange> take_board_changes() { return std::exchange(board_changes_, {}); }

  // What was decided about peers since the last call: the first 4,096 of it, the rest is counted.
  std::vector<BrokerEvent> take_events() { return std::exchange(events_, {}); }

  // What another run of the broker left. Before any peer and after set_allowed.
  void restore(BrokerState state, TimePoint now);
  // From now on what changes is told, for the next run.
  void keep_changes() { keep_changes_ = true; }
  std::vector<StateChange> take_changes() { return std::exchange(changes_, {}); }

  // What is to be sent, in this order; last, to each session whose pool has changed, what it is
  // now.
  std::vector<Outgoing> take_outgoing();
  const BrokerCounters& counters() const { return counters_; }
  std::uint64_t instance() const { return instance_; }
  // Bytes that may be sent and not read yet: by the connections of one client key together, by one
  // agent.
  std::size_t backlog_limit(const PeerId& peer) const;
  // Whose backlog what is sent to that peer counts for: the key's, or the agent's own. `speaker`,
  // of `speaker_key`, may not have said Hello.
  std::string account_of(const PeerId& peer, const PeerId& speaker,
                         const std::string& speaker_key) const;
  // It is over that limit, and will be unreachable.
  void does_not_read(const PeerId& peer, std::size_t bytes);
  std::vector<ClientUsage> usage() const;
  std::size_t agents() const;    // boards that are connected now
  std::size_t builders() const;  // of all build workers that are connected now
  std::size_t waiting() const;   // trials that no board has yet
  std::size_t leases() const { return leases_.size(); }
  std::size_t blob_bytes() const { return blobs_.bytes(); }
  // `asks`: the public key of the client that sees it.
  wire::DeviceListT device_list(TimePoint now = {}, const std::string& asks = {}) const;

  std::vector<wire::SessionStatusT> session_statuses() const;
  std::size_t reserved_boards() const { return reservations_.all().size(); }
  std::size_t drifting_devices() const { return drift_.named(); }
  std::vector<BuildQueue> build_queues() const;  // by version
  BoardStates board_states(TimePoint now) const;

  // From now on trials that end are kept for the next view (fleet_view.h).
  void keep_ended() { ended_kept_ = true; }
  FleetView view(TimePoint now);

 private:
  struct Peer {  // one connection that said Hello
    Permission who;
    AgentId agent = 0;  // one of the two is set
    ClientId client = 0;
  };
  // The blob whose pieces a peer sends now.
  struct Incoming {
    BlobPieces pieces;
    std::optional<ContentHasher> hasher;  // absent: it is not wanted, or not any more
  };
  struct Agent {  // or a build worker
    AgentId id = 0;
    std::uint64_t instance = 0;
    PeerId peer;  // "": its connection is gone
    Permission who;
    wire::BoardT board;
    std::vector<wire::DeviceInfoT> devices;
    std::vector<std::string> kinds;    // of these (device_kind.h); empty: of builders
    std::vector<TimePoint> last_done;  // by the device's index
    std::set<wire::Hash, HashLess> blobs;
    std::size_t most_leases = 0;   // that it can hold, as far as the broker knows
    TimePoint last_seen, give_up;  // give_up: earlier than silence when it was replaced
    SlowLink link;                 // blobs and assignments on their way
    // Of builders: the blob whose pieces it sends now, and the leases whose results are here, but
    // not all of the blobs that they name.
    Incoming incoming;
    std::set<LeaseId> uploading;
  };
  struct Session {
    SessionKey key;
    std::string device_key, name;
    std::string kind;  // of the devices that its programs are made for (device_kind.h); "": of any
    int priority = 0;
    std::uint64_t number = 0;  // the broker's own; agents keep workers of two apart by it
    std::unordered_map<std::uint64_t, TrialPtr> trials;
    std::deque<std::uint64_t> completed_order;
    std::unordered_map<std::uint64_t, SharedBytes> completed;
    // What the kept results of builders name stays as long as they do.
    std::unordered_map<std::uint64_t, std::vector<wire::Hash>> built_blobs;
    std::size_t completed_bytes = 0;
  };
  struct Account {  // of one client key
    std::size_t clients = 0, request_bytes = 0, completed_bytes = 0;
  };
  struct Client {
    ClientId id = 0;
    PeerId peer;
    Permission who;
    TimePoint last_seen;
    std::map<std::uint64_t, Session> sessions;
    Incoming incoming;
    TimePoint last_piece;                  // of a blob that was wanted
    std::set<wire::Hash, HashLess> asked;  // over this connection, for trials that wait
  };

  // broker_core.cpp: peers
  void on_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                std::size_t message_bytes, TimePoint now);
  void on_agent_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                      TimePoint now);
  void on_client_hello(const PeerId& from, const Permission& who, const wire::HelloT& hello,
                       TimePoint now);
  bool on_agent_heartbeat(Agent& agent, const std::vector<LeaseId>& leases, TimePoint now);
  wire::WelcomeT welcome() const;
  bool may_be(const PeerId& from, const Permission& who, const wire::HelloT& hello, TimePoint now);
  bool make_room_for_agent(const PeerId& from, const Permission& who, const std::string& board,
                           std::uint64_t instance, TimePoint now);
  void release_unknown(const Agent& agent, const std::vector<LeaseId>& listed);
  Result<milliseconds> longest_time(const Trial& trial) const;
  milliseconds allowed_time(const Agent& agent, std::uint32_t index, const Trial& trial) const;
  void end_overdue_leases(TimePoint now);
  void open_device(Agent& agent, const wire::DeviceInfoT& device, TimePoint now);
  void answered_in_time(Agent& agent, std::uint32_t index, TimePoint now);
  // Once, however often it is called before the next take_outgoing: a device may say of itself
  // whatever a message holds, and be one of many.
  void tell_sessions_of_device(const Agent& agent, std::uint32_t index);
  void open_devices(Agent& agent, TimePoint now);
  void close_devices(Agent& agent);
  void drop_agent(AgentId id, const std::string& why, TimePoint now, bool said_goodbye = false);
  void drop_client(ClientId id, const std::string& why, TimePoint now);
  void drop_peer(Peer peer, const std::string& why, TimePoint now, bool said_goodbye = false);
  void send(const PeerId& to, SharedBytes bytes);
  template <typename BodyT>
  void send(const PeerId& to, BodyT body) {
    send(to, pack_message(std::move(body)));
  }
  void reject(const PeerId& to, const Permission& who, ErrorCode code, std::string message);
  BrokerEvent& tell(BrokerEventKind kind, const Permission& who, std::string text = {});

  void note_change(StateChange change) {
    if (keep_changes_) changes_.push_back(std::move(change));
  }

  // broker_listing.cpp
  wire::BoardStandingT standing(const Agent& agent, std::uint32_t index, TimePoint now,
                                const std::string& asks) const;

  // broker_restore.cpp: after a restart
  TrialPtr restore_trial(SavedTrial& saved, TimePoint now);
  void restore_built_blobs(Session& session, const SavedOutcome& saved);
  void restore_lease(const TrialPtr& trial, SavedLease& saved, TimePoint seen);

  // broker_accounts.cpp: what one client key may have
  bool make_room_for_client(const PeerId& from, const Permission& who, TimePoint now);
  std::size_t sessions_of(const std::string& public_key) const;
  Result<void> charge_request(const Client& client, Trial& trial);
  void keep_completed(const Client& client, Session& session, std::uint64_t trial,
                      SharedBytes message);
  void forget_completed(Account& account, Session& session);

  // broker_blobs.cpp: blobs from clients to agents
  void ask_for_blobs(Client& client, const Trial& trial);
  bool uploads(const Client& client) const;
  void on_put_blob(Client& client, const wire::PutBlobT& piece, ByteView message, TimePoint now);
  void blob_is_here(const wire::Hash& hash, TimePoint now);
  void refuse_upload(const Client& client, const wire::Hash& hash, std::uint64_t bytes,
                     TimePoint now);
  void fail_waiting(const wire::Hash& hash, const std::string& public_key, TimePoint now,
                    const Error& error);
  void on_lost_blob(const BlobStore::Lost& lost, TimePoint now);
  void wait_for_blob(const TrialPtr& trial, const wire::Hash& hash, TimePoint now);
  void fail_without_blobs(TimePoint now);
  void ask_for(Client& client, const std::vector<wire::Hash>& hashes);
  void on_blobs_wanted(Agent& agent, const std::vector<wire::Hash>& hashes, TimePoint now);
  void send_blob(Agent& agent, const StoredBlob& blob, TimePoint now);

  // broker_builds.cpp: builders
  static bool builds(const Agent& agent);
  bool may_serve(const PeerId& from, const Permission& who, const wire::HelloT& hello);
  void on_built(Agent& agent, wire::DoneT& done, TimePoint now);
  void on_built_blob(Agent& agent, const wire::PutBlobT& piece, ByteView message, TimePoint now);
  void on_nonsense(Agent& agent, LeaseId id, const std::string& why, TimePoint now);
  void finish_build(Agent& agent, LeaseId id, TimePoint now);
  void finish_uploads(Agent& agent, TimePoint now);
  std::vector<LeaseId> uploads_of(const Agent& agent, const wire::Hash& hash) const;
  void refuse_built(Agent& agent, const wire::Hash& hash, TimePoint now);
  void forget_built(Trial& trial);
  void keep_built_blobs(Session& session, const Trial& trial);
  void forget_built_blobs(Session& session, std::uint64_t trial);
  void say_release(const Agent& agent, LeaseId lease);
  bool answer_from_cache(const TrialPtr& trial);

  // broker_reservations.cpp
  struct NamedBoard {
    std::string id, name;
  };
  Result<NamedBoard> board_named(const std::string& text) const;
  void on_reserve(Client& client, const wire::ReserveBoardT& wanted, TimePoint now);
  void on_release_board(Client& client, const wire::ReleaseBoardT& wanted, TimePoint now);
  void end_reservation(const Reservation& ended, const std::string& why, TimePoint now);
  void end_reservations(TimePoint now);
  void reopen_board(const std::string& board_id, TimePoint now);
  DeviceAccess access_of(const Agent& agent, std::uint32_t index) const;
  std::string kept_boards_text(const std::string& pool, const std::string& client_key,
                               TimePoint now) const;

  // broker_drift.cpp
  void note_reading(const Agent& agent, std::uint32_t index, const Trial& trial,
                    const wire::OutcomeT& outcome, TimePoint now);
  void tell_drift(const Permission& who, const DevicePlace& place, bool named,
                  const std::string& text, TimePoint now);
  void forget_old_drift(TimePoint now);
  bool left_out(const Agent& agent, std::uint32_t index) const;

  // broker_trials.cpp: sessions and trials
  void on_open_session(Client& client, const wire::OpenSessionT& open, TimePoint now);
  void on_close_session(Client& client, std::uint64_t session, TimePoint now);
  void on_submit(Client& client, wire::SubmitT& submit, TimePoint now);
  void on_cancel(Client& client, const wire::CancelT& cancel, TimePoint now);
  static Result<void> by_its_clock(const Agent& agent, std::uint32_t index,
                                   const wire::OutcomeT& outcome);
  void on_done(Agent& agent, wire::DoneT& done, TimePoint now);
  SavedSession saved(const Session& session) const;
  // What most of the boards that take its trials are, or of those reserved for its client alone.
  std::string kind_of_most(const std::string& pool, const std::string& client_key) const;
  // Its programs', which its client knows best.
  void set_kind(Session& session, const std::string& kind);
  wire::SessionOpenedT describe(const Session& session) const;
  void trial_ready(const TrialPtr& trial, TimePoint now, bool front);
  void assign(Placement placement, TimePoint now);
  void give_back(const Lease& lease, TimePoint now);
  void requeue_or_fail(Lease lease, TimePoint now, const std::string& why);
  void complete(const TrialPtr& trial, ByteView outcome);
  void fail(const TrialPtr& trial, wire::Stage stage, Error error, TimePoint now);
  void drop_trial(const TrialPtr& trial, TimePoint now);
  void forget_trial(const TrialPtr& trial);
  Session* find_session(const SessionKey& key);
  void fail_without_boards(TimePoint now);

  // broker_view.cpp
  std::map<std::string, std::uint32_t> sessions_by_key() const;
  DeviceState state_of(const Agent& agent, std::uint32_t index, TimePoint now) const;
  void note_ended(const Trial& trial, const wire::OutcomeT& outcome, milliseconds on_board,
                  TimePoint now);

  const std::uint64_t instance_;
  const BrokerTimes times_;
  const BrokerLimits limits_;
  std::unordered_map<PeerId, Peer> peers_;
  std::map<AgentId, Agent> agents_;
  std::map<ClientId, Client> clients_;
  std::map<std::string, Account> accounts_;  // by public key
  AgentId next_agent_ = 1;
  std::uint64_t next_session_;  // from a random number per broker run; never 0
  BoardClaims claims_;
  BlobStore blobs_;
  std::map<wire::Hash, std::vector<TrialPtr>, HashLess> waiting_for_blob_;
  BuildCache build_cache_;
  LeaseTable leases_;
  DeviceStandings standings_;
  Reservations reservations_;
  std::string owner_key_;
  Drift drift_;
  bool leave_out_ = false;
  Scheduler scheduler_;
  std::map<std::string, TimePoint> without_board_since_;  // by key, board id, client
  TimePoint last_board_check_;
  std::vector<Outgoing> outgoing_;
  std::set<std::string> changed_pools_;  // whose sessions are to be told, by take_outgoing
  std::vector<BoardChange> board_changes_;
  bool keep_changes_ = false;
  std::vector<StateChange> changes_;
  std::vector<BrokerEvent> events_;
  BrokerEvent dropped_event_;  // what is told when the list is full
  BrokerCounters counters_;
  bool ended_kept_ = false;
  std::vector<TrialEnded> ended_;
  std::uint64_t ended_unseen_ = 0;
};

}  // namespace fettle::fleet

// The broker as a state machine: messages and times in, messages out. No sockets,
// no threads, no clock of its own, so that every fault can be played in a test.
//
// What it promises:
//   - a submitted trial ends in exactly one Completed, unless it is canceled or
//     its session ends; it is on at most one board at a time;
//   - a trial whose board is lost is given to a board again, at most twice, then
//     it is Failure{Dispatch, DeviceLost};
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
#include "host/fleet/lease_table.h"
#include "host/fleet/scheduler.h"
#include "host/fleet/slow_link.h"
#include "schemas/wire/blob_pieces.h"

namespace fettle::fleet {

struct BrokerTimes {
  milliseconds heartbeat{1000};    // peers send one this often
  milliseconds silence{10'000};    // a peer silent for this long is given up
  milliseconds no_board{120'000};  // trials of a key without boards fail after this
  milliseconds upload{600'000};    // a client's word may be stuck behind a blob for so long
};

struct BrokerLimits {
  std::uint32_t attempts = 3;                     // boards that one trial may be given to
  std::size_t in_flight = 4096;                   // unfinished trials of one session
  std::size_t sessions = 64;                      // of one client
  std::size_t devices = 64;                       // of one agent
  std::uint32_t queue_depth = 64;                 // of one device; more is cut to this
  std::size_t blob_bytes = std::size_t{2} << 30;  // of blobs: a network of 1 GiB is two in turn
  std::size_t completed_kept = 1024;              // per session, for a client that reconnects
};

// Read by other threads while the broker runs.
struct BrokerCounters {
  std::atomic<std::uint64_t> submitted{0}, completed{0}, requeued{0}, device_lost{0},
      stale_results{0}, malformed{0}, unauthorized{0};
};

bool works_in(const wire::DeviceInfoT& device, const std::string& pool);

class BrokerCore {
 public:
  BrokerCore(std::uint64_t instance, BrokerTimes times = {}, BrokerLimits limits = {});

  // One message from the peer whose key has that permission.
  void receive(const PeerId& from, const Permission& who, ByteView bytes, TimePoint now);
  // A message could not be delivered: that connection is gone.
  void unreachable(const PeerId& peer, TimePoint now);
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

  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }
  const BrokerCounters& counters() const { return counters_; }
  std::uint64_t instance() const { return instance_; }
  wire::DeviceListT device_list() const;

 private:
  struct Peer {  // one connection that said Hello
    Permission who;
    AgentId agent = 0;  // one of the two is set
    ClientId client = 0;
  };
  struct Agent {
    AgentId id = 0;
    std::uint64_t instance = 0;
    PeerId peer;  // "": its connection is gone
    Permission who;
    wire::BoardT board;
    std::vector<wire::DeviceInfoT> devices;
    std::vector<TimePoint> last_done;  // by the device's index
    std::set<wire::Hash, HashLess> blobs;
    TimePoint last_seen, give_up;  // give_up: earlier than silence when it was replaced
    SlowLink link;                 // blobs and assignments on their way
  };
  struct Session {
    SessionKey key;
    std::string device_key, name;
    int priority = 0;
    std::uint64_t number = 0;  // the broker's own; agents keep workers of two apart by it
    std::unordered_map<std::uint64_t, TrialPtr> trials;
    std::deque<std::uint64_t> completed_order;
    std::unordered_map<std::uint64_t, SharedBytes> completed;
  };
  // The blob whose pieces a client sends now.
  struct Incoming {
    BlobPieces pieces;
    StoredBlob blob;
    std::optional<ContentHasher> hasher;  // absent: it is not wanted, or not any more
  };
  struct Client {
    ClientId id = 0;
    PeerId peer;
    Permission who;
    TimePoint last_seen;
    std::map<std::uint64_t, Session> sessions;
    Incoming incoming;
    std::set<wire::Hash, HashLess> asked;  // over this connection, for trials that wait
  };

  // broker_core.cpp: peers
  void on_hello(const PeerId& from, const Permission& who, wire::HelloT& hello, TimePoint now);
  void on_agent_hello(const PeerId& from, const Permission& who, wire::HelloT& hello,
                      TimePoint now);
  void on_client_hello(const PeerId& from, const Permission& who, const wire::HelloT& hello,
                       TimePoint now);
  void on_agent_heartbeat(Agent& agent, const std::vector<LeaseId>& leases, TimePoint now);
  void release_unknown(const Agent& agent, const std::vector<LeaseId>& listed);
  void open_devices(Agent& agent, TimePoint now);
  void close_devices(Agent& agent);
  void drop_agent(AgentId id, TimePoint now);
  void drop_client(ClientId id, TimePoint now);
  void send(const PeerId& to, SharedBytes bytes);
  template <typename BodyT>
  void send(const PeerId& to, BodyT body) {
    send(to, pack_message(std::move(body)));
  }
  void reject(const PeerId& to, ErrorCode code, std::string message);

  // broker_blobs.cpp: blobs from clients to agents
  void ask_for_blobs(Client& client, const Trial& trial);
  bool uploads(const Client& client) const;
  void on_put_blob(Client& client, const wire::PutBlobT& piece, ByteView message, TimePoint now);
  void end_upload(const wire::Hash& hash, bool kept, std::uint64_t bytes, TimePoint now);
  void ask_for(Client& client, const std::vector<wire::Hash>& hashes);
  void on_blobs_wanted(Agent& agent, const std::vector<wire::Hash>& hashes, TimePoint now);
  void send_blob(Agent& agent, const StoredBlob& blob, TimePoint now);

  // broker_trials.cpp: sessions and trials
  void on_open_session(Client& client, const wire::OpenSessionT& open, TimePoint now);
  void on_close_session(Client& client, std::uint64_t session, TimePoint now);
  void on_submit(Client& client, wire::SubmitT& submit, TimePoint now);
  void on_cancel(Client& client, const wire::CancelT& cancel, TimePoint now);
  void on_done(Agent& agent, wire::DoneT& done, TimePoint now);
  void tell_sessions_of(const std::string& device_key);
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

  const std::uint64_t instance_;
  const BrokerTimes times_;
  const BrokerLimits limits_;
  std::unordered_map<PeerId, Peer> peers_;
  std::map<AgentId, Agent> agents_;
  std::map<ClientId, Client> clients_;
  AgentId next_agent_ = 1;
  std::uint64_t next_session_;  // from a random number per broker run; never 0
  BlobStore blobs_;
  std::map<wire::Hash, std::vector<TrialPtr>, HashLess> waiting_for_blob_;
  LeaseTable leases_;
  Scheduler scheduler_;
  std::map<std::string, TimePoint> without_board_since_;  // key, or key + '\n' + board id
  TimePoint last_board_check_;
  std::vector<Outgoing> outgoing_;
  std::vector<BoardChange> board_changes_;
  BrokerCounters counters_;
};

}  // namespace fettle::fleet

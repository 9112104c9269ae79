// A board's agent as the broker sees it: what agent/server's Supervisor and DeviceQueue do with
// the protocol's messages, without processes. A hostile one does some of it wrong.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "host/fleet/trial.h"
#include "schemas/wire/content_hash.h"
#include "tests/simulation/network.h"

namespace fettle::fleet::simulation {

// What a trial's request says and an honest board's outcome repeats, in whole nanoseconds.
inline constexpr double kForged = 666e12;  // no request says it

struct AgentPlan {
  Permission who;
  std::string board, key;
  std::vector<std::uint32_t> depths;  // of its devices' queues
  // Hostile: a set of habits, of these.
  enum Habit : std::uint32_t {
    kNeverDone = 1,
    kDoneTwice = 2,
    kForges = 4,         // Done of leases that are others'
    kUnknownLeases = 8,  // in heartbeats and hellos
    kWrongRole = 16,     // what only clients send
    kGarbage = 32,
    kNewInstances = 64,  // on one connection
    kManyKeys = 128,     // a new device key in each hello
    kWantsBlobs = 256    // that nobody has
  };
  std::uint32_t habits = 0;
};

class SimAgent {
 public:
  using Broken = std::function<void(const std::string& what)>;
  SimAgent(Events& events, Network& network, Random random, AgentPlan plan, Broken broken);
  ~SimAgent() { end(); }

  void end();                           // the process is gone, the object stays
  void start_after(milliseconds down);  // as a new instance
  void lose_blobs() { blobs_.clear(); }
  void say_hello();  // as when a worker has seen its device late
  bool runs() const { return endpoint_ != nullptr; }
  Network::Endpoint* endpoint() { return endpoint_.get(); }
  const AgentPlan& plan() const { return plan_; }
  // Called with the broker's number of the session and the trial's marker, once it is measured.
  using Measured = std::function<void(std::uint64_t session, double marker)>;
  void set_measured(Measured measured) { on_measured_ = std::move(measured); }
  // Leases that others were given, for one who forges.
  void set_leases_of_others(std::function<std::vector<LeaseId>()> leases) {
    leases_of_others_ = std::move(leases);
  }

 private:
  struct Held {
    LeaseId lease;
    std::uint64_t session;
    double marker;
    std::set<wire::Hash, HashLess> missing;
    bool started = false;
  };
  struct Queue {
    std::deque<Held> trials;  // the one in work first
  };

  void start();
  void receive(ByteView bytes);
  void on_assign(const wire::AssignT& assign);
  void work();
  void finish(LeaseId lease);
  void answer(LeaseId lease, const wire::OutcomeT& outcome);
  bool drop(LeaseId lease);
  void tick();
  void misbehave();
  std::vector<LeaseId> leases() const;
  bool has(AgentPlan::Habit habit) const { return (plan_.habits & habit) != 0; }
  template <typename BodyT>
  void say(BodyT body) {
    network_.send(*endpoint_, pack_message(std::move(body)));
  }

  Events& events_;
  Network& network_;
  Random random_;
  AgentPlan plan_;
  Broken broken_;
  std::function<std::vector<LeaseId>()> leases_of_others_;
  Measured on_measured_;
  std::shared_ptr<Network::Endpoint> endpoint_;  // null: it does not run
  std::uint64_t run_ = 0, instance_ = 0, broker_ = 0;
  bool welcomed_ = false;
  milliseconds heartbeat_{1000}, silence_{10'000};
  TimePoint last_heard_, last_hello_, last_beat_;
  std::vector<Queue> queues_;
  std::set<wire::Hash, HashLess> blobs_;
};

}  // namespace fettle::fleet::simulation

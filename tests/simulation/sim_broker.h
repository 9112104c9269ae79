// The broker of a simulation: a BrokerCore in what stands for its process. It is restarted,
// stands still, and is looked at after every call.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "tests/simulation/broker_state.h"
#include "tests/simulation/network.h"

namespace fettle::fleet::simulation {

class SimBroker {
 public:
  using Broken = std::function<void(const std::string& what)>;
  // trace: what it is told and says goes to standard output.
  SimBroker(Events& events, Network& network, Random random, Broken broken, bool trace);

  void restart(milliseconds down);
  void stand_still(milliseconds time);
  // The allow list: a key is off it, or back.
  void refuse(const std::string& public_key, bool refused);

  BrokerCore& core() { return *core_; }
  bool up() const { return core_ != nullptr; }
  // Leases that agents other than this one were given lately, for those who forge.
  std::vector<LeaseId> leases_of_others(const std::string& agent) const;
  // Of what it was told and said so far, and when.
  std::uint64_t digest() const { return digest_; }
  // The process that it is was started once only.
  bool first() const { return run_ == 1; }
  const BrokerState& most() const { return most_; }

 private:
  void start();
  void receive(const PeerId& from, const Permission& who, const SharedBytes& bytes);
  void tick();
  void recheck();
  void flush();
  void look();
  void check_released(const PeerId& from, const wire::MessageT& message);
  void note(const char* way, const PeerId& peer, ByteView message);
  TimePoint now() const { return events_.now(); }

  struct Unread {
    PeerId from;
    Permission who;
    SharedBytes bytes;
  };
  struct Counted {
    std::uint64_t submits = 0, answers = 0;
  };

  Events& events_;
  Network& network_;
  Random random_;
  Broken broken_;
  const bool trace_;
  std::unique_ptr<BrokerCore> core_;
  std::uint64_t run_ = 0, digest_ = 0;
  TimePoint stands_until_;
  milliseconds stood_{0};
  std::deque<Unread> unread_;                           // while it stands
  std::deque<std::pair<std::string, LeaseId>> leases_;  // the agent's name first
  std::map<std::string, Counted> counted_;              // by client's key, session and trial
  std::vector<LeaseId> released_;                       // by what it said last
  bool answered_ = false;                               // it did not ask who that is, nor reject it
  BrokerState most_;
};

// The limits and times that simulated brokers have.
BrokerLimits sim_limits();
BrokerTimes sim_times();

}  // namespace fettle::fleet::simulation

// One seed's play (simulation.h).
#include "tests/simulation/simulation.h"

#include <cstdio>

#include "tests/simulation/hostile_client.h"
#include "tests/simulation/sim_agent.h"
#include "tests/simulation/sim_broker.h"
#include "tests/simulation/sim_client.h"

namespace fettle::fleet::simulation {
namespace {

// Once all is calm: a board that went silent is given up after 10 s, trials of a key without
// boards after 60 s, a client that is gone, with an upload begun, after 60 s. Then the boards
// measure what is left, one perhaps all of it.
constexpr milliseconds kEndsWithin{150'000}, kEmptyWithin{90'000}, kLongestTrial{2'000};
constexpr milliseconds kShortStall{5'000};  // half of what counts as silence

class Simulation {
 public:
  Simulation(const Plan& plan, const Options& options)
      : plan_(plan),
        options_(options),
        network_(events_, Random(plan.seed, 2)),
        broker_(events_, network_, Random(plan.seed, 3), broken(), options.trace),
        random_(plan.seed, 4) {
    network_.set_tamper(options.tamper);
    for (std::uint32_t i = 0; i < plan.clients; ++i) {
      clients_.push_back(std::make_unique<SimClient>(events_, network_, Random(plan.seed, 100 + i),
                                                     i + 1, key_of(i), plan.trials, broken()));
    }
    for (std::uint32_t i = 0; i < plan.agents; ++i) {
      add_agent(agent_plan(i), 200 + i);
    }
    honest_agents_ = agents_.size();
    report_.boards_undisturbed = plan.hostile_agents == 0 && !options.tamper;
    for (std::uint32_t i = 0; i < plan.hostile_agents; ++i) {
      AgentPlan hostile = agent_plan(100 + i);
      Random habits(plan.seed, 300 + i);
      while (hostile.habits == 0) hostile.habits = habits.next() & habits.next() & 511;
      add_agent(std::move(hostile), 400 + i);
    }
    for (std::uint32_t i = 0; i < plan.hostile_clients; ++i) {
      hostile_clients_.push_back(std::make_unique<HostileClient>(
          events_, network_, Random(plan.seed, 500 + i), i + 1, key_of(i)));
    }
    for (const Fault& fault : plan.faults) {
      events_.after(fault.at, [this, fault] { befall(fault); });
    }
  }

  Report play() {
    const TimePoint start = events_.now(), calm = start + plan_.calm;
    events_.at(calm, [this] { calm_down(); });
    const milliseconds within = kEndsWithin + plan_.clients * plan_.trials * kLongestTrial;
    run_until([&] { return events_.now() >= calm && all_done(); }, calm + within);
    if (!over()) {
      report_.calm_to_done = std::chrono::floor<milliseconds>(events_.now() - calm);
      if (!all_done()) {
        std::string text =
            "trials did not end within " + std::to_string(within.count()) + " ms of calm:";
        for (const auto& client : clients_) text += "\n  " + client->state();
        broken()(text);
      }
    }
    if (!over()) {
      for (auto& client : clients_) client->finish();
      const TimePoint gone = events_.now() + milliseconds(2000);
      run_until([&] { return events_.now() >= gone; }, gone);
      for (auto& agent : agents_) agent->end();
      const TimePoint empty = events_.now() + kEmptyWithin;
      run_until([&] { return is_empty(); }, empty);
      if (!over() && !is_empty()) broken()("when all had left, " + left_over());
    }
    if (!over() && report_.boards_undisturbed && broker_.core().counters().requeued > 0) {
      broken()("a trial was given to a second board, though nothing had befallen one");
    }
    report_.messages = network_.delivered();
    report_.played = std::chrono::floor<milliseconds>(events_.now() - start);
    report_.most = broker_.most();
    report_.digest = broker_.digest();
    for (const auto& client : clients_) {
      const auto& tally = client->tally();
      report_.submitted += tally.submitted;
      report_.measured += tally.measured;
      report_.failed += tally.failed;
      report_.canceled += tally.canceled;
      report_.sessions += tally.sessions;
      report_.errors += tally.errors;
      for (const auto& [code, count] : tally.failures) report_.failures[code] += count;
    }
    return report_;
  }

 private:
  std::function<void(const std::string&)> broken() {
    return [this](const std::string& what) {
      if (report_.broken.empty()) report_.broken = what;
    };
  }
  bool over() const { return !report_.broken.empty() || report_.steps >= options_.most_steps; }

  template <typename Reached>
  void run_until(Reached reached, TimePoint limit) {
    while (!over() && !reached() && events_.now() < limit && events_.step()) ++report_.steps;
  }

  // The second board is the only one of its kind, and every third client wants it.
  std::string key_of(std::uint32_t client) const {
    return client % 3 == 2 && plan_.agents > 1 ? "rk3399" : "pynq";
  }

  AgentPlan agent_plan(std::uint32_t i) {
    Random random(plan_.seed, 600 + i);
    AgentPlan plan;
    const std::string name = "agent-" + std::to_string(i);
    plan.who = {name, wire::Role::Agent, "key of " + name};
    plan.board = "board-" + std::to_string(i);
    plan.key = i == 1 ? "rk3399" : "pynq";
    const std::uint64_t devices = random.chance(80) ? 1 : 2;
    for (std::uint64_t d = 0; d < devices; ++d) {
      plan.depths.push_back(1 + static_cast<std::uint32_t>(random.below(3)));
    }
    return plan;
  }

  SimAgent& add_agent(AgentPlan plan, std::uint64_t stream) {
    agents_.push_back(std::make_unique<SimAgent>(events_, network_, Random(plan_.seed, stream),
                                                 std::move(plan), broken()));
    SimAgent& agent = *agents_.back();
    agent.set_measured([this](std::uint64_t session, double marker) {
      const auto times = ++measured_[{session, marker}];
      if (times > 1 && report_.boards_undisturbed) {
        broken()("a trial was measured twice, though nothing had befallen a board");
      }
    });
    agent.set_leases_of_others(
        [this, name = agent.plan().who.name] { return broker_.leases_of_others(name); });
    return agent;
  }

  // Any peer, hostile ones too.
  Network::Endpoint* peer(std::uint32_t target) {
    std::vector<Network::Endpoint*> all;
    for (auto& agent : agents_) all.push_back(agent->endpoint());
    for (auto& client : clients_) all.push_back(client->endpoint());
    for (auto& client : hostile_clients_) all.push_back(client->endpoint());
    return all[target % all.size()];
  }

  void befall(const Fault& fault) {
    if (is_calm_) return;
    ++report_.faults[static_cast<std::size_t>(fault.kind)];
    if (options_.trace) {
      std::printf("step %llu: fault %u, %s\n", static_cast<unsigned long long>(report_.steps),
                  fault.number, name_of(fault.kind));
    }
    SimAgent& agent = *agents_[fault.target % agents_.size()];
    SimClient& client = *clients_[fault.target % clients_.size()];
    Network::Endpoint* const endpoint = peer(fault.target);
    report_.boards_undisturbed &= !disturbs_boards(fault);
    switch (fault.kind) {
      case FaultKind::LoseConnection:
        if (endpoint) network_.lose(*endpoint, fault.length);
        break;
      case FaultKind::LoseClient:
        if (client.endpoint()) network_.lose(*client.endpoint(), fault.length);
        break;
      case FaultKind::StallLink:
        if (endpoint) network_.stall(*endpoint, fault.length);
        break;
      case FaultKind::KillAgent:
        agent.end();
        agent.start_after(fault.length);
        break;
      case FaultKind::TwinAgent:
        add_agent(agent.plan(), 1000 + fault.number);
        break;
      case FaultKind::LoseBlobs:
        agent.lose_blobs();
        break;
      case FaultKind::RestartBroker:
        broker_.restart(fault.length);
        break;
      case FaultKind::BrokerStands:
        broker_.stand_still(fault.length);
        break;
      case FaultKind::ClientVanishes:
        client.vanish();
        break;
      case FaultKind::CloseSession:
        client.close_session();
        break;
      case FaultKind::CancelPending:
        client.cancel();
        break;
      case FaultKind::ClockStep:
        client.step_clock(fault.length);
        break;
      case FaultKind::RevokeKey:
        revoke(fault);
        break;
      case FaultKind::Garbage:
        client.hear_garbage();
        break;
      case FaultKind::HelloAgain:
        agent.say_hello();
        break;
      case FaultKind::kCount:
        break;
    }
  }

  // After it a board may have to measure again what one measured before.
  bool disturbs_boards(const Fault& fault) {
    Network::Endpoint* const endpoint = peer(fault.target);
    const bool agent = endpoint && endpoint->who().role == wire::Role::Agent;
    switch (fault.kind) {
      case FaultKind::LoseConnection:
      case FaultKind::RevokeKey:
        return agent;
      case FaultKind::StallLink:
        return agent && fault.length > kShortStall;
      case FaultKind::KillAgent:
      case FaultKind::TwinAgent:
      case FaultKind::RestartBroker:
        return true;
      default:
        return false;
    }
  }

  void revoke(const Fault& fault) {
    Network::Endpoint* const endpoint = peer(fault.target);
    if (!endpoint) return;
    const std::string key = endpoint->who().public_key;
    for (auto& client : clients_) {
      if (client->endpoint() == endpoint) client->key_revoked();
    }
    broker_.refuse(key, true);
    events_.after(fault.length, [this, key] { broker_.refuse(key, false); });
  }

  // Hostile peers and second agents leave, every board runs.
  void calm_down() {
    is_calm_ = true;
    for (auto& client : hostile_clients_) client->end();
    for (std::size_t i = 0; i < agents_.size(); ++i) {
      if (i >= honest_agents_)
        agents_[i]->end();
      else if (!agents_[i]->runs())
        agents_[i]->start_after(milliseconds(0));
    }
  }

  bool all_done() const {
    for (const auto& client : clients_)
      if (!client->done()) return false;
    return true;
  }

  bool is_empty() {
    if (!broker_.up()) return false;
    const BrokerState state = state_of(broker_.core());
    return state.peers + state.agents + state.clients + state.sessions + state.trials +
               state.leases + state.waiting + state.waiting_for_blobs + state.pins + state.devices +
               state.shares + state.completed + state.outgoing ==
           0;
  }

  std::string left_over() {
    const BrokerState state = state_of(broker_.core());
    const auto part = [](const char* name, std::size_t count) {
      return count == 0 ? std::string() : std::to_string(count) + " " + name + ", ";
    };
    return "the broker still held " + part("peers", state.peers) + part("agents", state.agents) +
           part("clients", state.clients) + part("sessions", state.sessions) +
           part("trials", state.trials) + part("leases", state.leases) +
           part("queued trials", state.waiting) +
           part("blobs that are waited for", state.waiting_for_blobs) + part("pins", state.pins) +
           part("devices", state.devices) + part("shares", state.shares) +
           part("results", state.completed) + part("messages", state.outgoing) + "and nobody's";
  }

  const Plan plan_;
  const Options options_;
  Report report_;
  Events events_;
  Network network_;
  SimBroker broker_;
  Random random_;
  std::vector<std::unique_ptr<SimClient>> clients_;
  std::vector<std::unique_ptr<SimAgent>> agents_;  // hostile and second ones behind the honest
  std::vector<std::unique_ptr<HostileClient>> hostile_clients_;
  std::size_t honest_agents_ = 0;
  bool is_calm_ = false;
  std::map<std::pair<std::uint64_t, double>, int> measured_;  // session and marker
};

}  // namespace

Report simulate(const Plan& plan, const Options& options) {
  return Simulation(plan, options).play();
}

}  // namespace fettle::fleet::simulation

// Plans from seeds, and as text (plan.h).
#include "tests/simulation/plan.h"

#include <algorithm>
#include <sstream>

#include "tests/simulation/sim_random.h"

namespace fettle::fleet::simulation {
namespace {

constexpr std::int64_t kShortest = 20'000, kLongest = 60'000;  // ms until all is calm

milliseconds length_of(FaultKind kind, Random& random) {
  switch (kind) {
    case FaultKind::LoseConnection:
    case FaultKind::LoseClient:  // until it is dialled again: before or after silence
      return random.chance(80) ? random.between(10, 3000) : random.between(3000, 15'000);
    case FaultKind::StallLink:
      return random.chance(80) ? random.between(100, 5000) : random.between(5000, 25'000);
    case FaultKind::KillAgent:
    case FaultKind::RestartBroker:
      return random.between(50, 8000);
    case FaultKind::BrokerStands:
      return random.chance(70) ? random.between(100, 3000) : random.between(3000, 40'000);
    case FaultKind::ClockStep:
      return random.between(100, 30'000);
    case FaultKind::RevokeKey:
      return random.between(500, 8000);
    default:
      return milliseconds(0);
  }
}

bool is_of_boards(FaultKind kind) {
  switch (kind) {
    case FaultKind::LoseConnection:
    case FaultKind::StallLink:
    case FaultKind::KillAgent:
    case FaultKind::TwinAgent:
    case FaultKind::RestartBroker:
    case FaultKind::RevokeKey:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* name_of(FaultKind kind) {
  static constexpr std::array<const char*, kFaultKinds> names = {
      "lose-connection", "lose-client",    "stall-link",    "kill-agent",      "twin-agent",
      "lose-blobs",      "restart-broker", "broker-stands", "client-vanishes", "close-session",
      "cancel-pending",  "clock-step",     "revoke-key",    "garbage",         "hello-again"};
  return names[static_cast<std::size_t>(kind)];
}

Plan make_plan(std::uint64_t seed) {
  Random random(seed, 1);
  Plan plan;
  plan.seed = seed;
  plan.agents = 1 + static_cast<std::uint32_t>(random.below(6));
  plan.clients = 1 + static_cast<std::uint32_t>(random.below(4));
  plan.hostile_agents = static_cast<std::uint32_t>(random.chance(40) ? 1 + random.below(2) : 0);
  plan.hostile_clients = random.chance(40) ? 1 : 0;
  plan.trials = 3 + static_cast<std::uint32_t>(random.below(random.chance(70) ? 20 : 80));
  plan.calm = random.between(kShortest, kLongest);
  // Some seeds have few kinds of faults, and so many of each; some leave the boards alone.
  const bool few = random.chance(50), boards_alone = random.chance(25);
  if (boards_alone) plan.hostile_agents = 0;
  std::vector<FaultKind> kinds;
  for (std::size_t i = 0; i < kFaultKinds; ++i) {
    const auto kind = static_cast<FaultKind>(i);
    if (boards_alone && is_of_boards(kind)) continue;
    if (!few || random.chance(25)) kinds.push_back(kind);
  }
  const std::uint64_t count = kinds.empty() ? 0 : random.below(random.chance(70) ? 20 : 60);
  for (std::uint64_t i = 0; i < count; ++i) {
    Fault fault{};
    fault.kind = kinds[random.below(kinds.size())];
    fault.target = static_cast<std::uint32_t>(random.below(1000));
    fault.length = length_of(fault.kind, random);
    fault.at = random.between(0, plan.calm.count());
    plan.faults.push_back(fault);
  }
  std::sort(plan.faults.begin(), plan.faults.end(),
            [](const Fault& a, const Fault& b) { return a.at < b.at; });
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    plan.faults[i].number = static_cast<std::uint32_t>(i);
  }
  return plan;
}

std::string command_of(const Plan& plan) {
  std::ostringstream text;
  text << "FETTLE_SIM_SEED=" << plan.seed << " FETTLE_SIM_PEERS=" << plan.agents << ','
       << plan.clients << ',' << plan.hostile_agents << ',' << plan.hostile_clients << ','
       << plan.trials << " FETTLE_SIM_FAULTS=";
  for (std::size_t i = 0; i < plan.faults.size(); ++i) {
    text << (i ? "," : "") << plan.faults[i].number;
  }
  if (plan.faults.empty()) text << "none";
  return text.str();
}

Plan plan_of(std::uint64_t seed, const char* peers, const char* faults) {
  Plan plan = make_plan(seed);
  const auto numbers = [](const char* text) {
    std::vector<std::uint32_t> all;
    std::istringstream words(text);
    for (std::string word; std::getline(words, word, ',');) {
      if (word != "none") all.push_back(static_cast<std::uint32_t>(std::stoul(word)));
    }
    return all;
  };
  if (peers) {
    const auto counts = numbers(peers);
    std::uint32_t* const fields[] = {&plan.agents, &plan.clients, &plan.hostile_agents,
                                     &plan.hostile_clients, &plan.trials};
    for (std::size_t i = 0; i < counts.size() && i < std::size(fields); ++i) *fields[i] = counts[i];
  }
  if (faults) {
    const auto kept = numbers(faults);
    std::erase_if(plan.faults, [&](const Fault& fault) {
      return std::find(kept.begin(), kept.end(), fault.number) == kept.end();
    });
  }
  return plan;
}

std::string text_of(const Plan& plan) {
  std::ostringstream text;
  text << plan.agents << " agents, " << plan.clients << " clients with " << plan.trials
       << " trials each, " << plan.hostile_agents << " hostile agents, " << plan.hostile_clients
       << " hostile clients; calm after " << plan.calm.count() << " ms\n";
  for (const Fault& fault : plan.faults) {
    text << "  fault " << fault.number << " at " << fault.at.count()
         << " ms: " << name_of(fault.kind) << " " << fault.target << " for " << fault.length.count()
         << " ms\n";
  }
  return text.str();
}

}  // namespace fettle::fleet::simulation

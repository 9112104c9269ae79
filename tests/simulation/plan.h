// What one simulation plays: who takes part, and what befalls them when. It follows from one
// seed; a shrunk plan is that with fewer peers and faults.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/fleet/peer.h"

namespace fettle::fleet::simulation {

enum class FaultKind : std::uint8_t {
  LoseConnection,  // of any peer; what is on its way is lost, late, or sent again
  LoseClient,      // the same, of a client
  StallLink,       // nothing moves, nothing is lost
  KillAgent,       // and started anew, as another instance
  TwinAgent,       // a second agent with the first one's key and board
  LoseBlobs,       // an agent's cache dropped them
  RestartBroker,   // a new core
  BrokerStands,    // it could not run for that long
  ClientVanishes,  // and another comes in its place
  CloseSession,    // and open another
  CancelPending,   //
  ClockStep,       // a client's clock jumps ahead
  RevokeKey,       // for a while
  Garbage,         // a client hears what is no message
  HelloAgain,      // of an agent, over the connection that it has
  kCount
};
inline constexpr std::size_t kFaultKinds = static_cast<std::size_t>(FaultKind::kCount);
const char* name_of(FaultKind kind);

struct Fault {
  std::uint32_t number;  // in the seed's own plan
  FaultKind kind;
  milliseconds at;       // since the start
  std::uint32_t target;  // which peer, modulo how many there are
  milliseconds length;
};

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t agents = 1, clients = 1, hostile_agents = 0, hostile_clients = 0;
  std::uint32_t trials = 1;  // of each client
  std::vector<Fault> faults;
  milliseconds calm{0};  // from then on nothing befalls anyone, and the hostile peers are gone
};

Plan make_plan(std::uint64_t seed);

// As environment variables that play this plan again.
std::string command_of(const Plan& plan);
// The plan of those variables: FETTLE_SIM_SEED, FETTLE_SIM_PEERS, FETTLE_SIM_FAULTS.
Plan plan_of(std::uint64_t seed, const char* peers, const char* faults);
std::string text_of(const Plan& plan);

}  // namespace fettle::fleet::simulation

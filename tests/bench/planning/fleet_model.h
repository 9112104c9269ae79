// A fleet in simulated time, to plan one by: the broker's own core and the sessions' own, between
// model boards, builders and a network. What they do is the program's; how long it takes is told.
#pragma once

#include <cstdint>

namespace fettle::bench {

struct FleetModel {
  unsigned boards = 10, queue_depth = 2;
  unsigned builders = 8;  // all sessions' together
  unsigned sessions = 6;  // each a laptop's own
  // Trials of all sessions at one time; 0: as many as boards hold, and two for each builder.
  unsigned in_flight = 0;
  double kernel_ms = 30;    // all that a trial takes its board: loading, checking, samples
  double build_ms = 60;     // of one candidate
  double session_ms = 15;   // of a session for each trial, one after the other: search and model
  double network_ms = 0.2;  // one way
  // Of the broker for each message that comes or goes, beside its core: sockets and CURVE. With
  // what the core takes, a result costs about as much as in the busiest thread of `fettle-bench
  // fleet`: 30 us beside 34.
  double message_us = 5;
  double core_us = -1;  // of its core for each message that comes; below 0: what that takes here
  // That are looked at, or ten times what one trial takes; what queues need to fill goes before.
  double seconds = 10;
};

struct FleetForecast {
  double results_per_second = 0;
  // Shares of the time looked at.
  double boards_busy = 0, builders_busy = 0, sessions_busy = 0, broker_busy = 0;
  double core_us = 0;          // of the core for each message that came
  std::uint64_t results = 0;   // in that time
  std::uint64_t failures = 0;  // trials that ended otherwise
};

// The same twice, where core_us is told.
FleetForecast forecast(const FleetModel& model);

// What is busy enough to hold the rest back; "trials in flight" where nothing is.
const char* limit_of(const FleetForecast& forecast);

}  // namespace fettle::bench

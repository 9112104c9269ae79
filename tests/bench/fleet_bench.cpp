// The fleet's figures (fleet_bench.h).
#include "tests/bench/fleet_bench.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <optional>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/bench/broker_process.h"
#include "tests/bench/fleet_load.h"
#include "tests/bench/planning/fleet_model.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
using std::chrono::steady_clock;

double seconds_since(steady_clock::time_point start) {
  return std::chrono::duration<double>(steady_clock::now() - start).count();
}

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

double mib(std::uint64_t bytes) { return double(bytes) / (1 << 20); }

// What passed between two looks.
struct Phase {
  double seconds = 0, results_per_second = 0, broker_cpu_seconds = 0, busiest_thread_seconds = 0;
  std::uint64_t results = 0, failures = 0, kills = 0, errors = 0;
  double assigned_p50 = 0, assigned_p99 = 0, completed_p50 = 0, completed_p99 = 0;
  double resident_mib = 0;
};

// A long phase says each minute how it goes.
Result<Phase> watch(const BrokerProcess& broker, FleetLoad& load, double seconds, bool json) {
  load.forget_latencies();
  const auto before = load.counts();
  const auto usage_before = broker.usage();
  const auto start = steady_clock::now();
  for (double told = 0; seconds_since(start) < seconds;) {
    sleep_seconds(std::min(1.0, seconds));
    if (!broker.runs()) return Error{ErrorCode::Crash, "the broker has ended"};
    if (seconds_since(start) - told < 60) continue;
    told = seconds_since(start);
    const std::uint64_t results = load.counts().results - before.results;
    const double memory = mib(broker.usage().resident_bytes);
    if (json) {
      std::cout << Json{{"at_seconds", told}, {"results", results}, {"broker_resident_mib", memory}}
                       .dump()
                << std::endl;
    } else {
      std::printf("  after %.0f s: %llu results, the broker %.1f MiB\n", told,
                  static_cast<unsigned long long>(results), memory);
      std::fflush(stdout);
    }
  }
  Phase phase;
  phase.seconds = seconds_since(start);
  const auto after = load.counts();
  const auto usage = broker.usage();
  phase.results = after.results - before.results;
  phase.failures = after.failures - before.failures;
  phase.kills = after.kills - before.kills;
  phase.errors = after.errors - before.errors;
  phase.results_per_second = double(phase.results) / phase.seconds;
  phase.broker_cpu_seconds = usage.seconds() - usage_before.seconds();
  for (const auto& [name, cpu] : usage.thread_seconds) {
    const auto known = usage_before.thread_seconds.find(name);
    const double spent = cpu - (known == usage_before.thread_seconds.end() ? 0 : known->second);
    phase.busiest_thread_seconds = std::max(phase.busiest_thread_seconds, spent);
  }
  phase.assigned_p50 = after.to_assigned.quantile_ms(0.5);
  phase.assigned_p99 = after.to_assigned.quantile_ms(0.99);
  phase.completed_p50 = after.to_completed.quantile_ms(0.5);
  phase.completed_p99 = after.to_completed.quantile_ms(0.99);
  phase.resident_mib = mib(usage.resident_bytes);
  return phase;
}

void tell(const char* name, const Phase& phase, bool json) {
  const double per_result = phase.results == 0 ? 0 : 1e6 / double(phase.results);
  if (json) {
    std::cout << Json{{"phase", name},
                      {"seconds", phase.seconds},
                      {"results", phase.results},
                      {"results_per_second", phase.results_per_second},
                      {"failures", phase.failures},
                      {"kills", phase.kills},
                      {"session_errors", phase.errors},
                      {"submit_to_assign_p50_ms", phase.assigned_p50},
                      {"submit_to_assign_p99_ms", phase.assigned_p99},
                      {"done_to_completed_p50_ms", phase.completed_p50},
                      {"done_to_completed_p99_ms", phase.completed_p99},
                      {"broker_cpu_us_per_result", phase.broker_cpu_seconds * per_result},
                      {"broker_busiest_thread_us_per_result",
                       phase.busiest_thread_seconds * per_result},
                      {"broker_cores", phase.broker_cpu_seconds / phase.seconds},
                      {"broker_resident_mib", phase.resident_mib}}
                     .dump()
              << std::endl;
    return;
  }
  std::printf(
      "%s, %.1f s: %.0f results/s (%llu failed, %llu kills, %llu session errors)\n"
      "  submit to assign  p50 %.2f ms, p99 %.2f ms\n"
      "  done to completed p50 %.2f ms, p99 %.2f ms\n"
      "  broker: %.1f us of CPU a result (%.1f us its busiest thread), %.2f cores, %.1f MiB\n",
      name, phase.seconds, phase.results_per_second,
      static_cast<unsigned long long>(phase.failures), static_cast<unsigned long long>(phase.kills),
      static_cast<unsigned long long>(phase.errors), phase.assigned_p50, phase.assigned_p99,
      phase.completed_p50, phase.completed_p99, phase.broker_cpu_seconds * per_result,
      phase.busiest_thread_seconds * per_result, phase.broker_cpu_seconds / phase.seconds,
      phase.resident_mib);
  std::fflush(stdout);
}

// The same fleet in simulated time: boards that take so long, and nothing that sessions think
// about.
FleetForecast forecast_of(const FleetBenchOptions& options) {
  FleetModel model;
  model.boards = options.agents;
  model.queue_depth = options.queue_depth;
  model.sessions = options.clients;
  model.in_flight = options.in_flight;
  model.builders = 0;
  model.session_ms = model.build_ms = 0;
  model.network_ms = 0;
  model.kernel_ms = options.answer_ms;
  return forecast(model);
}

void compare(const FleetBenchOptions& options, const Phase& real) {
  const FleetForecast told = forecast_of(options);
  const double ratio = told.results_per_second / real.results_per_second;
  if (options.json) {
    std::cout << Json{{"phase", "simulated"},
                      {"results_per_second", told.results_per_second},
                      {"simulated_to_real", ratio},
                      {"boards_busy", told.boards_busy},
                      {"broker_busy", told.broker_busy},
                      {"broker_core_us", told.core_us}}
                     .dump()
              << std::endl;
    return;
  }
  std::printf(
      "the same in simulated time: %.0f results/s, %.3f times as many; held back by %s; the core "
      "takes %.1f us a message\n",
      told.results_per_second, ratio, limit_of(told), told.core_us);
}

}  // namespace

Result<void> run_fleet_bench(const FleetBenchOptions& options) {
  auto broker = BrokerProcess::start(options.broker, options.agents);
  if (!broker) return std::move(broker).error();
  const double idle_mib = mib((*broker)->usage().resident_bytes);
  FleetLoadPlan plan;
  plan.url = (*broker)->url();
  plan.broker_key = (*broker)->public_key();
  plan.agent_keys = (*broker)->agents();
  plan.client = (*broker)->client();
  plan.agents = options.agents;
  plan.clients = options.clients;
  plan.threads = options.threads;
  plan.queue_depth = options.queue_depth;
  plan.answer_after_ms = options.answer_ms;
  const auto start = steady_clock::now();
  auto load = FleetLoad::start(plan);
  if (!load) return std::move(load).error();
  for (;;) {
    const auto counts = (*load)->counts();
    if (counts.agents_welcomed == options.agents && counts.clients_opened == options.clients) break;
    if (seconds_since(start) > 120) {
      return Error{ErrorCode::Timeout, "within two minutes the broker welcomed " +
                                           std::to_string(counts.agents_welcomed) + " agents and " +
                                           std::to_string(counts.clients_opened) + " clients"};
    }
    sleep_seconds(0.05);
  }
  const double connected = seconds_since(start);
  if (options.kills) (*load)->kill_each_second(0.01);
  (*load)->ask(options.in_flight, options.rate);
  sleep_seconds(std::min(2.0, options.seconds / 4));
  const double before_mib = mib((*broker)->usage().resident_bytes);
  if (!options.json) {
    std::printf(
        "%u agents without devices and %u clients connected in %.1f s; broker %.1f MiB, "
        "before them %.1f MiB\n",
        options.agents, options.clients, connected, before_mib, idle_mib);
  }
  double rate = options.rate, seconds = options.seconds;
  std::optional<Phase> most;
  if (rate == 0) {
    seconds /= 2;
    auto watched = watch(**broker, **load, seconds, options.json);
    if (!watched) return std::move(watched).error();
    most = *watched;
    tell("as many as can be", *most, options.json);
    if (options.answer_ms > 0) compare(options, *most);
    rate = most->results_per_second / 2;
  }
  (*load)->ask(options.in_flight, rate);
  sleep_seconds(std::min(2.0, options.seconds / 4));
  auto paced = watch(**broker, **load, seconds, options.json);
  if (!paced) return std::move(paced).error();
  tell("paced", *paced, options.json);
  if (options.json) {
    std::cout << Json{{"benchmark", "fleet"},
                      {"agents", options.agents},
                      {"clients", options.clients},
                      {"devices", "absent"},
                      {"connected_seconds", connected},
                      {"results_per_second", most ? Json(most->results_per_second) : Json(nullptr)},
                      {"paced_results_per_second", paced->results_per_second},
                      {"lease_way_p99_ms", std::max(paced->assigned_p99, paced->completed_p99)},
                      {"broker_idle_mib", idle_mib},
                      {"broker_before_mib", before_mib},
                      {"broker_after_mib", paced->resident_mib}}
                     .dump()
              << std::endl;
  } else {
    std::printf("broker's memory: %.1f MiB before the load, %.1f MiB after it\n", before_mib,
                paced->resident_mib);
  }
  return {};
}

}  // namespace fettle::bench

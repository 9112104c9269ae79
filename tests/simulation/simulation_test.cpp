// The fleet's simulator over many seeds, and that it finds what is broken.
//   FETTLE_SIM_SEED=n             the first seed (1); alone, just that one
//   FETTLE_SIM_SEEDS=n            how many (1,000)
//   FETTLE_SIM_STEPS=n            stop each after so many steps
//   FETTLE_SIM_PEERS, _FAULTS     a shrunk plan, as a failure prints it
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/simulation/simulation.h"

namespace fettle::fleet::simulation {
namespace {

std::uint64_t number_of(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

std::string explain(const Plan& plan, Options options) {
  options.trace = false;
  const Shrunk small = shrink(plan, options);
  return small.report.broken + "\nat step " + std::to_string(small.report.steps) +
         " of (shrunk in " + std::to_string(small.tried) + " tries):\n  " + command_of(small.plan) +
         " FETTLE_SIM_STEPS=" + std::to_string(small.report.steps) +
         " fleet_simulation --gtest_filter='*Seeds'\n" + text_of(small.plan);
}

TEST(FleetSimulation, Seeds) {
  const bool one = std::getenv("FETTLE_SIM_SEED") && !std::getenv("FETTLE_SIM_SEEDS");
  const std::uint64_t first = number_of("FETTLE_SIM_SEED", 1);
  const std::uint64_t seeds = number_of("FETTLE_SIM_SEEDS", one ? 1 : 1000);
  Options options;
  options.most_steps = number_of("FETTLE_SIM_STEPS", options.most_steps);
  options.trace = one;
  Report all;
  std::uint64_t undisturbed = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Plan plan =
        one ? plan_of(seed, std::getenv("FETTLE_SIM_PEERS"), std::getenv("FETTLE_SIM_FAULTS"))
            : make_plan(seed);
    if (one) std::printf("%s", text_of(plan).c_str());
    const Report report = simulate(plan, options);
    ASSERT_EQ(report.broken, "") << explain(plan, options);
    all.steps += report.steps;
    all.messages += report.messages;
    all.submitted += report.submitted;
    all.measured += report.measured;
    all.failed += report.failed;
    all.canceled += report.canceled;
    all.sessions += report.sessions;
    all.errors += report.errors;
    all.played += report.played;
    undisturbed += report.boards_undisturbed;
    all.calm_to_done = std::max(all.calm_to_done, report.calm_to_done);
    for (std::size_t kind = 0; kind < kFaultKinds; ++kind) all.faults[kind] += report.faults[kind];
    for (const auto& [code, count] : report.failures) all.failures[code] += count;
    all.most.leases = std::max(all.most.leases, report.most.leases);
    all.most.trials = std::max(all.most.trials, report.most.trials);
  }
  const auto n = [](std::uint64_t number) { return static_cast<unsigned long long>(number); };
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "%llu seeds from %llu in %.1f s: %llu steps, %llu messages, %.1f h of a fleet's time\n",
      n(seeds), n(first), seconds, n(all.steps), n(all.messages),
      double(all.played.count()) / 3.6e6);
  std::printf(
      "  trials: %llu submitted, %llu measured, %llu failed, %llu canceled; %llu sessions, "
      "%llu ended by an error; boards undisturbed in %llu seeds\n",
      n(all.submitted), n(all.measured), n(all.failed), n(all.canceled), n(all.sessions),
      n(all.errors), n(undisturbed));
  for (const auto& [code, count] : all.failures)
    std::printf("    %s: %llu\n", code.c_str(), n(count));
  std::printf(
      "  most at once: %zu trials, %zu leases; the last trial ended %.1f s after the last "
      "fault at worst\n  faults:",
      all.most.trials, all.most.leases, double(all.calm_to_done.count()) / 1000);
  for (std::size_t kind = 0; kind < kFaultKinds; ++kind) {
    std::printf(" %s %llu", name_of(static_cast<FaultKind>(kind)), n(all.faults[kind]));
    if (seeds >= 500) {
      EXPECT_GT(all.faults[kind], 0u) << name_of(static_cast<FaultKind>(kind));
    }
  }
  std::printf("\n");
  if (seeds >= 500) {
    EXPECT_GT(all.measured, all.submitted / 2) << "most trials should be measured";
  }
}

// A failure is worth something only if its seed shows it again.
TEST(FleetSimulation, ASeedPlaysTheSameWayTwice) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Report first = simulate(make_plan(seed)), again = simulate(make_plan(seed));
    EXPECT_EQ(first.digest, again.digest) << seed;
    EXPECT_EQ(first.steps, again.steps) << seed;
    EXPECT_EQ(first.messages, again.messages) << seed;
  }
}

// A network that swallows one kind of message breaks what the fleet promises. It does so only
// over connections that were dialled again, so that the fault which makes them must stay.
TEST(FleetSimulation, ASwallowedResultIsFoundAndShrunk) {
  Options options;
  options.tamper = [](const PeerId& to, std::uint32_t connections, ByteView bytes) {
    return to.starts_with("client-") && connections > 1 &&
           wire::GetMessage(bytes.data())->body_type() == wire::Body::Completed;
  };
  constexpr int kPlans = 5;
  int found = 0, tiny = 0;
  for (std::uint64_t seed = 1; seed <= 1000 && found < kPlans; ++seed) {
    const Plan plan = make_plan(seed);
    if (plan.faults.size() < 8 || simulate(plan, options).broken.empty()) continue;
    ++found;
    const Shrunk small = shrink(plan, options);
    std::printf("seed %llu: %zu faults, shrunk to %zu in %u tries\n%s\n%s",
                static_cast<unsigned long long>(seed), plan.faults.size(), small.plan.faults.size(),
                small.tried, small.report.broken.c_str(), text_of(small.plan).c_str());
    EXPECT_NE(small.report.broken.find("did not end"), std::string::npos) << small.report.broken;
    EXPECT_GE(small.plan.faults.size(), 1u) << "a connection that was not lost carries all";
    tiny += small.plan.faults.size() <= 4 ? 1 : 0;
    EXPECT_LT(3 * small.plan.faults.size(), plan.faults.size());
    EXPECT_EQ(simulate(small.plan).broken, "") << "without the tampering it is a good plan";
  }
  EXPECT_EQ(found, kPlans) << "of 1,000 seeds";
  EXPECT_GE(tiny, kPlans - 1)
      << "it drops faults one after another, and may be left with a few more";
}

// Nothing of what a board is given arrives there: each trial is tried on three boards, then it
// fails, and no client waits for ever.
TEST(FleetSimulation, AssignmentsThatNeverArriveAreLostBoards) {
  Options options;
  options.tamper = [](const PeerId&, std::uint32_t, ByteView bytes) {
    return wire::GetMessage(bytes.data())->body_type() == wire::Body::Assign;
  };
  Plan plan = make_plan(1);
  plan.faults.clear();
  plan.agents = plan.clients = 1;
  plan.hostile_agents = plan.hostile_clients = 0;
  plan.trials = 3;
  const Report report = simulate(plan, options);
  EXPECT_EQ(report.broken, "");
  EXPECT_EQ(report.measured, 0u);
  EXPECT_EQ(report.failures.at("DeviceLost"), 3u);
}

}  // namespace
}  // namespace fettle::fleet::simulation

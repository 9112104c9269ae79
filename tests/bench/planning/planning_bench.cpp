// Questions, searches and the table (planning_bench.h).
#include "tests/bench/planning/planning_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <map>
#include <optional>

#include <nlohmann/json.hpp>

namespace fettle::bench {
namespace {

using Json = nlohmann::json;

constexpr double kBusy = 0.9;
constexpr unsigned kMostBuilders = 1 << 15, kMostBoards = 1 << 14;
constexpr double kSearchSeconds = 2;  // of each forecast that a search makes

Error not_a_setting(const std::string& setting, const std::string& why) {
  return {ErrorCode::InvalidArgument, "--simulate " + setting + ": " + why, {}};
}

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Range {
  double least, most;
};
constexpr Range kCount{1, 100'000}, kTime{0, 60'000};

// 1 up: what is true of `most` and of none below a number is true from that number on. To the next
// sixty-fourth above.
template <typename Holds>
unsigned least_that(unsigned most, Holds holds) {
  unsigned reached = 1;
  while (reached < most && !holds(reached)) reached = std::min(most, reached * 2);
  if (!holds(reached)) return 0;
  unsigned below = reached / 2;
  while (reached - below > std::max(1u, reached / 64)) {
    const unsigned middle = below + (reached - below) / 2;
    (holds(middle) ? reached : below) = middle;
  }
  return reached;
}

struct Row {
  FleetModel model;
  FleetForecast forecast;
  unsigned needed = 0;
};

Json json_of(const Row& row) {
  return {{"boards", row.model.boards},
          {"builders", row.model.builders},
          {"sessions", row.model.sessions},
          {"trials_per_hour", row.forecast.results_per_second * 3600},
          {"boards_busy", row.forecast.boards_busy},
          {"builders_busy", row.forecast.builders_busy},
          {"sessions_busy", row.forecast.sessions_busy},
          {"broker_busy", row.forecast.broker_busy},
          {"broker_core_us", row.forecast.core_us},
          {"failures", row.forecast.failures},
          {"held_back_by", limit_of(row.forecast)},
          {"builders_needed", row.needed == 0 ? Json(nullptr) : Json(row.needed)}};
}

std::string line_of(const Row& row) {
  const FleetForecast& f = row.forecast;
  return fmt::format(
      "{:>6} {:>8} {:>8} {:>12.0f} {:>7.3f} {:>8.3f} {:>8.3f} {:>7.3f}  {:<16} {:>8}{}",
      row.model.boards, row.model.builders, row.model.sessions, f.results_per_second * 3600,
      f.boards_busy, f.builders_busy, f.sessions_busy, f.broker_busy, limit_of(f),
      row.needed == 0 ? std::string("none do") : std::to_string(row.needed),
      f.failures == 0 ? std::string() : fmt::format("  {} FAILED", f.failures));
}

}  // namespace

Result<FleetQuestion> parse_fleet_question(const std::vector<std::string>& settings) {
  FleetQuestion question;
  FleetModel& m = question.model;
  const std::map<std::string, std::pair<unsigned*, Range>> counts = {
      {"builders", {&m.builders, kCount}},
      {"sessions", {&m.sessions, {1, 10'000}}},
      {"depth", {&m.queue_depth, {1, 64}}}};
  const std::map<std::string, std::pair<double*, Range>> times = {
      {"kernel-ms", {&m.kernel_ms, {0.01, 60'000}}}, {"build-ms", {&m.build_ms, kTime}},
      {"session-ms", {&m.session_ms, kTime}},        {"network-ms", {&m.network_ms, kTime}},
      {"message-us", {&m.message_us, kTime}},        {"core-us", {&m.core_us, kTime}},
      {"seconds", {&m.seconds, {0.1, 3600}}}};
  for (const std::string& setting : settings) {
    if (setting.empty()) continue;
    const std::size_t equals = setting.find('=');
    const std::string key = setting.substr(0, equals);
    const auto count = counts.find(key);
    const auto time = times.find(key);
    if (equals == std::string::npos ||
        (key != "boards" && count == counts.end() && time == times.end())) {
      return not_a_setting(setting,
                           "KEY=NUMBER with boards, builders, sessions, depth, kernel-ms, "
                           "build-ms, session-ms, network-ms, message-us, core-us or seconds");
    }
    const Range range = time != times.end()     ? time->second.second
                        : count != counts.end() ? count->second.second
                                                : Range{1, kMostBoards};
    std::vector<double> numbers;
    std::string rest = setting.substr(equals + 1);
    for (bool more = true; more;) {
      const std::size_t slash = key == "boards" ? rest.find('/') : std::string::npos;
      const auto number = number_of(rest.substr(0, slash));
      const bool fits = number && *number >= range.least && *number <= range.most;
      if (!fits || (time == times.end() && *number != std::floor(*number))) {
        return not_a_setting(
            setting,
            fmt::format("a {}number from {} to {}{}", time == times.end() ? "whole " : "",
                        range.least, range.most, key == "boards" ? ", or several: 10/100" : ""));
      }
      numbers.push_back(*number);
      more = slash != std::string::npos;
      if (more) rest = rest.substr(slash + 1);
    }
    if (time != times.end()) {
      *time->second.first = numbers[0];
    } else if (count != counts.end()) {
      *count->second.first = static_cast<unsigned>(numbers[0]);
      question.builders_given = question.builders_given || key == "builders";
    } else {
      question.boards.assign(numbers.begin(), numbers.end());
    }
  }
  return question;
}

unsigned builders_needed(FleetModel model, double busy) {
  model.seconds = std::min(model.seconds, kSearchSeconds);
  model.builders = 0;  // builds take no time
  if (forecast(model).boards_busy < busy) return 0;
  return least_that(kMostBuilders, [&](unsigned builders) {
    model.builders = builders;
    return forecast(model).boards_busy >= busy;
  });
}

unsigned boards_of_one_broker(FleetModel model, double busy) {
  model.seconds = std::min(model.seconds, kSearchSeconds);
  model.builders = 0;
  model.session_ms = 0;
  model.in_flight = 0;
  const unsigned first_idle = least_that(kMostBoards, [&](unsigned boards) {
    model.boards = boards;
    return forecast(model).boards_busy < busy;
  });
  return first_idle == 0 ? kMostBoards : first_idle - 1;
}

Result<void> run_planning_bench(const PlanningOptions& options) {
  auto question = parse_fleet_question(options.settings);
  if (!question) return std::move(question).error();
  const FleetModel& m = question->model;
  if (!options.json) {
    fmt::print(
        "In simulated time, by the broker's own core: a board takes {} ms for a trial and holds "
        "{}, "
        "a builder {} ms for a candidate, a session {} ms for each of its trials, the network {} "
        "ms, the broker's sockets {} us for a message.\n",
        m.kernel_ms, m.queue_depth, m.build_ms, m.session_ms, m.network_ms, m.message_us);
    fmt::print("{:>6} {:>8} {:>8} {:>12} {:>7} {:>8} {:>8} {:>7}  {:<16} {:>8}\n", "boards",
               "builders", "sessions", "trials/h", "busy", "builders", "sessions", "broker",
               "held back by", "needed");
  }
  for (const unsigned boards : question->boards) {
    Row row;
    row.model = m;
    row.model.boards = boards;
    row.needed = builders_needed(row.model, kBusy);
    // Without a number of them: as many as are needed, or all that are of use.
    if (!question->builders_given && row.needed > 0) row.model.builders = row.needed;
    row.forecast = forecast(row.model);
    std::cout << (options.json ? json_of(row).dump() : line_of(row)) << std::endl;
  }
  const unsigned most = boards_of_one_broker(m, kBusy);
  if (options.json) {
    std::cout << Json{{"benchmark", "fleet-simulated"},
                      {"kernel_ms", m.kernel_ms},
                      {"busy", kBusy},
                      {"boards_of_one_broker", most}}
                     .dump()
              << std::endl;
  } else {
    fmt::print(
        "needed: builders that keep the boards {} busy. With builders and sessions to spare one "
        "broker keeps {}{} boards of {} ms so busy.\n",
        kBusy, most == kMostBoards ? "at least " : "", most, m.kernel_ms);
  }
  return {};
}

}  // namespace fettle::bench

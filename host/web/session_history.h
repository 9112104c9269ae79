// What the trials of one session came to so far, in bounded memory: best-so-far curves of its
// tasks, and failures by their cause.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "host/web/best_curve.h"

namespace fettle::web {

class SessionHistory {
 public:
  static constexpr std::size_t kTasks = 128;  // of more, only how many trials they have
  static constexpr std::size_t kCauses = 64;  // of more, only how many failed

  struct Trial {
    std::uint64_t task = 0;       // what tells one task of the session from another
    std::optional<double> value;  // of one run; none: it failed, or was not measured to its end
    const char* unit = "ns";      // of `value`
    std::string cause, message;   // of a failure
  };
  // `seconds` since the session began.
  void add(const Trial& trial, double seconds);
  // The best of earlier sessions, from which this one goes on.
  void go_on(std::uint64_t task, double value, const char* unit);
  // What people call a task; "": the page numbers it. `operations`: of one run, 0 if unknown.
  void name(std::uint64_t task, std::string title, double operations);

  std::uint64_t trials() const { return trials_; }
  std::uint64_t failed() const { return failed_; }
  // Trials of the last minute as so many an hour.
  double per_hour(double seconds) const;
  // Adds "trials", "failed", "per_hour", "tasks" and "failures". Of a curve at most `points`.
  void write(nlohmann::json& session, double seconds, std::size_t points) const;

 private:
  struct Task {
    std::size_t place = 0;  // in the order seen
    std::string title;
    double operations = 0;
    std::uint64_t trials = 0, failed = 0;
    const char* unit = "ns";
    BestCurve curve;
  };
  struct Cause {
    std::uint64_t count = 0;
    std::string message;  // of the latest
  };
  Task* task(std::uint64_t number);

  std::uint64_t trials_ = 0, failed_ = 0;
  std::map<std::uint64_t, Task> tasks_;
  std::map<std::string, Cause> causes_;
  struct Step {
    std::int64_t number = -1;
    std::uint64_t trials = 0;
  };
  std::array<Step, 7> steps_{};  // of ten seconds
};

}  // namespace fettle::web

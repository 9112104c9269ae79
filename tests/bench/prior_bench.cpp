// Training the shipped prior (prior_bench.h).
#include "tests/bench/prior_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "host/cost/prior.h"
#include "host/cost/time_model.h"
#include "host/replay/recording.h"
#include "host/space/workload.h"
#include "tests/bench/lessons.h"
#include "tests/bench/rank_correlation.h"

namespace fettle::bench {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kFirst = 8;  // programs that a search would try first
constexpr const char* kEarlierPrior = "as an earlier prior has it";

// What another prior, of another machine, expects of the same programs, as if they had been
// measured there: a prior made of both forgets neither.
Tasks with_earlier(Tasks tasks, const cost::Prior& earlier, std::size_t estimate) {
  Tasks expected;
  for (const auto& [key, samples] : tasks) {
    auto& there = expected[task_key(workload_of_key(key), kEarlierPrior)];
    for (const cost::Sample& sample : samples) {
      if (sample.features.empty()) continue;
      std::vector<float> corrected = sample.features;
      earlier.correct(corrected);
      there.push_back({sample.features, std::exp2(double(corrected[estimate])), false});
    }
  }
  tasks.merge(expected);
  return tasks;
}

// What trying the programs first that look fastest would give.
Json judged(const std::vector<double>& expected, const std::vector<double>& times) {
  std::vector<std::size_t> order(times.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return expected[a] < expected[b]; });
  double best = 0, first = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const double time = times[order[i]];
    if (best == 0 || time < best) best = time;
    if (i + 1 == std::min(kFirst, order.size())) first = best;
  }
  return {{"rank_correlation", rank_correlation(expected, times)},
          {"share_of_first_" + std::to_string(kFirst), first > 0 ? best / first : 0}};
}

Json judge(const cost::Prior& prior, std::size_t estimate, const std::string& title,
           const std::vector<cost::Sample>& samples) {
  std::vector<double> times, textbook, corrected;
  for (const cost::Sample& sample : samples) {
    if (sample.nanoseconds <= 0 || sample.features.empty()) continue;
    std::vector<float> features = sample.features;
    textbook.push_back(features[estimate]);
    prior.correct(features);
    corrected.push_back(features[estimate]);
    times.push_back(sample.nanoseconds);
  }
  return {{"benchmark", "prior"},
          {"task", title},
          {"programs", times.size()},
          {"estimate", judged(textbook, times)},
          {"prior", judged(corrected, times)}};
}

// Prints judgements of tasks, and what they are in the mean.
class Verdict {
 public:
  // `of`: the tasks, in a word or two.
  Verdict(std::string of, bool json) : of_(std::move(of)), json_(json) {}

  void add(Json line) {
    tell(line);
    lines_.push_back(std::move(line));
  }

  void end() const {
    if (lines_.empty()) return;
    Json mean = lines_.front();
    mean["task"] = "mean of " + std::to_string(lines_.size()) + " tasks " + of_;
    std::size_t programs = 0;
    for (const Json& line : lines_) programs += line["programs"].get<std::size_t>();
    mean["programs"] = programs;
    for (const char* by : {"estimate", "prior"}) {
      for (auto& [what, value] : mean[by].items()) {
        double sum = 0;
        for (const Json& line : lines_) sum += line[by][what].get<double>();
        value = sum / static_cast<double>(lines_.size());
      }
    }
    tell(mean);
  }

 private:
  void tell(const Json& line) const {
    if (json_) {
      std::cout << line.dump() << std::endl;
      return;
    }
    const std::string first = "share_of_first_" + std::to_string(kFirst);
    std::printf("%-62s %5zu programs  rank: %6.3f with the prior %6.3f  first %zu: %.3f, %.3f\n",
                line["task"].get<std::string>().c_str(), line["programs"].get<std::size_t>(),
                line["estimate"]["rank_correlation"].get<double>(),
                line["prior"]["rank_correlation"].get<double>(), kFirst,
                line["estimate"][first].get<double>(), line["prior"][first].get<double>());
  }

  std::string of_;
  bool json_;
  std::vector<Json> lines_;
};

// Each measured task by a prior of all other workloads: as a task that it has not seen. (An earlier
// prior may have.)
Result<void> judge_held_back(const Lessons& lessons, const Tasks& all, std::size_t estimate,
                             bool json) {
  Verdict verdict("held back", json);
  for (const auto& [held, samples] : lessons.tasks()) {
    Tasks others = all;
    std::erase_if(others, [&](const auto& task) {
      return workload_of_key(task.first) == workload_of_key(held);
    });
    auto prior = cost::Prior::train(lessons.feature_names(), others, "");
    if (!prior) return std::move(prior).error();
    const std::string title = space::Workload::parse(workload_of_key(held))->title();
    verdict.add(judge(*prior, estimate, "held back: " + title, samples));
  }
  verdict.end();
  return {};
}

// What a prior that was made before says of the measured tasks.
void judge_given(const cost::Prior& prior, const char* name, const Lessons& lessons,
                 std::size_t estimate, bool json) {
  Verdict verdict(std::string("by the ") + name, json);
  for (const auto& [key, samples] : lessons.tasks()) {
    const std::string title = space::Workload::parse(workload_of_key(key))->title();
    verdict.add(judge(prior, estimate, std::string(name) + ": " + title, samples));
  }
  verdict.end();
}

Result<cost::Prior> read_prior(const std::string& path,
                               const std::vector<std::string>& feature_names) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Error{ErrorCode::Io, "cannot read " + path, {}};
  auto prior = cost::Prior::parse(text, feature_names);
  if (!prior) return std::move(prior).error().in(path);
  return prior;
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Error{ErrorCode::Io, "cannot write " + path, {}};
  return {};
}

Result<void> write_prior(const cost::Prior& prior, const std::string& path) {
  const auto text = prior.text();
  if (!text) return text.error();
  return write_file(path, *text);
}

// A line a trial, after one of names: the task's number, nanoseconds, features.
Result<void> write_samples(const Lessons& lessons, const std::string& path) {
  std::ostringstream text;
  text << "task\tnanoseconds";
  for (const std::string& name : lessons.feature_names()) text << '\t' << name;
  text << '\n';
  std::size_t number = 0;
  for (const auto& [key, samples] : lessons.tasks()) {
    for (const cost::Sample& sample : samples) {
      text << number << '\t' << sample.nanoseconds;
      for (const float value : sample.features) text << '\t' << value;
      text << '\n';
    }
    ++number;
  }
  return write_file(path, text.str());
}

Result<void> judge_recordings(const cost::Prior& prior, std::size_t estimate,
                              const std::vector<replay::Recording>& recordings,
                              const std::vector<std::string>& names, bool json) {
  Verdict verdict("recorded", json);
  for (const replay::Recording& recording : recordings) {
    if (recording.feature_names != names) continue;  // of another time
    std::vector<cost::Sample> samples;
    for (const replay::RecordedTrial& trial : recording.trials) {
      samples.push_back({trial.features, trial.nanoseconds, false});
    }
    verdict.add(judge(prior, estimate, recording.workload.title(), samples));
  }
  verdict.end();
  return {};
}

}  // namespace

Result<void> run_prior_bench(const PriorBenchOptions& options) {
  std::vector<replay::Recording> recordings;
  for (const std::string& path : options.recordings) {
    auto recording = replay::read_recording(path);
    if (!recording) return std::move(recording).error();
    recordings.push_back(std::move(*recording));
  }
  auto read = read_lessons(options.databases, recordings);
  if (!read) return std::move(read).error();
  const Lessons& lessons = *read;
  if (!options.samples.empty()) {
    if (auto done = write_samples(lessons, options.samples); !done) return done;
  }
  std::size_t trials = 0;
  for (const auto& [task, samples] : lessons.tasks()) trials += samples.size();
  std::string origin = std::to_string(trials) + " trials of " +
                       std::to_string(lessons.tasks().size()) + " float32 tasks on";
  for (const std::string& cpu : lessons.cpus()) origin += " " + cpu;
  const auto estimate_found = cost::estimate_among(lessons.feature_names());
  if (!estimate_found) {
    return Error{
        ErrorCode::InvalidArgument, "no record to learn from: none has an estimated time", {}};
  }
  const std::size_t estimate = *estimate_found;
  if (!options.judge.empty()) {
    auto given = read_prior(options.judge, lessons.feature_names());
    if (!given) return std::move(given).error();
    judge_given(*given, "prior", lessons, estimate, options.json);
    return judge_recordings(*given, estimate, recordings, lessons.feature_names(), options.json);
  }
  Tasks all = lessons.tasks();
  if (!options.earlier.empty()) {
    auto earlier = read_prior(options.earlier, lessons.feature_names());
    if (!earlier) return std::move(earlier).error();
    judge_given(*earlier, "earlier prior", lessons, estimate, options.json);
    all = with_earlier(std::move(all), *earlier, estimate);
    origin += ", and the same programs as a prior of " + earlier->origin() + " has them";
  }
  auto prior = cost::Prior::train(lessons.feature_names(), all, origin);
  if (!prior) return std::move(prior).error();
  std::fprintf(stderr, "%s\n", origin.c_str());
  if (!options.output.empty()) {
    if (auto done = write_prior(*prior, options.output); !done) return done;
  }
  if (auto done = judge_held_back(lessons, all, estimate, options.json); !done) return done;
  return judge_recordings(*prior, estimate, recordings, lessons.feature_names(), options.json);
}

}  // namespace fettle::bench

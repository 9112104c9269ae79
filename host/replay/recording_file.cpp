// The file of a recording (recording.h).
#include <zlib.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include "host/replay/recording.h"
#include "host/space/workload.h"

namespace fettle::replay {

namespace {

using Json = nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kLineBytes = 1 << 20;  // longest line that is read
constexpr std::size_t kMostTrials = 10'000'000;

struct Close {
  void operator()(gzFile file) const { gzclose(file); }
};
using File = std::unique_ptr<std::remove_pointer_t<gzFile>, Close>;

// Four significant digits: below what separates two programs.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::fabs(value))));
  return std::round(value * scale) / scale;
}

Json head_json(const Recording& recording) {
  Json sketches = Json::array();
  for (const space::Sketch& sketch : recording.space.sketches()) {
    Json knobs = Json::array();
    for (const space::Knob& knob : sketch.knobs) {
      knobs.push_back({{"name", knob.name}, {"options", knob.options}});
    }
    sketches.push_back({{"name", sketch.name}, {"knobs", std::move(knobs)}});
  }
  return {{"fettle_recording", kVersion},
          {"workload", Json::parse(recording.workload.source())},
          {"target", Json::parse(recording.target.canonical())},
          {"device", recording.device},
          {"features", recording.feature_names},
          {"sketches", std::move(sketches)},
          {"trials", recording.trials.size()}};
}

Json trial_json(const RecordedTrial& trial) {
  Json json = {{"s", trial.configuration.sketch}, {"c", trial.configuration.choice}};
  if (!trial.program.empty()) json["p"] = trial.program;
  if (trial.nanoseconds > 0) {
    json["ns"] = std::round(trial.nanoseconds * 10) / 10;
    json["low"] = std::round(trial.interval_low * 10) / 10;
  } else {
    json["stage"] = name_of(trial.stage);
    json["code"] = name_of(trial.code);
    json["message"] = trial.message;
  }
  if (!trial.features.empty()) {
    Json features = Json::array();
    for (float value : trial.features) features.push_back(rounded(value));
    json["f"] = std::move(features);
  }
  return json;
}

template <typename Enum>
Enum named(const std::string& name, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i) {
    if (name == name_of(static_cast<Enum>(i))) return static_cast<Enum>(i);
  }
  return Enum{};
}

// Throws nlohmann's exceptions; caught where a line is read.
RecordedTrial trial_of(const Json& json) {
  RecordedTrial trial;
  trial.configuration.sketch = json.at("s");
  trial.configuration.choice = json.at("c").get<std::vector<std::uint32_t>>();
  trial.program = json.value("p", "");
  trial.nanoseconds = json.value("ns", 0.0);
  trial.interval_low = json.value("low", 0.0);
  trial.stage = named(json.value("stage", ""), wire::Stage::MAX);
  trial.code = named(json.value("code", ""), ErrorCode::MAX);
  trial.message = json.value("message", "");
  if (json.contains("f")) trial.features = json.at("f").get<std::vector<float>>();
  return trial;
}

Result<Recording> head_of(const Json& json) {
  if (json.value("fettle_recording", 0) != kVersion) {
    return Error{ErrorCode::VersionMismatch, "not a recording of version 1"};
  }
  Recording recording;
  auto workload = space::Workload::parse(json.at("workload"));
  if (!workload) return std::move(workload).error();
  recording.workload = std::move(*workload);
  auto target = space::Target::parse(json.at("target").dump());
  if (!target) return std::move(target).error();
  recording.target = std::move(*target);
  recording.device = json.value("device", "");
  recording.feature_names = json.at("features").get<std::vector<std::string>>();
  std::vector<space::Sketch> sketches;
  for (const Json& each : json.at("sketches")) {
    space::Sketch sketch{each.at("name"), {}};
    for (const Json& knob : each.at("knobs")) {
      sketch.knobs.push_back(
          {knob.at("name"), knob.at("options").get<std::vector<std::vector<std::int64_t>>>()});
    }
    sketches.push_back(std::move(sketch));
  }
  recording.space = space::SearchSpace(std::move(sketches));
  return recording;
}

}  // namespace

Result<void> write_recording(const Recording& recording, const std::string& path) {
  File file(gzopen(path.c_str(), "wb9"));
  if (!file) return Error{ErrorCode::Io, "cannot write " + path, {}};
  const auto put = [&](const Json& json) {
    const std::string line = json.dump() + "\n";
    return gzwrite(file.get(), line.data(), static_cast<unsigned>(line.size())) ==
           static_cast<int>(line.size());
  };
  bool good = put(head_json(recording));
  for (const RecordedTrial& trial : recording.trials) good = good && put(trial_json(trial));
  good = gzclose(file.release()) == Z_OK && good;
  if (!good) return Error{ErrorCode::DiskFull, "cannot write all of " + path, {}};
  return {};
}

Result<Recording> read_recording(const std::string& path) {
  File file(gzopen(path.c_str(), "rb"));
  if (!file) return Error{ErrorCode::Io, "cannot read " + path, {}};
  std::optional<Recording> recording;
  std::size_t number = 0, wanted = 0;
  std::vector<char> line(kLineBytes);
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::Malformed, path + ", line " + std::to_string(number) + ": " + what};
  };
  while (gzgets(file.get(), line.data(), static_cast<int>(line.size()))) {
    ++number;
    if (std::strlen(line.data()) + 1 == line.size())
      return bad("longer than any line of a recording");
    try {
      const Json json = Json::parse(line.data());
      if (!recording) {
        auto head = head_of(json);
        if (!head) return std::move(head.error()).in(path);
        recording = std::move(*head);
        wanted = json.at("trials");
        if (wanted > kMostTrials) return bad("more trials than a recording may have");
        continue;
      }
      RecordedTrial trial = trial_of(json);
      if (!recording->space.contains(trial.configuration)) {
        return bad("a configuration that its space does not have");
      }
      if (trial.nanoseconds > 0 && trial.program.empty()) {
        return bad("a point with a time and no program");
      }
      if (!trial.features.empty() && trial.features.size() != recording->feature_names.size()) {
        return bad("another number of features than there are names");
      }
      if (recording->trials.size() == wanted) return bad("more trials than the first line says");
      recording->trials.push_back(std::move(trial));
    } catch (const Json::parse_error&) {
      return bad("not JSON");
    } catch (const Json::exception&) {
      return bad("no line of a recording");
    }
  }
  std::error_code none;
  if (!recording && std::filesystem::is_directory(path, none)) return bad("it is a folder");
  if (!recording) return bad("the recording is empty");
  if (recording->trials.size() != wanted) return bad("the recording ends early");
  recording->index_trials();
  return std::move(*recording);
}

}  // namespace fettle::replay

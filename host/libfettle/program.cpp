// fettle's command line with a user's operators and sketches (fettle/program.h).
#include "fettle/program.h"

#include <nlohmann/json.hpp>

#include "host/app/program.h"
#include "host/libfettle/own_sketch.h"
#include "host/model/task_list.h"
#include "host/records/queries.h"

namespace fettle {

namespace {

// The fastest record of the tasks of that name for that device. Nothing: none, or none to be read.
std::optional<records::TuningRecord> best_of(const std::string& name, const TuneOptions& options) {
  const auto list = model::load_network(name);
  const auto database = records::Database::open(options.db);
  if (!list || !database || list->tasks.empty()) return std::nullopt;
  records::Filter filter;
  filter.workload = list->tasks.front().workload.canonical();
  filter.device_key = options.device;
  auto best = records::best(*database, filter);
  if (!best || best->empty()) return std::nullopt;
  return std::move(best->front());
}

}  // namespace

Program::Program(int argc, char** argv) : argc_(argc), argv_(argv) {}

void Program::add(const std::string& name, const Operator& op) {
  model::add_network(name, "[" + op.json() + "]");
}

void Program::add(CpuSketch sketch) { space::add_cpu_sketch(own_sketch(std::move(sketch))); }

int Program::run() { return app::run_program(argc_, argv_); }

Tuned Program::tune(const std::string& name, const TuneOptions& options) {
  std::vector<std::string> words{argv_[0],
                                 "tune",
                                 name,
                                 "--device",
                                 options.device,
                                 "--trials",
                                 std::to_string(options.trials),
                                 "--db",
                                 options.db,
                                 "--seed",
                                 std::to_string(options.seed)};
  if (options.quiet) words.push_back("--quiet");
  words.insert(words.end(), options.more.begin(), options.more.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Tuned tuned;
  tuned.status = app::run_program(int(words.size()), argv.data());
  if (const auto record = best_of(name, options)) {
    tuned.found = true;
    tuned.nanoseconds = record->rated_nanoseconds().value_or(0);
    tuned.configuration = record->configuration;
    tuned.record = record->id;
  }
  return tuned;
}

}  // namespace fettle

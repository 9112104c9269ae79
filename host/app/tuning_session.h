// One `fettle tune`, from its options to its exit status.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "host/app/live_page.h"
#include "host/app/task_source.h"
#include "host/tune/tune.h"

namespace fettle::app {

struct TuneCommand {
  TaskSource tasks;
  std::string device = "local";
  std::string broker, broker_key;
  std::uint32_t trials = 1000;
  std::string searcher = "evolutionary", scheduler = "gradient";
  bool deterministic = false;
  bool prior = true;                // the model starts with the prior that fettle ships
  bool transfer = true;             // the model starts with what the database holds of other tasks
  std::vector<std::string> replay;  // recordings, instead of a device
  std::string first;  // a log of AutoTVM's, whose configurations are tried first; "": none
  std::string db = "fettle.db";
  bool resume = false;
  std::uint32_t early_stopping = 0;
  std::uint32_t finalists = 6;  // most programs of a task that are measured again at the end
  std::uint32_t number = 0, repeat = 10, cooldown_ms = 0;
  double min_repeat_ms = tune::default_measuring().min_repeat_ms, timeout_s = 4;
  bool flush_cache = false;
  std::string weights = "auto";  // cold, warm, or auto: as the tasks' network has them
  std::string hardware;
  std::uint64_t seed = 0;
  std::uint32_t builders = 0;         // 0: one per core that is free for them
  std::string build_on = "anywhere";  // here, workers, or anywhere: both
  int priority = 0;                   // among the sessions of a broker
  bool json = false, quiet = false;
  WebCommand web;
};

int run_tuning(const TuneCommand& command);
// As run_tuning, but from recordings (host/replay).
int run_replay(const TuneCommand& command);

}  // namespace fettle::app

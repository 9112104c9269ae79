// `fettle-bench repeat`: the same configurations measured in two sessions, each with
// an agent, a worker and builds of its own, in another order, racing off. A session
// measures all of them once in each of its rounds, and a configuration's time in it is the
// fastest round's median: what disturbs a core only costs time, and lasts longer than a
// trial but not than a round. Told is
// how alike the two order them, how far each median drifted, and what the recorded
// conditions know of those that drifted far.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::bench {

struct RepeatBenchOptions {
  std::string db = "repeat.db";  // where both sessions are stored
  std::string from;  // draws from this database's records, from fast to slow; "": by seed
  std::string network = "resnet-18";
  std::vector<std::string> layers;  // of it, by a part of the title; empty: all with a space
  unsigned threads = 0;             // 0: what most of the records of `from` have, else 1
  unsigned count = 100;             // configurations
  unsigned rounds = 4;              // of each session
  std::uint64_t seed = 1;
  bool json = false;
};

// One layer's configurations: nanoseconds in the first session and in the second.
struct RepeatedTimes {
  std::vector<double> first, second;
};
// How alike the two sessions order each layer's configurations: of layers with five at least, the
// mean of their rank correlations and the least of these, and how many times as long as its fastest
// one a layer's slowest takes (geometric mean). Never across layers: large ones take longer than
// small ones in any session. Null: there is no such layer.
nlohmann::json agreement_json(const std::vector<RepeatedTimes>& layers);

Result<void> run_repeat_bench(const RepeatBenchOptions& options);

}  // namespace fettle::bench

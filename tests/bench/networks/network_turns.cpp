// Starts, rounds, turns (network_turns.h).
#include "tests/bench/networks/network_turns.h"

#include <algorithm>
#include <limits>

namespace fettle::bench {
namespace {

constexpr int kRetakes = 3;  // of a turn that something interrupted
constexpr unsigned kMostRuns = 10'000;

struct Started {
  std::unique_ptr<NetworkContender> contender;
  ContenderFigures* figures;
  unsigned runs = 1;  // of a turn
};

double median_of_turn(std::vector<double> runs) {
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2);
  std::nth_element(runs.begin(), middle, runs.end());
  return *middle;
}

// Wrong or unable: named, and out of it.
void drop(ContenderFigures& figures, const std::string& why) {
  figures.absent = why;
  figures.slices_ns.clear();
}

// Awake within its scope.
class Turn {
 public:
  explicit Turn(const NetworkContender& contender) : contender_(contender) { contender_.wake(); }
  ~Turn() { contender_.stop(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  const NetworkContender& contender_;
};

// Loaded and found right.
Result<Started> start(const Entrant& entrant, const std::vector<float>& expected,
                      const std::vector<int>& cores, const TurnOptions& options) {
  auto contender = NetworkContender::start(entrant.figures->name, entrant.argv, cores);
  if (!contender) return std::move(contender).error();
  ContenderFigures& figures = *entrant.figures;
  figures.version = (*contender)->version();
  figures.load_ms = (*contender)->load_ms();
  const Turn turn(**contender);
  auto output = (*contender)->output();
  if (!output) return std::move(output).error();
  if (auto wrong = wrong_output(*output, expected, options.bound, figures.difference);
      !wrong.empty()) {
    return Error{ErrorCode::WrongAnswer, wrong, {}};
  }
  auto first = (*contender)->run(3);
  if (!first) return std::move(first).error();
  const double each = std::max(1.0, *std::min_element(first->begin(), first->end()));
  const double runs = std::clamp(options.slice_ms * 1e6 / each, 1.0, double{kMostRuns});
  return Started{std::move(*contender), &figures, static_cast<unsigned>(runs)};
}

// The first turn that nothing interrupted; after kRetakes the fastest, as an interruption only
// costs time.
Result<double> clean_turn(Started& one) {
  const Turn turn(*one.contender);
  double least = std::numeric_limits<double>::infinity();
  for (int attempt = 0; attempt <= kRetakes; ++attempt) {
    // What the others left in the caches, and what slept.
    if (auto warm = one.contender->run(1); !warm) return std::move(warm).error();
    const long before = one.contender->interruptions();
    auto runs = one.contender->run(one.runs);
    if (!runs) return std::move(runs).error();
    least = std::min(least, median_of_turn(std::move(*runs)));
    if (one.contender->interruptions() == before) break;
    ++one.figures->disturbed;
  }
  return least;
}

}  // namespace

void take_turns(std::vector<Entrant>& entrants, const std::vector<float>& expected,
                const std::vector<int>& cores, const TurnOptions& options) {
  for (unsigned i = 0; i < options.starts; ++i) {
    std::vector<Started> started;
    for (const Entrant& entrant : entrants) {
      if (!entrant.figures->absent.empty()) continue;
      auto one = start(entrant, expected, cores, options);
      if (one) {
        started.push_back(std::move(*one));
      } else {
        drop(*entrant.figures, one.error().text());
      }
    }
    for (unsigned round = 0; round < options.rounds; ++round) {
      for (Started& one : started) {
        if (!one.figures->absent.empty()) continue;
        const auto slice = clean_turn(one);
        if (slice) {
          one.figures->slices_ns.push_back(*slice);
        } else {
          drop(*one.figures, slice.error().text());
        }
      }
    }
  }
}

}  // namespace fettle::bench

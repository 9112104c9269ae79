// SearchSpace: the sketches of a workload on a target, each with its knobs, and
// Configuration, one point of it.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "schemas/wire/result.h"

namespace fettle::space {

// A choice left open by a sketch. Every option is a list of numbers: the factors
// of a split, outermost first, or one number for a plain choice.
struct Knob {
  std::string name;
  std::vector<std::vector<std::int64_t>> options;
  // The option that records from before this knob stand for; none: they are refused.
  std::optional<std::uint32_t> before = std::nullopt;
};

struct Sketch {
  std::string name;
  std::vector<Knob> knobs;
  double size() const;  // product of the options; may exceed 2^53
};

// choice[i] is the index of the option taken for knob i of sketch `sketch`.
struct Configuration {
  std::uint32_t sketch = 0;
  std::vector<std::uint32_t> choice;
  bool operator==(const Configuration&) const = default;
};

class SearchSpace {
 public:
  explicit SearchSpace(std::vector<Sketch> sketches) : sketches_(std::move(sketches)) {}
  const std::vector<Sketch>& sketches() const { return sketches_; }
  double size() const;
  // Whether it has that sketch, and an option for each of its knobs.
  bool contains(const Configuration& configuration) const;

  Configuration random(std::mt19937_64& rng) const;
  // One knob changed to another option (tile factors: usually a neighbour).
  Configuration mutate(const Configuration& from, std::mt19937_64& rng) const;
  // Each knob from either parent; parents of different sketches give a copy of one.
  Configuration crossover(const Configuration& a, const Configuration& b,
                          std::mt19937_64& rng) const;
  // The i-th configuration, 0 <= i < size(), size() < 2^53.
  Configuration at(std::uint64_t index) const;

  // {"sketch":"tiled","knobs":{"oc":[4,2,16],"unroll":[16]}}: names and values, so
  // that a record is replayed although options were added or reordered.
  std::string to_json(const Configuration& configuration) const;
  // InvalidArgument when the space has no such sketch, knob or option.
  Result<Configuration> parse(const std::string& json) const;
  const std::vector<std::int64_t>& value(const Configuration& c, const char* knob) const;

 private:
  std::vector<Sketch> sketches_;
};

}  // namespace fettle::space

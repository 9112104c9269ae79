// SearchSpace: the sketches of a workload on a target, each with its knobs, and
// Configuration, one point of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "host/space/knob_value.h"
#include "host/space/option_scale.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// A choice left open by a sketch.
struct Knob {
  std::string name;
  std::vector<KnobValue> options;
  // The option that records from before this knob stand for; none: they are refused.
  std::optional<std::uint32_t> before = std::nullopt;
};

// Which values of some knobs go together.
struct Constraint {
  std::string name;  // what holds: a configuration for which it does not is refused by this name
  std::vector<std::string> knobs;
  // Of one value for each of `knobs`, in their order. Pure: called from many threads.
  std::function<bool(std::span<const KnobValue* const> values)> holds;
};

struct Sketch {
  std::string name;
  std::vector<Knob> knobs;
  std::vector<Constraint> constraints = {};  // at least one configuration fulfils them all
  double size() const;  // product of the options, constraints or not; may exceed 2^53
};

// choice[i] is the index of the option taken for knob i of sketch `sketch`.
struct Configuration {
  std::uint32_t sketch = 0;
  std::vector<std::uint32_t> choice;
  bool operator==(const Configuration&) const = default;
};

class SearchSpace {
 public:
  explicit SearchSpace(std::vector<Sketch> sketches);
  const std::vector<Sketch>& sketches() const { return sketches_; }
  // Of all combinations of options: an upper bound where sketches have constraints.
  double size() const;
  // Whether it has that sketch, an option for each of its knobs, and its constraints hold.
  bool contains(const Configuration& configuration) const;
  // The constraint that a combination of options breaks, the first of several; null: none.
  const Constraint* broken(const Configuration& configuration) const;

  // What these three make is contained. Constraints are met by drawing again, and by walking on
  // to the next combination that fulfils them where hardly any does.
  Configuration random(std::mt19937_64& rng) const;
  // One knob changed to another option (tile factors: usually a neighbour); a copy where
  // constraints allow no other that was tried.
  Configuration mutate(const Configuration& from, std::mt19937_64& rng) const;
  // Each knob from either parent; parents of different sketches give a copy of one.
  Configuration crossover(const Configuration& a, const Configuration& b,
                          std::mt19937_64& rng) const;
  // The i-th combination of options, 0 <= i < size(), size() < 2^53. It need not fulfil the
  // constraints: ask contains().
  Configuration at(std::uint64_t index) const;

  // {"sketch":"tiled","knobs":{"oc":[4,2,16],"unroll":[16]}}: names and values, so
  // that a record is replayed although options were added or reordered.
  std::string to_json(const Configuration& configuration) const;
  // InvalidArgument when the space has no such sketch, knob or option, or a constraint, which is
  // named, does not hold.
  Result<Configuration> parse(const std::string& json) const;
  const KnobValue& value(const Configuration& c, const char* knob) const;
  // Of a sketch's knob.
  const OptionScale& scale(std::uint32_t sketch, std::size_t knob) const {
    return scales_[sketch][knob];
  }

 private:
  // These two do not look at constraints.
  Configuration draw_options(std::uint32_t sketch, std::mt19937_64& rng) const;
  Configuration with_one_changed(const Configuration& from, std::mt19937_64& rng) const;

  std::vector<Sketch> sketches_;
  std::vector<std::vector<OptionScale>> scales_;
  // Of each sketch, of each constraint: the places of its knobs.
  std::vector<std::vector<std::vector<std::size_t>>> places_;
};

}  // namespace fettle::space

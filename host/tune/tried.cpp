// Tried (tried.h).
#include "host/tune/tried.h"

namespace fettle::tune {
namespace {

constexpr std::size_t kRare = 3;  // trials of a sketch, fewer than which say nothing of it

}  // namespace

Tried::Tried(const space::SearchSpace& space) {
  for (const space::Sketch& sketch : space.sketches()) {
    options_.emplace_back();
    trials_.push_back(0);
    for (const space::Knob& knob : sketch.knobs) options_.back().emplace_back(knob.options.size());
  }
}

void Tried::add(const space::Configuration& configuration, std::size_t features_hash) {
  if (features_hash != 0) programs_.insert(features_hash);
  ++trials_[configuration.sketch];
  add_twin(configuration);
}

void Tried::add_twin(const space::Configuration& configuration) {
  const auto& choice = configuration.choice;
  for (std::size_t k = 0; k < choice.size(); ++k) {
    options_[configuration.sketch][k][choice[k]] = true;
  }
}

bool Tried::of_rare_sketch(const space::Configuration& configuration) const {
  return trials_[configuration.sketch] < kRare;
}

bool Tried::holds_untried(const space::Configuration& configuration) const {
  const auto& knobs = options_[configuration.sketch];
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (!knobs[k][configuration.choice[k]]) return true;
  }
  return false;
}

std::vector<std::pair<std::size_t, std::uint32_t>> Tried::untried(std::size_t sketch) const {
  const auto& knobs = options_[sketch];
  std::vector<std::pair<std::size_t, std::uint32_t>> untried;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    for (std::uint32_t option = 0; option < knobs[k].size(); ++option) {
      if (!knobs[k][option]) untried.emplace_back(k, option);
    }
  }
  return untried;
}

}  // namespace fettle::tune

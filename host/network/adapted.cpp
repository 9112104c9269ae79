// Nearest options (adapted.h).
#include "host/network/adapted.h"

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

namespace fettle::network {
namespace {

// Factors of a split are compared by their logarithms, from the innermost on: that one is the width
// of a vector, or what is kept in registers.
double distance(const space::KnobValue& a, const space::KnobValue& b) {
  double sum = 0;
  const std::size_t shorter = std::min(a.size(), b.size());
  for (std::size_t i = 1; i <= shorter; ++i) {
    const auto number = [i](const space::KnobValue& value) {
      return std::log2(1 + std::fabs(static_cast<double>(value[value.size() - i])));
    };
    sum += std::fabs(number(a) - number(b)) / static_cast<double>(i);
  }
  return sum + 100.0 * static_cast<double>(std::max(a.size(), b.size()) - shorter);
}

}  // namespace

std::optional<space::Configuration> adapted(const space::SearchSpace& space,
                                            const std::string& configuration) {
  const auto json = nlohmann::json::parse(configuration, nullptr, false);
  if (!json.is_object() || !json.contains("sketch") || !json.contains("knobs")) return {};
  for (std::size_t s = 0; s < space.sketches().size(); ++s) {
    const space::Sketch& sketch = space.sketches()[s];
    if (json["sketch"] != sketch.name) continue;
    space::Configuration out{static_cast<std::uint32_t>(s), {}};
    for (const space::Knob& knob : sketch.knobs) {
      const auto wanted = json["knobs"].find(knob.name);
      std::uint32_t nearest = knob.before.value_or(0);
      if (wanted != json["knobs"].end() && wanted->is_array()) {
        double least = std::numeric_limits<double>::infinity();
        for (std::size_t option = 0; option < knob.options.size(); ++option) {
          const double far = distance(knob.options[option], wanted->get<space::KnobValue>());
          if (far < least) least = far, nearest = static_cast<std::uint32_t>(option);
        }
      }
      out.choice.push_back(nearest);
    }
    if (space.contains(out)) return out;
  }
  return {};
}

}  // namespace fettle::network

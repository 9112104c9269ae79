// SearchSpace: drawing, changing, numbering and naming configurations (search_space.h).
#include "host/space/search_space.h"

#include <cassert>
#include <cstring>

#include <nlohmann/json.hpp>

namespace fettle::space {

namespace {

constexpr int kRedraws = 64;  // where constraints do not hold

std::uint32_t draw(std::mt19937_64& rng, std::size_t count) {
  return static_cast<std::uint32_t>(std::uniform_int_distribution<std::size_t>(0, count - 1)(rng));
}

std::string names_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "" : ", ") + n;
  return text;
}

}  // namespace

double Sketch::size() const {
  double size = 1;
  for (const Knob& knob : knobs) size *= double(knob.options.size());
  return size;
}

SearchSpace::SearchSpace(std::vector<Sketch> sketches) : sketches_(std::move(sketches)) {
  for (const Sketch& sketch : sketches_) {
    auto& scales = scales_.emplace_back();
    for (const Knob& knob : sketch.knobs) scales.emplace_back(knob.options);
    auto& of_sketch = places_.emplace_back();
    for (const Constraint& constraint : sketch.constraints) {
      auto& places = of_sketch.emplace_back();
      for (const std::string& name : constraint.knobs) {
        std::size_t k = 0;
        while (k < sketch.knobs.size() && sketch.knobs[k].name != name) ++k;
        assert(k < sketch.knobs.size());
        places.push_back(k);
      }
    }
  }
}

double SearchSpace::size() const {
  double size = 0;
  for (const Sketch& sketch : sketches_) size += sketch.size();
  return size;
}

bool SearchSpace::contains(const Configuration& c) const {
  if (c.sketch >= sketches_.size()) return false;
  const auto& knobs = sketches_[c.sketch].knobs;
  if (c.choice.size() != knobs.size()) return false;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (c.choice[k] >= knobs[k].options.size()) return false;
  }
  return !broken(c);
}

const Constraint* SearchSpace::broken(const Configuration& c) const {
  const Sketch& sketch = sketches_[c.sketch];
  std::vector<const KnobValue*> values;
  for (std::size_t i = 0; i < sketch.constraints.size(); ++i) {
    values.clear();
    for (const std::size_t k : places_[c.sketch][i]) {
      values.push_back(&sketch.knobs[k].options[c.choice[k]]);
    }
    if (!sketch.constraints[i].holds(values)) return &sketch.constraints[i];
  }
  return nullptr;
}

Configuration SearchSpace::draw_options(std::uint32_t sketch, std::mt19937_64& rng) const {
  Configuration c{sketch, {}};
  for (const Knob& knob : sketches_[sketch].knobs) {
    c.choice.push_back(draw(rng, knob.options.size()));
  }
  return c;
}

Configuration SearchSpace::random(std::mt19937_64& rng) const {
  // A sketch, each as likely as the others: the size of its space says nothing of how
  // good its programs are. Then each knob on its own.
  const std::uint32_t sketch = sketches_.size() > 1 ? draw(rng, sketches_.size()) : 0;
  Configuration c = draw_options(sketch, rng);
  for (double redraws = 0; broken(c); ++redraws) {
    assert(redraws < kRedraws + sketches_[sketch].size());  // one configuration fulfils them
    if (redraws < kRedraws) {
      c = draw_options(sketch, rng);
      continue;
    }
    // Hardly any fulfils the constraints: the next combination that does.
    const auto& knobs = sketches_[sketch].knobs;
    for (std::size_t k = 0; k < knobs.size() && ++c.choice[k] == knobs[k].options.size(); ++k) {
      c.choice[k] = 0;
    }
  }
  return c;
}

Configuration SearchSpace::mutate(const Configuration& from, std::mt19937_64& rng) const {
  for (int redraws = 0; redraws <= kRedraws; ++redraws) {
    Configuration c = with_one_changed(from, rng);
    if (!broken(c)) return c;
  }
  return from;
}

Configuration SearchSpace::with_one_changed(const Configuration& from, std::mt19937_64& rng) const {
  Configuration c = from;
  const auto& knobs = sketches_[c.sketch].knobs;
  std::vector<std::size_t> open;
  for (std::size_t k = 0; k < knobs.size(); ++k) {
    if (knobs[k].options.size() > 1) open.push_back(k);
  }
  if (open.empty()) return c;
  const std::size_t k = open[draw(rng, open.size())];
  const std::size_t count = knobs[k].options.size();
  // A third of the changes go anywhere.
  std::uint32_t next = c.choice[k];
  while (next == c.choice[k]) {
    const bool anywhere = count < 4 || draw(rng, 3) == 0;
    next = anywhere ? draw(rng, count) : scales_[c.sketch][k].step_from(c.choice[k], rng);
  }
  c.choice[k] = next;
  return c;
}

Configuration SearchSpace::crossover(const Configuration& a, const Configuration& b,
                                     std::mt19937_64& rng) const {
  if (a.sketch != b.sketch) return draw(rng, 2) ? a : b;
  for (int redraws = 0; redraws <= kRedraws; ++redraws) {
    Configuration c = a;
    for (std::size_t k = 0; k < c.choice.size(); ++k) {
      if (draw(rng, 2)) c.choice[k] = b.choice[k];
    }
    if (!broken(c)) return c;
  }
  return a;
}

Configuration SearchSpace::at(std::uint64_t index) const {
  Configuration c;
  double left = double(index);
  while (c.sketch + 1 < sketches_.size() && left >= sketches_[c.sketch].size()) {
    left -= sketches_[c.sketch++].size();
  }
  auto rest = static_cast<std::uint64_t>(left);
  for (const Knob& knob : sketches_[c.sketch].knobs) {
    c.choice.push_back(static_cast<std::uint32_t>(rest % knob.options.size()));
    rest /= knob.options.size();
  }
  return c;
}

std::string SearchSpace::to_json(const Configuration& configuration) const {
  const Sketch& sketch = sketches_[configuration.sketch];
  nlohmann::json knobs = nlohmann::json::object();
  for (std::size_t k = 0; k < sketch.knobs.size(); ++k) {
    knobs[sketch.knobs[k].name] = sketch.knobs[k].options[configuration.choice[k]];
  }
  return nlohmann::json{{"sketch", sketch.name}, {"knobs", knobs}}.dump();
}

Result<Configuration> SearchSpace::parse(const std::string& text) const {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto bad = [](std::string what) {
    return Error{ErrorCode::InvalidArgument, "configuration: " + std::move(what)};
  };
  if (!json.is_object() || !json.contains("sketch") || !json["sketch"].is_string() ||
      !json.contains("knobs") || !json["knobs"].is_object()) {
    return bad("not of the form {\"sketch\": …, \"knobs\": {…}}: " + text.substr(0, 80));
  }
  Configuration c;
  std::vector<std::string> names;
  while (c.sketch < sketches_.size() && json["sketch"] != sketches_[c.sketch].name) {
    names.push_back(sketches_[c.sketch++].name);
  }
  if (c.sketch == sketches_.size()) {
    return bad("no sketch " + json["sketch"].dump() + " here; there are: " + names_of(names));
  }
  const Sketch& sketch = sketches_[c.sketch];
  names.clear();
  for (const Knob& knob : sketch.knobs) {
    names.push_back(knob.name);
    if (!json["knobs"].contains(knob.name)) {
      if (!knob.before) return bad("knob \"" + knob.name + "\" is missing");
      c.choice.push_back(*knob.before);
      continue;
    }
    const auto& value = json["knobs"][knob.name];
    std::size_t option = 0;
    while (option < knob.options.size() && value != nlohmann::json(knob.options[option])) ++option;
    if (option == knob.options.size()) {
      return bad("knob \"" + knob.name + "\" has no option " + value.dump());
    }
    c.choice.push_back(static_cast<std::uint32_t>(option));
  }
  for (auto it = json["knobs"].begin(); it != json["knobs"].end(); ++it) {
    bool known = false;
    for (const Knob& knob : sketch.knobs) known |= knob.name == it.key();
    if (!known) return bad("no knob \"" + it.key() + "\" here; there are: " + names_of(names));
  }
  if (const Constraint* constraint = broken(c)) {
    return bad("it breaks the constraint \"" + constraint->name + "\" between " +
               names_of(constraint->knobs));
  }
  return c;
}

const KnobValue& SearchSpace::value(const Configuration& c, const char* name) const {
  const auto& knobs = sketches_[c.sketch].knobs;
  std::size_t k = 0;
  while (k < knobs.size() && knobs[k].name != name) ++k;
  assert(k < knobs.size());
  return knobs[k].options[c.choice[k]];
}

}  // namespace fettle::space

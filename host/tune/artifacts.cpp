// Artifacts (artifacts.h).
#include "host/tune/artifacts.h"

#include <utility>

#include "host/tune/outcomes.h"

namespace fettle::tune {

Artifacts::Claim Artifacts::claim(const wire::Hash& program, std::uint64_t trial,
                                  const std::function<bool(const wire::OutcomeT&)>& suffices) {
  auto [place, fresh] = artifacts_.try_emplace(program);
  if (fresh) return Claim::Measure;
  Artifact& artifact = place->second;
  if (!artifact.outcome) {
    artifact.twins.push_back(trial);
    return Claim::Wait;
  }
  if (suffices(*artifact.outcome)) return Claim::Reuse;
  artifact.outcome.reset();
  return Claim::Measure;
}

const wire::OutcomeT& Artifacts::outcome_of(const wire::Hash& program) const {
  return *artifacts_.at(program).outcome;
}

void Artifacts::know(const wire::Hash& program, const wire::OutcomeT& outcome) {
  artifacts_[program].outcome = outcome;
}

Artifacts::Settled Artifacts::settle(const wire::Hash& program, const wire::OutcomeT& outcome) {
  Artifact& artifact = artifacts_.at(program);
  Settled settled{std::exchange(artifact.twins, {}), std::nullopt};
  if (!transient(outcome)) {
    artifact.outcome = outcome;
  } else if (settled.twins.empty()) {
    artifacts_.erase(program);
  } else {
    // The next twin takes its place; the others wait for that one.
    settled.next = settled.twins.front();
    artifact.twins.assign(settled.twins.begin() + 1, settled.twins.end());
    settled.twins.clear();
  }
  return settled;
}

void Artifacts::drop_twins() {
  for (auto& [program, artifact] : artifacts_) artifact.twins.clear();
}

}  // namespace fettle::tune

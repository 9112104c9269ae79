// Artifacts: the programs that one task's trials made. Each is measured by at most one trial
// at a time; others that made the same program, its twins, wait for that outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "schemas/measure_generated.h"
#include "schemas/wire/content_hash.h"

namespace fettle::tune {

class Artifacts {
 public:
  // What a trial is to do with the program that it made.
  enum class Claim {
    Measure,
    Wait,  // for the trial that measures it: settle() names it then
    Reuse  // outcome_of() it
  };
  // `suffices`: whether an outcome that is known already will do; else it is measured again.
  Claim claim(const wire::Hash& program, std::uint64_t trial,
              const std::function<bool(const wire::OutcomeT&)>& suffices);
  const wire::OutcomeT& outcome_of(const wire::Hash& program) const;

  // An outcome from before this session.
  void know(const wire::Hash& program, const wire::OutcomeT& outcome);

  struct Settled {
    std::vector<std::uint64_t> twins;   // whose outcome this is, too
    std::optional<std::uint64_t> next;  // that measures it now: this outcome tells nothing of it
  };
  // The outcome of the trial that measured the program.
  Settled settle(const wire::Hash& program, const wire::OutcomeT& outcome);

  // Twins are waited for no more.
  void drop_twins();

 private:
  struct Artifact {
    std::optional<wire::OutcomeT> outcome;  // empty: on its way
    std::vector<std::uint64_t> twins;       // trials that wait for it
  };
  std::map<wire::Hash, Artifact, HashLess> artifacts_;
};

}  // namespace fettle::tune

// What the sessions of one version want of build workers: by it a farm grows and shrinks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

namespace fettle::fleet {

struct BuildQueue {
  std::string version;                   // of what builds (build_key.h)
  std::uint32_t builders = 0, busy = 0;  // compilers there; and those that have a candidate
  std::uint32_t candidates = 0;          // not built yet: all that wait or are in work
  std::uint32_t sessions = 0;            // that build with this version

  // Candidates behind others, or without any builder.
  std::uint32_t waiting() const { return candidates - std::min(candidates, busy); }
  // Compilers that it would take to keep none waiting. A session fills two places for each builder
  // that there is, so this grows up to twice with every builder that comes, until boards are what
  // sessions wait for. A session without any says nothing of its need: one is there for it.
  std::uint32_t wanted() const { return std::max(candidates, sessions > 0 ? 1u : 0u); }
};

}  // namespace fettle::fleet

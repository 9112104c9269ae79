// What the agent's owner says of its workers.
#pragma once

#include <string>
#include <vector>

namespace fettle::agent {

struct WorkerTerms {
  // Candidates may run where the sandbox does not hold; else such a device is refused.
  bool allow_unsandboxed = false;
  std::vector<std::string> hidden;  // files and folders that no worker reaches (file_access.h)
};

}  // namespace fettle::agent

// The bounds of clocks as they were found, kept until they are given back: one file for
// each clock domain in /run/fettle, which outlives the agent and its guard. Whoever holds a
// domain has a shared lock (flock) on its file, so that of several agents the last one
// gives it back, and the next agent what all of them could not.
#pragma once

#include <string>
#include <vector>

#include "agent/platform/system_root.h"

namespace fettle::agent {

// One clock's bounds. Values as in its files: kHz for cpufreq, Hz for devfreq.
struct ClockDomain {
  std::string id;    // "cpu4": by the first core of the domain; "gpu-ff9a0000.gpu"
  std::string name;  // for people
  std::string least_file, most_file;
  std::string least, most;  // as found; "": not known
  std::string pinned;       // that whoever holds it set; "": nobody did
};

ClockDomain cpu_clock_domain(std::uint32_t id, std::uint32_t core);
ClockDomain gpu_clock_domain(const std::string& name);
// False, with errno, when the system does not take both. The kernel refuses a lower bound
// above the upper one, whichever is written first.
bool set_bounds(const SystemRoot& root, const ClockDomain& domain, const std::string& least,
                const std::string& most);

// Not thread-safe. Between lock and unlock no other process claims or gives back. A child
// that is forked meanwhile may go on with its copy: the lock is of both.
class ClockStore {
 public:
  ClockStore(const SystemRoot& root, bool make_folder);
  ClockStore(const ClockStore&) = delete;
  ClockStore& operator=(const ClockStore&) = delete;
  ~ClockStore();
  // Why nothing can be kept, "" when all is well.
  const std::string& problem() const { return problem_; }

  void lock();
  void unlock();
  // Takes a share in the domain and fills in what its file tells. A descriptor to be closed
  // or to be given to give_back; -1: nothing can be kept. `shared`: others hold it, too.
  int claim(ClockDomain& domain, bool& shared);
  bool keep(int held, const ClockDomain& domain);
  // Ends that share. Was it the last one, the clock gets its found bounds back: true then.
  bool give_back(const ClockDomain& domain, int held);
  // Gives back what no living process holds; names of the domains that have theirs again.
  std::vector<std::string> give_back_abandoned();

 private:
  bool read(int held, ClockDomain& domain) const;
  SystemRoot root_;
  int folder_ = -1;
  std::string problem_;
};

}  // namespace fettle::agent

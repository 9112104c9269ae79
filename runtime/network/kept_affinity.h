// The cores of a thread that lends itself to a network, given back when the network goes.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <cstdint>

namespace fettle::runtime {

// Made before the calling thread is pinned to `core`. When it goes, on that thread, the thread may
// run where it could before, unless its program has placed it anew meanwhile.
class KeptAffinity {
 public:
  explicit KeptAffinity(std::uint32_t core);
  ~KeptAffinity();
  KeptAffinity(const KeptAffinity&) = delete;
  KeptAffinity& operator=(const KeptAffinity&) = delete;

 private:
  pthread_t thread_;
  cpu_set_t before_, pinned_;
  bool known_;
};

}  // namespace fettle::runtime

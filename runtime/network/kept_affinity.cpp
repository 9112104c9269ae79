// Remembering where a thread may run (kept_affinity.h). Not the pool's work: the thread that has an
// agent's pool sits in a sandbox at its end, where asking for cores is a fault.
#include "runtime/network/kept_affinity.h"

namespace fettle::runtime {

KeptAffinity::KeptAffinity(std::uint32_t core)
    : thread_(pthread_self()), known_(sched_getaffinity(0, sizeof before_, &before_) == 0) {
  CPU_ZERO(&pinned_);
  CPU_SET(core, &pinned_);
}

KeptAffinity::~KeptAffinity() {
  cpu_set_t now;
  if (!known_ || !pthread_equal(thread_, pthread_self())) return;
  if (sched_getaffinity(0, sizeof now, &now) != 0 || !CPU_EQUAL(&now, &pinned_)) return;
  sched_setaffinity(0, sizeof before_, &before_);
}

}  // namespace fettle::runtime

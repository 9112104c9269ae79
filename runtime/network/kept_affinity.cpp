// Remembering where a thread may run (kept_affinity.h). Not the pool's work: the thread that has an
// agent's pool sits in a sandbox at its end, where asking for cores is a fault.
#include "runtime/network/kept_affinity.h"

#include <sched.h>

#include <atomic>

namespace fettle::runtime {

struct KeptAffinity::Place {
  std::atomic<unsigned> networks = 0;  // that have it pinned; another thread may free one
  // Of the thread itself:
  bool known = false;
  cpu_set_t before, pinned;

  bool is_where_it_was_pinned() const {
    cpu_set_t now;
    return known && sched_getaffinity(0, sizeof now, &now) == 0 && CPU_EQUAL(&now, &pinned);
  }
};

std::shared_ptr<KeptAffinity::Place>& KeptAffinity::own() {
  thread_local auto place = std::make_shared<Place>();
  return place;
}

KeptAffinity::KeptAffinity(std::uint32_t core) : thread_(pthread_self()), place_(own()) {
  const bool first = place_->networks++ == 0;
  if (first || !place_->is_where_it_was_pinned()) {
    place_->known = sched_getaffinity(0, sizeof place_->before, &place_->before) == 0;
  }
  CPU_ZERO(&place_->pinned);
  CPU_SET(core, &place_->pinned);
}

KeptAffinity::~KeptAffinity() {
  const bool last = --place_->networks == 0;
  if (!last || !pthread_equal(thread_, pthread_self())) return;
  if (place_->is_where_it_was_pinned()) {
    sched_setaffinity(0, sizeof place_->before, &place_->before);
  }
}

}  // namespace fettle::runtime

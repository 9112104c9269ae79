// The cores of a thread that lends itself to networks, given back when the last of them goes.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <memory>

namespace fettle::runtime {

// Made before the calling thread is pinned to `core`. When the last one of a thread goes, on that
// thread, the thread may run where it could before the first one, unless its program has placed it
// anew meanwhile.
class KeptAffinity {
 public:
  explicit KeptAffinity(std::uint32_t core);
  ~KeptAffinity();
  KeptAffinity(const KeptAffinity&) = delete;
  KeptAffinity& operator=(const KeptAffinity&) = delete;

 private:
  struct Place;  // of one thread
  static std::shared_ptr<Place>& own();

  pthread_t thread_;
  std::shared_ptr<Place> place_;
};

}  // namespace fettle::runtime

// KeptObjects: objects by what they were compiled from. The least recently used goes when they
// are too large together.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "host/backend/cpu_llvm/codegen.h"
#include "schemas/wire/content_hash.h"

namespace fettle::backend::cpu_llvm {

// Used by one thread at a time.
class KeptObjects {
 public:
  explicit KeptObjects(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  // Null: there is none.
  std::shared_ptr<const Object> find(const wire::Hash& source) {
    const auto found = places_.find(source);
    if (found == places_.end()) return nullptr;
    objects_.splice(objects_.begin(), objects_, found->second);
    ++used_again_;
    return found->second->second;
  }
  // One that find() did not know.
  void keep(const wire::Hash& source, std::shared_ptr<const Object> object) {
    bytes_ += object->bytes.size();
    objects_.emplace_front(source, std::move(object));
    places_.emplace(source, objects_.begin());
    while (bytes_ > most_bytes_ && objects_.size() > 1) {
      bytes_ -= objects_.back().second->bytes.size();
      places_.erase(objects_.back().first);
      objects_.pop_back();
    }
  }
  std::size_t used_again() const { return used_again_; }

 private:
  using Entry = std::pair<wire::Hash, std::shared_ptr<const Object>>;
  const std::size_t most_bytes_;
  std::list<Entry> objects_;  // the last used one first
  std::map<wire::Hash, std::list<Entry>::iterator, HashLess> places_;
  std::size_t bytes_ = 0, used_again_ = 0;
};

}  // namespace fettle::backend::cpu_llvm

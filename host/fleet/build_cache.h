// What builders made, by what they were asked: the same question needs no second answer. Bounded;
// what was used longest ago goes first. The programs' blobs are the BlobStore's, which may drop
// them: an answer whose blobs are gone is none.
#pragma once

#include <list>
#include <map>
#include <vector>

#include "host/fleet/trial.h"
#include "schemas/wire/content_hash.h"

namespace fettle::fleet {

// Of a request to builders of that key: its task, target and configuration, and so what compiles
// them, as the key names it.
wire::Hash build_question(const std::string& device_key, const wire::BuildRequestT& request);

class BuildCache {
 public:
  struct Answer {
    SharedBytes built;              // an encoded BuildResult with an output
    std::vector<wire::Hash> blobs;  // that it names, sorted
  };

  explicit BuildCache(std::size_t capacity_bytes) : capacity_(capacity_bytes) {}

  // Null: not known. Counts as a use; good until the next change.
  const Answer* find(const wire::Hash& question);
  void put(const wire::Hash& question, Answer answer);
  void forget(const wire::Hash& question);
  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    wire::Hash question;
    Answer answer;
  };
  static std::size_t bytes_of(const Answer& answer);

  std::size_t capacity_, bytes_ = 0;
  std::list<Known> used_;  // most recently first
  std::map<wire::Hash, std::list<Known>::iterator, HashLess> known_;
};

}  // namespace fettle::fleet

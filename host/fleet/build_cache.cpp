// Answers in the order of their use (build_cache.h).
#include "host/fleet/build_cache.h"

namespace fettle::fleet {
namespace {

constexpr std::size_t kOverhead = 256;  // of one answer beside its bytes and hashes

void add(ContentHasher& hasher, const std::string& text) {
  const auto size = static_cast<std::uint64_t>(text.size());
  std::uint8_t head[8];
  for (int i = 0; i < 8; ++i) head[i] = std::uint8_t(size >> (8 * i));
  hasher.add(head);
  hasher.add({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

}  // namespace

wire::Hash build_question(const std::string& device_key, const wire::BuildRequestT& request) {
  ContentHasher hasher;
  for (const std::string* text :
       {&device_key, &request.workload, &request.target, &request.configuration}) {
    add(hasher, *text);
  }
  return hasher.end();
}

std::size_t BuildCache::bytes_of(const Answer& answer) {
  return answer.built->size() + answer.blobs.size() * sizeof(wire::Hash) + kOverhead;
}

const BuildCache::Answer* BuildCache::find(const wire::Hash& question) {
  const auto found = known_.find(question);
  if (found == known_.end()) return nullptr;
  used_.splice(used_.begin(), used_, found->second);
  return &found->second->answer;
}

void BuildCache::put(const wire::Hash& question, Answer answer) {
  forget(question);
  const std::size_t bytes = bytes_of(answer);
  if (bytes > capacity_) return;
  while (bytes_ + bytes > capacity_) forget(wire::Hash(used_.back().question));
  used_.push_front({question, std::move(answer)});
  known_[question] = used_.begin();
  bytes_ += bytes;
}

void BuildCache::forget(const wire::Hash& question) {
  const auto found = known_.find(question);
  if (found == known_.end()) return;
  bytes_ -= bytes_of(found->second->answer);
  used_.erase(found->second);
  known_.erase(found);
}

}  // namespace fettle::fleet

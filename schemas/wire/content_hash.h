// Content hashes: BLAKE2b-256 through libsodium, on host and agent alike.
#pragma once

#include <sodium.h>
#include <optional>
#include <string>

#include "schemas/wire/codec.h"

namespace fettle {

wire::Hash content_hash(ByteView bytes);
// The same of bytes that come one part after the other.
class ContentHasher {
 public:
  ContentHasher();
  void add(ByteView part);
  wire::Hash end();  // once

 private:
  crypto_generichash_state state_;
};

std::string to_hex(const wire::Hash& hash);  // 64 lower-case digits
std::optional<wire::Hash> hash_from_hex(const std::string& hex);
// For ordered and hashed containers.
struct HashLess {
  bool operator()(const wire::Hash& a, const wire::Hash& b) const;
};

}  // namespace fettle

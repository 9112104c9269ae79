// Content hashes (content_hash.h).
#include "schemas/wire/content_hash.h"

#include <cstring>

namespace fettle {

static_assert(sizeof(wire::Hash) == 32);

wire::Hash content_hash(ByteView bytes) {
  wire::Hash hash;
  crypto_generichash(reinterpret_cast<unsigned char*>(&hash), sizeof hash, bytes.data(),
                     bytes.size(), nullptr, 0);
  return hash;
}

ContentHasher::ContentHasher() { crypto_generichash_init(&state_, nullptr, 0, sizeof(wire::Hash)); }

void ContentHasher::add(ByteView part) {
  crypto_generichash_update(&state_, part.data(), part.size());
}

wire::Hash ContentHasher::end() {
  wire::Hash hash;
  crypto_generichash_final(&state_, reinterpret_cast<unsigned char*>(&hash), sizeof hash);
  return hash;
}

std::string to_hex(const wire::Hash& hash) {
  char text[65];
  sodium_bin2hex(text, sizeof text, reinterpret_cast<const unsigned char*>(&hash), sizeof hash);
  return text;
}

std::optional<wire::Hash> hash_from_hex(const std::string& hex) {
  wire::Hash hash;
  std::size_t size = 0;
  if (sodium_hex2bin(reinterpret_cast<unsigned char*>(&hash), sizeof hash, hex.data(), hex.size(),
                     nullptr, &size, nullptr) != 0 ||
      size != sizeof hash) {
    return std::nullopt;
  }
  return hash;
}

bool HashLess::operator()(const wire::Hash& a, const wire::Hash& b) const {
  return std::memcmp(&a, &b, sizeof a) < 0;
}

}  // namespace fettle

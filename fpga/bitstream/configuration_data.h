// The packets of which a device's configuration data are made (AMD UG470, chapter 5).
#pragma once

#include <cstdint>
#include <optional>

#include "schemas/wire/codec.h"

namespace fettle::vta {

struct ConfigurationFacts {
  std::size_t sync_offset = 0;
  std::optional<std::uint32_t> idcode, user_access;
  std::uint64_t frame_words = 0;
};

// Where the sync word is, among the first bytes: at a multiple of 4, with the words' bytes in order
// (big-endian) or reversed.
struct SyncWord {
  std::size_t offset = 0;
  bool reversed = false;
};
std::optional<SyncWord> find_sync_word(ByteView data);

// Of big-endian words. Malformed unless a sync word is followed by whole packets up to a DESYNC.
Result<ConfigurationFacts> read_configuration(ByteView data);

}  // namespace fettle::vta

// Reading packets (configuration_data.h).
#include "fpga/bitstream/configuration_data.h"

#include <algorithm>

namespace fettle::vta {
namespace {

constexpr std::uint32_t kSync = 0xaa995566;
constexpr std::size_t kSyncWithin = 4096;  // dummy words and bus width detection come before

enum Register : std::uint32_t { kFdri = 2, kCmd = 4, kIdcode = 12, kAxss = 13 };
constexpr std::uint32_t kDesync = 0x0d;  // a CMD
constexpr std::uint32_t kWrite = 2;

std::uint32_t word_at(ByteView data, std::size_t at) {
  return std::uint32_t{data[at]} << 24 | std::uint32_t{data[at + 1]} << 16 |
         std::uint32_t{data[at + 2]} << 8 | data[at + 3];
}

std::uint32_t reversed(std::uint32_t word) {
  return word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
}

Error bad(std::string what) {
  return {ErrorCode::Malformed, "configuration data: " + std::move(what)};
}

}  // namespace

std::optional<SyncWord> find_sync_word(ByteView data) {
  for (std::size_t at = 0; at + 4 <= std::min(data.size(), kSyncWithin); at += 4) {
    const std::uint32_t word = word_at(data, at);
    if (word == kSync) return SyncWord{at, false};
    if (word == reversed(kSync)) return SyncWord{at, true};
  }
  return std::nullopt;
}

Result<ConfigurationFacts> read_configuration(ByteView data) {
  if (data.size() % 4 != 0) {
    return bad(std::to_string(data.size()) + " bytes, which are no whole words");
  }
  const std::optional<SyncWord> sync = find_sync_word(data);
  if (!sync || sync->reversed) return bad("no sync word where they begin");
  ConfigurationFacts facts;
  facts.sync_offset = sync->offset;
  std::uint32_t to = 0, operation = 0;  // a packet of type 2 goes where the one before went
  for (std::size_t at = sync->offset + 4; at < data.size();) {
    const std::uint32_t header = word_at(data, at);
    const std::uint32_t type = header >> 29;
    std::uint32_t count = 0;
    if (type == 1) {
      operation = header >> 27 & 3;
      to = header >> 13 & 0x3fff;
      count = header & 0x7ff;
    } else if (type == 2) {
      operation = header >> 27 & 3;
      count = header & 0x7ffffff;
    } else {
      return bad("no packet at byte " + std::to_string(at));
    }
    at += 4;
    if (operation != kWrite) continue;  // nothing follows a NOP, nor a read
    if (count > (data.size() - at) / 4) {
      return bad("cut off: a packet at byte " + std::to_string(at - 4) + " is to have " +
                 std::to_string(count) + " words, and " + std::to_string((data.size() - at) / 4) +
                 " are left");
    }
    if (to == kFdri) facts.frame_words += count;
    if (to == kIdcode && count > 0 && !facts.idcode) facts.idcode = word_at(data, at);
    if (to == kAxss && count > 0) facts.user_access = word_at(data, at);
    if (to == kCmd && count > 0 && word_at(data, at) == kDesync) return facts;
    at += std::size_t{count} * 4;
  }
  return bad("cut off: they end without a DESYNC");
}

}  // namespace fettle::vta

// Files of bitstreams (bitstream.h).
#include "fpga/bitstream/bitstream.h"

#include <algorithm>

#include "fpga/bitstream/configuration_data.h"
#include "fpga/bitstream/xclbin.h"
#include "schemas/wire/content_hash.h"

namespace fettle::vta {
namespace {

Error bad(std::string what) { return {ErrorCode::Malformed, std::move(what)}; }

std::string number(std::uint64_t value) { return std::to_string(value); }

// Takes big-endian numbers and texts from the front of bytes.
class Reader {
 public:
  explicit Reader(ByteView bytes) : bytes_(bytes) {}
  std::optional<std::uint32_t> big_endian(std::size_t width) {
    if (bytes_.size() < width) return std::nullopt;
    std::uint32_t value = 0;
    for (const std::uint8_t byte : bytes_.first(width)) value = value << 8 | byte;
    bytes_ = bytes_.subspan(width);
    return value;
  }
  std::optional<ByteView> take(std::size_t count) {
    if (bytes_.size() < count) return std::nullopt;
    const ByteView taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  ByteView rest() const { return bytes_; }

 private:
  ByteView bytes_;
};

// The magic field in front of a .bit's records and the 1 behind it.
bool begins_as_bit(ByteView file) {
  Reader reader(file);
  const auto length = reader.big_endian(2);
  return length && *length < 64 && reader.take(*length) && reader.big_endian(2) == 1u &&
         !reader.rest().empty() && reader.rest()[0] == 'a';
}

Result<void> read_data(ByteView data, Bitstream& bitstream) {
  const Result<ConfigurationFacts> facts = read_configuration(data);
  if (!facts) return facts.error();
  bitstream.idcode = facts->idcode;
  bitstream.user_access = facts->user_access;
  bitstream.frame_words = facts->frame_words;
  bitstream.sync_offset = facts->sync_offset;
  bitstream.data.assign(data.begin(), data.end());
  return {};
}

// Records: a tag, a length of 16 bits and a text that ends with NUL; last 'e', a length of 32 bits
// and the configuration data up to the file's end.
Result<void> read_bit(ByteView file, Bitstream& bitstream) {
  Reader reader(file);
  reader.take(*reader.big_endian(2));
  reader.big_endian(2);
  std::string date, time;
  while (const auto tag = reader.big_endian(1)) {
    if (*tag == 'e') {
      const auto length = reader.big_endian(4);
      if (!length || *length != reader.rest().size()) {
        return bad(".bit: its header promises " + number(length.value_or(0)) +
                   " bytes of configuration data, and " + number(reader.rest().size()) +
                   " are there");
      }
      bitstream.made = date + (time.empty() ? "" : " " + time);
      return read_data(reader.rest(), bitstream);
    }
    std::string* field = *tag == 'a'   ? &bitstream.design
                         : *tag == 'b' ? &bitstream.part
                         : *tag == 'c' ? &date
                         : *tag == 'd' ? &time
                                       : nullptr;
    const auto length = reader.big_endian(2);
    const auto text = length ? reader.take(*length) : std::nullopt;
    if (!field || !text) return bad(".bit: a header that is cut off or has unknown records");
    field->assign(text->begin(), std::find(text->begin(), text->end(), 0));
  }
  return bad(".bit: a header without configuration data");
}

Result<void> read_bin(ByteView file, Bitstream& bitstream) {
  const std::optional<SyncWord> sync = find_sync_word(file);
  if (!sync || !sync->reversed) return read_data(file, bitstream);
  Bytes data(file.begin(), file.end());
  for (std::size_t at = 0; at + 4 <= data.size(); at += 4) {
    std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                 data.begin() + static_cast<std::ptrdiff_t>(at + 4));
  }
  return read_data(data, bitstream);
}

Result<void> read_plain(ByteView file, Bitstream& bitstream);

Result<void> read_xclbin(ByteView file, Bitstream& bitstream) {
  const Result<Xclbin> xclbin = parse_xclbin(file);
  if (!xclbin) return xclbin.error();
  bitstream.platform = xclbin->platform;
  if (!xclbin->bitstream) {
    return bad(".xclbin: no bitstream among its " + number(xclbin->sections) + " sections");
  }
  Result<void> read = read_plain(*xclbin->bitstream, bitstream);
  if (!read) return std::move(read).error().in("reading the bitstream of an .xclbin");
  return {};
}

Result<void> read_plain(ByteView file, Bitstream& bitstream) {
  if (begins_as_bit(file)) return read_bit(file, bitstream);
  if (find_sync_word(file)) return read_bin(file, bitstream);
  return bad("neither .bit, .bin nor .xclbin: no header, and no sync word where one is to be");
}

}  // namespace

const char* name_of(BitstreamFormat format) {
  switch (format) {
    case BitstreamFormat::Bit:
      return ".bit";
    case BitstreamFormat::Bin:
      return ".bin";
    case BitstreamFormat::Xclbin:
      return ".xclbin";
  }
  return "";
}

Result<Bitstream> parse_bitstream(ByteView file) {
  Bitstream bitstream;
  const bool xclbin = begins_as_xclbin(file);
  bitstream.format = xclbin                ? BitstreamFormat::Xclbin
                     : begins_as_bit(file) ? BitstreamFormat::Bit
                                           : BitstreamFormat::Bin;
  Result<void> read = xclbin ? read_xclbin(file, bitstream) : read_plain(file, bitstream);
  if (!read) return std::move(read).error();
  return bitstream;
}

wire::Hash hash_of(const Bitstream& bitstream) { return content_hash(bitstream.data); }

Result<Bytes> to_bin(const Bitstream& bitstream) {
  constexpr std::size_t kLookedAt = 128;
  if (bitstream.sync_offset + 4 > kLookedAt) {
    return Error{ErrorCode::Unsupported, "the sync word is at byte " +
                                             number(bitstream.sync_offset) +
                                             ", and Linux looks for it in the first 128"};
  }
  Bytes out = bitstream.data;
  for (std::size_t at = 0; at < out.size(); at += 4) {
    std::reverse(out.begin() + static_cast<std::ptrdiff_t>(at),
                 out.begin() + static_cast<std::ptrdiff_t>(at + 4));
  }
  return out;
}

}  // namespace fettle::vta

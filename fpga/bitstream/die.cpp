// Which die a bitstream is for, and which a part has (bitstream.h).
#include <cctype>
#include <cstdio>

#include "fpga/bitstream/bitstream.h"

namespace fettle::vta {
namespace {

// Zynq-7000: AMD UG585, register PSS_IDCODE; UG470, table of IDCODEs. Zynq UltraScale+: UG570.
constexpr Die kDies[] = {
    {"xc7z007s", 0x03723093}, {"xc7z010", 0x03722093}, {"xc7z012s", 0x0373c093},
    {"xc7z014s", 0x03728093}, {"xc7z015", 0x0373b093}, {"xc7z020", 0x03727093},
    {"xc7z030", 0x0372c093},  {"xc7z035", 0x03732093}, {"xc7z045", 0x03731093},
    {"xc7z100", 0x03736093},  {"xczu7ev", 0x04730093},
};
constexpr std::uint32_t kWithoutRevision = 0x0fffffff;

std::string hex(std::uint32_t value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08x", value);
  return text;
}

}  // namespace

std::optional<Die> die_of_part(std::string_view part) {
  if (part.starts_with("xc")) part.remove_prefix(2);
  std::optional<Die> found;
  for (const Die& die : kDies) {
    const std::string_view name = die.name.substr(2);
    // The longest: a name may begin another.
    if (part.starts_with(name) && (!found || name.size() + 2 > found->name.size())) found = die;
  }
  // Behind it comes a package (letters), a speed grade (-1), or nothing.
  if (!found || part.size() == found->name.size() - 2) return found;
  const char next = part[found->name.size() - 2];
  return next == '-' || std::isalpha(static_cast<unsigned char>(next)) ? found : std::nullopt;
}

std::optional<Die> die_of_idcode(std::uint32_t idcode) {
  for (const Die& die : kDies) {
    if ((idcode & kWithoutRevision) == die.idcode) return die;
  }
  return std::nullopt;
}

Result<void> check_die(const Bitstream& bitstream, std::string_view part) {
  const std::optional<Die> wanted = die_of_part(part);
  if (!wanted) {
    return Error{ErrorCode::Unsupported,
                 "no die is known for the part '" + std::string(part) + "'"};
  }
  if (bitstream.part.empty() && !bitstream.idcode) {
    return Error{ErrorCode::Unsupported, "the bitstream does not say which die it is for"};
  }
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorCode::WrongConfiguration,
                 "the bitstream is for " + what + ", and here is an " + std::string(wanted->name)};
  };
  if (!bitstream.part.empty()) {
    const std::optional<Die> header = die_of_part(bitstream.part);
    if (!header || header->idcode != wanted->idcode) return wrong("the part " + bitstream.part);
  }
  if (bitstream.idcode && (*bitstream.idcode & kWithoutRevision) != wanted->idcode) {
    const std::optional<Die> other = die_of_idcode(*bitstream.idcode);
    return wrong("the IDCODE " + hex(*bitstream.idcode) +
                 (other ? " (" + std::string(other->name) + ")" : ""));
  }
  return {};
}

}  // namespace fettle::vta

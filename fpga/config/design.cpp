// What follows from a design's fields, and the designs that are built in (design.h).
#include "fpga/config/design.h"

#include <bit>
#include <cassert>

namespace fettle::vta {

const char* name_of(Memory memory) {
  static constexpr const char* names[kMemories] = {"UOP", "WGT", "INP", "ACC", "OUT"};
  return names[static_cast<std::size_t>(memory)];
}

const char* name_of(Core core) { return core == Core::Fettle ? "fettle" : "vta-hls"; }

std::uint32_t Design::element_bytes(Memory memory) const {
  switch (memory) {
    case Memory::Uop:
      return 4;
    case Memory::Weight:
      return block_out * block_in * weight_bits / 8;
    case Memory::Input:
      return batch * block_in * input_bits / 8;
    case Memory::Accumulator:
      return batch * block_out * accumulator_bits / 8;
    case Memory::Output:
      return batch * block_out * output_bits / 8;
  }
  return 0;
}

std::uint32_t Design::depth(Memory memory) const { return bytes(memory) / element_bytes(memory); }

std::uint32_t Design::index_bits(Memory memory) const {
  return static_cast<std::uint32_t>(std::countr_zero(depth(memory)));
}

wire::Hash Design::identity() const {
  const std::string all = text();
  return content_hash({reinterpret_cast<const std::uint8_t*>(all.data()), all.size()});
}

const std::vector<Design>& designs() {
  struct File {
    const char *name, *text;
  };
  static constexpr File files[] = {
#include "fpga/designs.inc"
  };
  static const std::vector<Design> all = [] {
    std::vector<Design> parsed;
    for (const File& file : files) {
      Result<Design> design = parse_design(file.text, file.name);
      assert(design.ok());  // a test reads them all
      if (design) parsed.push_back(std::move(*design));
    }
    return parsed;
  }();
  return all;
}

Result<Design> find_design(std::string_view name) {
  std::string known;
  for (const Design& design : designs()) {
    if (design.name == name) return design;
    known += (known.empty() ? "" : ", ") + design.name;
  }
  return Error{ErrorCode::NotFound,
               "no accelerator design '" + std::string(name) + "' (there are " + known + ")"};
}

std::uint32_t user_access_of(const Design& design) {
  const wire::Hash identity = design.identity();
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | (*identity.bytes())[i];
  return value;
}

const Design* design_of_user_access(std::uint32_t user_access) {
  for (const Design& design : designs()) {
    if (user_access_of(design) == user_access) return &design;
  }
  return nullptr;
}

Result<void> check_identity(const Design& design, std::string_view name,
                            std::string_view identity) {
  const std::string own = to_hex(design.identity());
  if (identity == own) return {};
  return Error{ErrorCode::WrongConfiguration,
               "built for the accelerator design '" + std::string(name) + "' (" +
                   std::string(identity.substr(0, 12)) + "), but here is '" + design.name + "' (" +
                   own.substr(0, 12) + ")"};
}

std::string configuration_of(const Design& design) {
  return design.name + " " + to_hex(design.identity());
}

Result<void> check_configuration(const Design& design, std::string_view configuration) {
  const std::size_t space = configuration.rfind(' ');
  if (space == std::string_view::npos) return check_identity(design, configuration, "");
  return check_identity(design, configuration.substr(0, space), configuration.substr(space + 1));
}

}  // namespace fettle::vta

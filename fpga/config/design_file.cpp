// Reading and writing a design's file (design.h).
#include <bit>
#include <charconv>
#include <functional>
#include <optional>

#include "fpga/config/design.h"

namespace fettle::vta {
namespace {

// One line of the file: its name, and the number or the string behind it.
struct Field {
  std::string_view name;
  std::uint32_t Design::* number = nullptr;
  std::string Design::* string = nullptr;
  std::optional<Memory> memory = {};
};

constexpr std::string_view kCore = "core";
constexpr std::string_view kBitstream = "bitstream";  // the one field that may be missing

const std::vector<Field>& fields() {
  static const std::vector<Field> all = {
      {"name", nullptr, &Design::name},
      {kCore},
      {"die", nullptr, &Design::die},
      {"clock_khz", &Design::clock_khz},
      {"batch", &Design::batch},
      {"block_in", &Design::block_in},
      {"block_out", &Design::block_out},
      {"input_bits", &Design::input_bits},
      {"weight_bits", &Design::weight_bits},
      {"accumulator_bits", &Design::accumulator_bits},
      {"output_bits", &Design::output_bits},
      {"uop_bytes", nullptr, nullptr, Memory::Uop},
      {"weight_bytes", nullptr, nullptr, Memory::Weight},
      {"input_bytes", nullptr, nullptr, Memory::Input},
      {"accumulator_bytes", nullptr, nullptr, Memory::Accumulator},
      {"output_bytes", nullptr, nullptr, Memory::Output},
      {"command_queue_depth", &Design::command_queue_depth},
      {"token_queue_depth", &Design::token_queue_depth},
      {"hazard_steps", &Design::hazard_steps},
      {kBitstream, nullptr, &Design::bitstream},
  };
  return all;
}

template <typename DesignT>
auto& number_of(DesignT& design, const Field& field) {
  return field.memory ? design.memory_bytes[static_cast<std::size_t>(*field.memory)]
                      : design.*field.number;
}

bool is_number(const Field& field) { return field.number || field.memory; }

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string_view::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

// Empty, or what is wrong with the value.
std::string set(Design& design, const Field& field, std::string_view value) {
  const std::string name(field.name);
  if (is_number(field)) {
    std::uint32_t number = 0;
    const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (wrong != std::errc() || end != value.data() + value.size()) {
      return name + " is to be a number, not " + std::string(value);
    }
    number_of(design, field) = number;
    return "";
  }
  if (value.size() < 3 || value.front() != '"' || value.back() != '"') {
    return name + " is to be a \"string\"";
  }
  value = value.substr(1, value.size() - 2);
  if (value.find_first_of("\"\\") != std::string_view::npos) {
    return name + " may hold no quotes and no backslashes";
  }
  if (field.string) {
    design.*field.string = value;
    return "";
  }
  for (const Core core : {Core::Fettle, Core::VtaHls}) {
    if (value == name_of(core)) {
      design.core = core;
      return "";
    }
  }
  return "core is to be \"fettle\" or \"vta-hls\", not \"" + std::string(value) + "\"";
}

// Empty, or why the fields, each well formed, are no design.
std::string contradiction(const Design& design) {
  for (const Field& field : fields()) {
    if (!is_number(field)) continue;
    const std::uint32_t number = number_of(design, field);
    if (field.number == &Design::hazard_steps) {
      if (number > 16) return "hazard_steps is " + std::to_string(number) + ", too large";
      continue;
    }
    if (number == 0) return std::string(field.name) + " is 0";
    const bool any = field.number == &Design::clock_khz ||
                     field.number == &Design::command_queue_depth ||
                     field.number == &Design::token_queue_depth;
    if (!any && !std::has_single_bit(number)) {
      return std::string(field.name) + " is " + std::to_string(number) + ", no power of two";
    }
    // Products of the fields below must not overflow.
    if (field.memory ? number > (1u << 26) : !any && number > 256) {
      return std::string(field.name) + " is " + std::to_string(number) + ", too large";
    }
  }
  if (design.input_bits > 32 || design.weight_bits > 32 || design.accumulator_bits > 32 ||
      design.output_bits > 32) {
    return "numbers are of 32 bits at most";
  }
  for (std::size_t i = 0; i < kMemories; ++i) {
    const Memory memory = static_cast<Memory>(i);
    if (design.element_bytes(memory) == 0) {
      return std::string("an element of ") + name_of(memory) + " is less than a byte";
    }
    if (design.depth(memory) < 2) return std::string(name_of(memory)) + " holds too few elements";
    if (design.index_bits(memory) > 16) {
      return std::string(name_of(memory)) + " holds more elements than an instruction can name";
    }
  }
  if (design.depth(Memory::Output) != design.depth(Memory::Accumulator)) {
    return "OUT and ACC must hold as many elements: they share their indices";
  }
  if (design.core == Core::Fettle ? !design.bitstream.empty() : !hash_from_hex(design.bitstream)) {
    return design.core == Core::Fettle
               ? "a fettle core tells its identity: no bitstream is to be named"
               : "bitstream is to be the 64 hexadecimal digits of its hash: the core tells no "
                 "identity";
  }
  const std::uint32_t uop = design.index_bits(Memory::Uop), inp = design.index_bits(Memory::Input),
                      wgt = design.index_bits(Memory::Weight),
                      acc = design.index_bits(Memory::Accumulator);
  const auto too_wide = [](const std::string& what, std::uint32_t bits, std::uint32_t room) {
    return bits <= room
               ? ""
               : what + " needs " + std::to_string(bits) + " bits and has " + std::to_string(room);
  };
  for (const std::string& wrong : {
           too_wide("a micro-op", acc + std::max(acc, inp) + wgt, 32),
           too_wide("the first word of GEMM", 8 + 2 * uop + 1 + 2 * 14, 64),
           too_wide("the second word of GEMM", 2 * (acc + inp + wgt), 64),
           too_wide("the second word of ALU", 4 * acc + 20, 64),
       }) {
    if (!wrong.empty()) return wrong;
  }
  return "";
}

}  // namespace

Result<Design> parse_design(std::string_view text, const std::string& file_name) {
  Design design;
  std::vector<bool> seen(fields().size());
  int number = 0;
  const auto bad = [&](const std::string& what) {
    return Error{ErrorCode::InvalidArgument,
                 file_name + " line " + std::to_string(number) + ": " + what};
  };
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    bool quoted = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"') quoted = !quoted;
      if (line[i] == '#' && !quoted) line = line.substr(0, i);
    }
    line = trimmed(line);
    if (line.empty()) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return bad("expected name = value");
    const std::string_view name = trimmed(line.substr(0, equals));
    std::size_t at = 0;
    while (at < fields().size() && fields()[at].name != name) ++at;
    if (at == fields().size()) return bad("a design has no '" + std::string(name) + "'");
    if (seen[at]) return bad("'" + std::string(name) + "' a second time");
    seen[at] = true;
    const std::string wrong = set(design, fields()[at], trimmed(line.substr(equals + 1)));
    if (!wrong.empty()) return bad(wrong);
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!seen[i] && fields()[i].name != kBitstream) {
      return Error{ErrorCode::InvalidArgument, file_name + ": no " + std::string(fields()[i].name)};
    }
  }
  const std::string wrong = contradiction(design);
  if (!wrong.empty()) return Error{ErrorCode::InvalidArgument, file_name + ": " + wrong};
  return design;
}

std::string Design::text() const {
  std::string out;
  for (const Field& field : fields()) {
    if (field.name == kBitstream && bitstream.empty()) continue;
    out += std::string(field.name) + " = ";
    if (is_number(field)) {
      out += std::to_string(number_of(*this, field));
    } else {
      out += '"' + (field.string ? this->*field.string : std::string(vta::name_of(core))) + '"';
    }
    out += '\n';
  }
  return out;
}

}  // namespace fettle::vta

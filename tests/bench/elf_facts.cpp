// A reader of ELF headers, 32 and 64 bit, that trusts no offset.
#include "tests/bench/elf_facts.h"

#include <elf.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

namespace fettle::bench {
namespace {

using Bytes = std::vector<std::uint8_t>;

Error malformed(const char* what) {
  return {ErrorCode::Malformed, std::string("not a sound ELF program: ") + what, {}};
}

template <typename T>
std::optional<T> at(const Bytes& bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string text_at(const Bytes& bytes, std::uint64_t offset) {
  std::string text;
  for (; offset < bytes.size() && bytes[offset] != 0; ++offset)
    text += static_cast<char>(bytes[offset]);
  return text;
}

std::string machine_name(unsigned machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86_64";
    case EM_AARCH64:
      return "aarch64";
    case EM_ARM:
      return "armv7";
    default:
      return "machine " + std::to_string(machine);
  }
}

struct Elf32 {
  using Header = Elf32_Ehdr;
  using Segment = Elf32_Phdr;
  using Section = Elf32_Shdr;
  using Dynamic = Elf32_Dyn;
};
struct Elf64 {
  using Header = Elf64_Ehdr;
  using Segment = Elf64_Phdr;
  using Section = Elf64_Shdr;
  using Dynamic = Elf64_Dyn;
};

// File offset of a virtual address, by the loaded segments.
template <typename Elf>
std::optional<std::uint64_t> file_offset(const std::vector<typename Elf::Segment>& segments,
                                         std::uint64_t address) {
  for (const auto& s : segments) {
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_offset + (address - s.p_vaddr);
  }
  return std::nullopt;
}

template <typename Elf>
Result<void> read_needed(const Bytes& bytes, const std::vector<typename Elf::Segment>& segments,
                         const typename Elf::Segment& dynamic, ElfFacts& facts) {
  std::vector<std::uint64_t> names;
  std::uint64_t strings = 0;
  for (std::uint64_t i = 0; i < dynamic.p_filesz / sizeof(typename Elf::Dynamic); ++i) {
    const auto entry =
        at<typename Elf::Dynamic>(bytes, dynamic.p_offset + i * sizeof(typename Elf::Dynamic));
    if (!entry) return malformed("its dynamic section is cut off");
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
  }
  if (names.empty()) return {};
  const auto table = file_offset<Elf>(segments, strings);
  for (const std::uint64_t name : names)
    facts.needed.push_back(table ? text_at(bytes, *table + name) : "?");
  return {};
}

template <typename Elf>
Result<ElfFacts> parse(const Bytes& bytes) {
  ElfFacts facts;
  facts.file_bytes = facts.stripped_bytes = bytes.size();
  const auto header = at<typename Elf::Header>(bytes, 0);
  if (!header) return malformed("its header is cut off");
  facts.machine = machine_name(header->e_machine);
  std::vector<typename Elf::Segment> segments;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const auto segment = at<typename Elf::Segment>(
        bytes, header->e_phoff + std::uint64_t{i} * sizeof(typename Elf::Segment));
    if (!segment) return malformed("its program headers are cut off");
    segments.push_back(*segment);
  }
  if (segments.empty()) return malformed("it has no segments");
  for (const auto& segment : segments) {
    if (segment.p_type == PT_INTERP) facts.interpreter = true;
    if (segment.p_type != PT_DYNAMIC) continue;
    if (Result<void> read = read_needed<Elf>(bytes, segments, segment, facts); !read)
      return std::move(read).error();
  }
  const auto names = at<typename Elf::Section>(
      bytes, header->e_shoff + std::uint64_t{header->e_shstrndx} * sizeof(typename Elf::Section));
  for (unsigned i = 0; i < header->e_shnum && names; ++i) {
    const auto section = at<typename Elf::Section>(
        bytes, header->e_shoff + std::uint64_t{i} * sizeof(typename Elf::Section));
    if (!section) return malformed("its section headers are cut off");
    const std::string name = text_at(bytes, names->sh_offset + section->sh_name);
    if (name != ".symtab" && name != ".strtab" && !name.starts_with(".debug_")) continue;
    facts.stripped = false;
    if (section->sh_size <= facts.stripped_bytes) facts.stripped_bytes -= section->sh_size;
  }
  return facts;
}

}  // namespace

Result<ElfFacts> parse_elf(const Bytes& bytes) {
  if (bytes.size() < EI_NIDENT || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    return malformed("no ELF magic");
  if (bytes[EI_DATA] != ELFDATA2LSB) return malformed("not little-endian");
  if (bytes[EI_CLASS] == ELFCLASS32) return parse<Elf32>(bytes);
  if (bytes[EI_CLASS] == ELFCLASS64) return parse<Elf64>(bytes);
  return malformed("neither 32 nor 64 bit");
}

Result<ElfFacts> read_elf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{ErrorCode::Io, "'" + path + "' cannot be read: " + std::strerror(errno), {}};
  const Bytes bytes{std::istreambuf_iterator<char>(file), {}};
  Result<ElfFacts> facts = parse_elf(bytes);
  if (!facts) return std::move(facts).error().in("reading '" + path + "'");
  return facts;
}

}  // namespace fettle::bench

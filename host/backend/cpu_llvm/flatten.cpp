// An ELF shared object to the flat image that a board maps (program.fbs, CpuLayout).
#include "host/backend/cpu_llvm/flatten.h"

#include <cstring>
#include <map>
#include <set>

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELF.h>
#include <llvm/Support/Error.h>

namespace fettle::backend::cpu_llvm {
namespace {

constexpr std::uint64_t kDataAlignment = 65536;  // link.cpp's script

Error refused(std::string message) { return Error{ErrorCode::BuildError, std::move(message)}; }
Error unreadable(llvm::Error error) {
  return Error{ErrorCode::Internal, "linked image: " + llvm::toString(std::move(error))};
}

// One relative relocation: where, and what is added to base (RELA only).
struct Relative {
  std::uint64_t offset;
  std::optional<std::int64_t> addend;
};

template <typename Elf>
class Flattener {
 public:
  using File = llvm::object::ELFFile<Elf>;

  Flattener(const File& file, const space::CpuTarget& target) : file_(file), target_(target) {}

  Result<wire::ImageT> run(std::span<const std::string> entries) {
    image_.kind = wire::ImageKind::CpuImage;
    image_.cpu = std::make_unique<wire::CpuLayoutT>();
    image_.cpu->arch = target_.arch;
    auto sections = file_.sections();
    if (!sections) return unreadable(sections.takeError());
    for (const auto& section : *sections) {
      if (Result<void> done = place(section); !done) return std::move(done).error();
    }
    finish_layout();
    for (const auto& section : *sections) {
      if (Result<void> done = relocate(section); !done) return std::move(done).error();
      if (section.sh_type == llvm::ELF::SHT_DYNSYM) {
        if (Result<void> done = check_imports(section); !done) return std::move(done).error();
      }
      if (section.sh_type == llvm::ELF::SHT_SYMTAB) {
        if (Result<void> done = read_symbols(section); !done) return std::move(done).error();
      }
    }
    mark_code();
    for (const std::string& name : entries) {
      auto found = symbols_.find(name);
      if (found == symbols_.end())
        return Error{ErrorCode::Internal, "no entry " + name + " in the image"};
      auto entry = std::make_unique<wire::EntryPointT>();
      entry->name = name;
      entry->offset = found->second;
      image_.entries.push_back(std::move(entry));
    }
    return std::move(image_);
  }

 private:
  using Section = typename File::Elf_Shdr;

  std::string name_of(const Section& section) {
    auto name = file_.getSectionName(section);
    if (!name) {
      llvm::consumeError(name.takeError());
      return "?";
    }
    return name->str();
  }

  Result<void> place(const Section& section) {
    if ((section.sh_flags & llvm::ELF::SHF_ALLOC) == 0 || section.sh_size == 0) return {};
    static const std::set<std::string> kDynamic = {".dynsym",   ".hash",    ".gnu.hash", ".dynstr",
                                                   ".rela.dyn", ".rel.dyn", ".dynamic"};
    const std::string name = name_of(section);
    if (kDynamic.count(name) != 0) return {};
    const std::uint64_t end = section.sh_addr + section.sh_size;
    if ((section.sh_flags & llvm::ELF::SHF_EXECINSTR) != 0) {
      executable_.emplace_back(section.sh_addr, end);
    }
    if (name == ".text" || name == ".rodata") {
      image_.cpu->text_bytes = std::max<std::uint64_t>(image_.cpu->text_bytes, end);
    } else if (name == ".data" || name == ".bss") {
      if (data_begin_ == 0) data_begin_ = section.sh_addr;
      data_end_ = std::max(data_end_, end);
    } else {
      return refused("section " + name + " has no place in an image");
    }
    if (section.sh_type == llvm::ELF::SHT_NOBITS) return {};
    auto contents = file_.getSectionContents(section);
    if (!contents) return unreadable(contents.takeError());
    if (image_.bytes.size() < end) image_.bytes.resize(end);
    std::memcpy(image_.bytes.data() + section.sh_addr, contents->data(), contents->size());
    return {};
  }

  void finish_layout() {
    wire::CpuLayoutT& layout = *image_.cpu;
    const std::uint64_t text_end =
        (layout.text_bytes + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
    layout.data_offset = data_end_ == 0 ? text_end : data_begin_ / kDataAlignment * kDataAlignment;
    layout.memory_bytes = data_end_ == 0 ? layout.text_bytes : data_end_;
  }

  Result<void> relocate(const Section& section) {
    std::vector<Relative> relatives;
    if (section.sh_type == llvm::ELF::SHT_RELA) {
      auto relocations = file_.relas(section);
      if (!relocations) return unreadable(relocations.takeError());
      for (const auto& each : *relocations) {
        if (Result<void> ok = require_relative(each.getType(false)); !ok) return ok;
        relatives.push_back({each.r_offset, each.r_addend});
      }
    } else if (section.sh_type == llvm::ELF::SHT_REL) {
      auto relocations = file_.rels(section);
      if (!relocations) return unreadable(relocations.takeError());
      for (const auto& each : *relocations) {
        if (Result<void> ok = require_relative(each.getType(false)); !ok) return ok;
        relatives.push_back({each.r_offset, std::nullopt});
      }
    }
    for (const Relative& each : relatives) {
      const std::size_t word = sizeof(typename Elf::uint);
      if (each.offset < image_.cpu->data_offset || each.offset + word > image_.bytes.size()) {
        return refused("a relocation at " + std::to_string(each.offset) +
                       " lies outside the writable data");
      }
      if (each.addend) {
        const auto value = static_cast<typename Elf::uint>(*each.addend);
        std::memcpy(image_.bytes.data() + each.offset, &value, word);
      }
      image_.cpu->relocations.push_back(each.offset);
    }
    return {};
  }

  Result<void> require_relative(std::uint32_t type) {
    if (type == llvm::object::getELFRelativeRelocationType(file_.getHeader().e_machine)) return {};
    return refused("relocation " +
                   llvm::object::getELFRelocationTypeName(file_.getHeader().e_machine, type).str() +
                   " is not relative");
  }

  Result<void> check_imports(const Section& section) {
    auto symbols = file_.symbols(&section);
    if (!symbols) return unreadable(symbols.takeError());
    auto names = file_.getStringTableForSymtab(section);
    if (!names) return unreadable(names.takeError());
    for (const auto& symbol : symbols->drop_front()) {
      if (!symbol.isUndefined()) continue;
      auto name = symbol.getName(*names);
      if (!name) return unreadable(name.takeError());
      return refused("the image imports " + name->str());
    }
    return {};
  }

  Result<void> read_symbols(const Section& section) {
    auto symbols = file_.symbols(&section);
    if (!symbols) return unreadable(symbols.takeError());
    auto names = file_.getStringTableForSymtab(section);
    if (!names) return unreadable(names.takeError());
    for (const auto& symbol : *symbols) {
      if (symbol.isUndefined()) continue;
      auto name = symbol.getName(*names);
      if (!name) return unreadable(name.takeError());
      if (symbol.getType() == llvm::ELF::STT_FUNC) symbols_[name->str()] = symbol.st_value;
      if (target_.arch != "x86_64" && name->size() > 1 && name->starts_with("$")) {
        // Of an empty section of data, that lies where code begins, the mark says nothing.
        bool& code = marks_[symbol.st_value];
        code = code || (*name)[1] != 'd';
      }
    }
    return {};
  }

  // What is executable and not marked as data.
  void mark_code() {
    for (const auto& [begin, end] : executable_) {
      bool code = true;  // before the first mark: to be on the safe side
      std::uint64_t from = begin;
      for (auto mark = marks_.lower_bound(begin); mark != marks_.end() && mark->first < end;
           ++mark) {
        if (code && mark->first > from) image_.cpu->code.emplace_back(from, mark->first);
        from = mark->first;
        code = mark->second;
      }
      if (code) image_.cpu->code.emplace_back(from, end);
    }
  }

  const File& file_;
  const space::CpuTarget& target_;
  wire::ImageT image_;
  std::uint64_t data_begin_ = 0, data_end_ = 0;
  std::map<std::string, std::uint64_t> symbols_;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> executable_;  // sections: begin, end
  std::map<std::uint64_t, bool> marks_;  // address → instructions from here on
};

template <typename Elf>
Result<wire::ImageT> flatten_as(llvm::StringRef bytes, const space::CpuTarget& target,
                                std::span<const std::string> entries) {
  auto file = llvm::object::ELFFile<Elf>::create(bytes);
  if (!file) return unreadable(file.takeError());
  return Flattener<Elf>(*file, target).run(entries);
}

}  // namespace

Result<wire::ImageT> flatten(std::span<const std::uint8_t> shared_object,
                             const space::CpuTarget& target, std::span<const std::string> entries) {
  llvm::StringRef bytes(reinterpret_cast<const char*>(shared_object.data()), shared_object.size());
  if (target.arch == "armv7") return flatten_as<llvm::object::ELF32LE>(bytes, target, entries);
  return flatten_as<llvm::object::ELF64LE>(bytes, target, entries);
}

}  // namespace fettle::backend::cpu_llvm

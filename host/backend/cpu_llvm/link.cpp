// Objects to one ELF shared object, by lld inside this process.
#include "host/backend/cpu_llvm/link.h"

#include <cerrno>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include "host/backend/llvm_emit/pass_options.h"

LLD_HAS_DRIVER(elf)

namespace fettle::backend::cpu_llvm {
namespace {

// What flatten.cpp relies on: code and read-only data from 0, then writable data at
// the next multiple of 64 KiB, then what only a dynamic linker would read.
constexpr const char* kScript = R"(
SECTIONS {
  .text 0 : { *(.text .text.*) }
  .rodata : { *(.rodata .rodata.*) }
  . = ALIGN(0x10000);
  .data : { *(.data.rel.ro .data.rel.ro.* .data .data.*) *(.got) *(.got.plt) }
  .bss : { *(.bss .bss.* COMMON) }
  .dynsym ALIGN(0x10000) : { *(.dynsym) }
  .hash : { *(.hash) }
  .gnu.hash : { *(.gnu.hash) }
  .dynstr : { *(.dynstr) }
  .rela.dyn : { *(.rela.dyn) }
  .rel.dyn : { *(.rel.dyn) }
  .dynamic : { *(.dynamic) }
  /DISCARD/ : { *(.comment) *(.note*) *(.eh_frame*) *(.ARM.exidx*) *(.ARM.extab*) }
}
)";

// A file descriptor closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() { close(); }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  int get() const { return fd_; }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

Error system_error(const char* doing) {
  return Error{ErrorCode::Io, std::string(doing) + ": " + std::strerror(errno)};
}

Result<Descriptor> in_memory(const void* bytes, std::size_t size) {
  Descriptor file(::memfd_create("fettle-object", MFD_CLOEXEC));
  if (file.get() < 0) return system_error("memfd_create");
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t written = ::write(file.get(), from, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error("writing an object to memory");
    from += written;
    size -= static_cast<std::size_t>(written);
  }
  return file;
}

const char* emulation_of(const space::CpuTarget& target) {
  if (target.arch == "aarch64") return "aarch64linux";
  if (target.arch == "armv7") return "armelf_linux_eabi";
  return "elf_x86_64";
}

std::string first_line(const std::string& text) {
  const std::string prefix = "ld.lld: error: ";
  const std::size_t from = text.starts_with(prefix) ? prefix.size() : 0;
  return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

// lld writes regular files through a temporary one beside them, which /proc/self/fd
// does not allow; into a pipe it writes its memory buffer, so a thread reads one.
Result<std::vector<std::uint8_t>> link_shared_object(
    std::span<const std::span<const std::uint8_t>> objects, const space::CpuTarget& target) {
  const llvm_emit::PassOptions alone;  // lld keeps its state in globals, and sets LLVM's
  static bool broken = false;
  if (broken) return Error{ErrorCode::Internal, "lld crashed earlier in this process"};

  Result<Descriptor> script = in_memory(kScript, std::strlen(kScript));
  if (!script) return std::move(script).error();
  std::vector<Descriptor> inputs;
  for (std::span<const std::uint8_t> object : objects) {
    Result<Descriptor> input = in_memory(object.data(), object.size());
    if (!input) return std::move(input).error();
    inputs.push_back(std::move(*input));
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("pipe");
  Descriptor read_end(ends[0]), write_end(ends[1]);

  std::vector<std::string> words = {"ld.lld",
                                    "-m",
                                    emulation_of(target),
                                    "-shared",
                                    "-Bsymbolic",
                                    "--no-dynamic-linker",
                                    "--no-undefined",
                                    "--gc-sections",
                                    "--hash-style=sysv",
                                    "--build-id=none",
                                    "--orphan-handling=place",
                                    "--threads=1",
                                    "--color-diagnostics=never",
                                    "-z",
                                    "text",
                                    "-z",
                                    "max-page-size=65536",
                                    "-z",
                                    "norelro",
                                    "-T",
                                    script->path(),
                                    "-o",
                                    write_end.path()};
  for (const Descriptor& input : inputs) words.push_back(input.path());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());

  std::vector<std::uint8_t> image;
  std::thread reader([&image, fd = read_end.get()] {
    std::uint8_t chunk[65536];
    for (;;) {
      const ssize_t got = ::read(fd, chunk, sizeof chunk);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return;
      image.insert(image.end(), chunk, chunk + got);
    }
  });
  std::string said;
  llvm::raw_string_ostream out(said);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  const lld::Result result = lld::lldMain(arguments, out, out, drivers);
  write_end.close();
  reader.join();
  broken = !result.canRunAgain;
  if (result.retCode != 0) {
    return Error{broken ? ErrorCode::Internal : ErrorCode::BuildError, "lld: " + first_line(said)};
  }
  return image;
}

}  // namespace fettle::backend::cpu_llvm

// Checking, programming and recovering (programmed_logic.h).
#include "agent/fpga/programmed_logic.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "agent/fpga/file_write.h"
#include "agent/platform/owned_fd.h"
#include "schemas/wire/content_hash.h"

namespace fettle::agent {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;  // the largest die's has 17 MB

// What this boot has loaded: "HASH BOOT". Gone, or another boot's, after a start of the board.
constexpr const char* kFolder = "/run/fettle-fpga";
constexpr const char* kLoaded = "/run/fettle-fpga/loaded";

// FCLK0, which both designs run on, where the kernel shows it (the fclkcfg module).
constexpr const char* kClockEnabled = "/sys/class/fclkcfg/fclk0/enable";

std::string loaded_note(const SystemRoot& root, const wire::Hash& hash) {
  return to_hex(hash) + " " + root.text("/proc/sys/kernel/random/boot_id").value_or("");
}

Result<Bytes> read_file(const std::string& path) {
  const OwnedFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat facts{};
  if (!fd || fstat(fd.get(), &facts) != 0) {
    return Error{ErrorCode::NotFound, path + ": " + std::strerror(errno)};
  }
  if (!S_ISREG(facts.st_mode) || static_cast<std::uint64_t>(facts.st_size) > kMostBytes) {
    return Error{ErrorCode::InvalidArgument, path + ": no file, or one of more than " +
                                                 std::to_string(kMostBytes >> 20) + " MiB"};
  }
  Bytes bytes(static_cast<std::size_t>(facts.st_size));
  std::size_t at = 0;
  for (ssize_t n; at < bytes.size(); at += static_cast<std::size_t>(n)) {
    n = ::read(fd.get(), bytes.data() + at, bytes.size() - at);
    if (n <= 0) return Error{ErrorCode::Io, path + ": it ends while it is read"};
  }
  return bytes;
}

// A bitstream says which design it is in USR_ACCESS; VTA's own is known by its hash.
Result<void> check_design(const vta::Bitstream& bitstream, const wire::Hash& hash,
                          const vta::Design& wanted) {
  const vta::Design* found =
      bitstream.user_access ? vta::design_of_user_access(*bitstream.user_access) : nullptr;
  for (const vta::Design& design : vta::designs()) {
    if (!design.bitstream.empty() && design.bitstream == to_hex(hash)) found = &design;
  }
  if (found && found->name == wanted.name) return {};
  if (found) {
    return Error{ErrorCode::WrongConfiguration, "the bitstream is of the design " + found->name +
                                                    ", and here " + wanted.name + " is wanted"};
  }
  // Our cores tell their identity when they run.
  if (wanted.core == vta::Core::Fettle) return {};
  return Error{ErrorCode::WrongConfiguration, "the bitstream, of hash " +
                                                  to_hex(hash).substr(0, 16) +
                                                  "…, is not the one of the design " + wanted.name +
                                                  ", whose core cannot say what it is"};
}

}  // namespace

Result<CheckedBitstream> check_bitstream(const SystemRoot& root, const WantedLogic& wanted) {
  const auto file = read_file(root.path(wanted.file));
  if (!file) return file.error();
  const auto refused = [&](Error error) {
    error.message = wanted.file + ": " + error.message;
    return error;
  };
  const auto bitstream = vta::parse_bitstream(*file);
  if (!bitstream) return refused(bitstream.error());
  if (auto fits = vta::check_die(*bitstream, wanted.design.die); !fits) {
    return refused(fits.error());
  }
  const wire::Hash hash = vta::hash_of(*bitstream);
  if (auto same = check_design(*bitstream, hash, wanted.design); !same) {
    return refused(same.error());
  }
  auto bin = vta::to_bin(*bitstream);
  if (!bin) return refused(bin.error());
  return CheckedBitstream{hash, std::move(*bin)};
}

Result<ProgrammedLogic> ProgrammedLogic::open(const SystemRoot& root, WantedLogic wanted,
                                              const CheckedBitstream& bitstream, MapRegisters map) {
  auto manager = FpgaManager::find(root);
  if (!manager) return std::move(manager).error();
  ProgrammedLogic out(root, std::move(wanted), std::move(*manager), std::move(map));
  out.hash_ = bitstream.hash;
  const std::string note = loaded_note(root, bitstream.hash);
  // Somebody else may have programmed it since, and only our cores can say that they are there.
  const bool noted = out.wanted_.design.core == vta::Core::Fettle && out.manager_.operating() &&
                     root.text(kLoaded) == note;
  if (noted) {
    // Where no core answers, touching it ends this process: the next one has no note of it.
    ::unlink(root.path(kLoaded).c_str());
    if (out.find_core()) {
      if (auto kept = write_file(root.path(kLoaded), note); !kept) return std::move(kept).error();
      return out;
    }
  }
  if (auto programmed = out.program(bitstream); !programmed) return std::move(programmed).error();
  return out;
}

// What was noted to be loaded is not any more from the first moment on.
Result<void> ProgrammedLogic::program(const CheckedBitstream& bitstream) {
  registers_.reset();
  ::unlink(root_.path(kLoaded).c_str());
  if (auto programmed = manager_.program(bitstream.bin); !programmed) return programmed;
  ++programmings_;
  if (auto found = find_core(); !found) return found;
  if (auto made = make_folder(root_.path(kFolder)); !made) return made;
  return write_file(root_.path(kLoaded), loaded_note(root_, bitstream.hash));
}

// Only while the PL is operating.
Result<void> ProgrammedLogic::find_core() {
  if (root_.number(kClockEnabled) == 0) {
    return Error{ErrorCode::Io, "the programmable logic's clock FCLK0 is off"};
  }
  const vta::RegisterMap& map = vta::register_map(wanted_.design.core);
  auto window = map_(root_, map.base, map.bytes);
  if (!window) return std::move(window).error();
  VtaRegisters registers(wanted_.design, std::move(*window));
  if (auto same = registers.identify(); !same) return same;
  registers_.emplace(std::move(registers));
  return {};
}

Result<std::uint64_t> ProgrammedLogic::run(std::uint32_t address, std::uint32_t count,
                                           std::uint64_t limit, const VtaRegisters::Watch& watch) {
  if (!registers_ || !manager_.operating()) {
    const Error lost{ErrorCode::DeviceLost, "the programmable logic is not programmed any more"};
    const Error error = recovered(lost);
    if (!registers_) return error;
  }
  auto ran = registers_->run(address, count, limit, [&]() -> Result<void> {
    if (manager_.operating()) return watch();
    return Error{ErrorCode::DeviceLost,
                 "the programmable logic left the state 'operating' while "
                 "a stream ran: it is '" +
                     manager_.state() + "'"};
  });
  if (!ran) return recovered(std::move(ran).error());
  return ran;
}

// A core that was lost, or does not stop, is programmed again; the note of what is loaded does not
// count for it.
Error ProgrammedLogic::recovered(Error error) {
  if (error.code != ErrorCode::DeviceLost && registers_ && registers_->stop() &&
      registers_->identify()) {
    error.message += "; it was stopped";
    return error;
  }
  registers_.reset();
  const auto bitstream = check_bitstream(root_, wanted_);
  Result<void> again;
  if (!bitstream) {
    again = bitstream.error();
  } else if (to_hex(bitstream->hash) != to_hex(hash_)) {
    again = Error{ErrorCode::WrongConfiguration, wanted_.file + " is another bitstream now"};
  } else {
    again = program(*bitstream);
  }
  error.message += again ? "; the programmable logic was programmed again"
                         : "; programming the logic again failed: " + again.error().text();
  return error;
}

}  // namespace fettle::agent

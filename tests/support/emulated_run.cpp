// Runs a CPU program of a foreign architecture under qemu-user.
#include "tests/support/emulated_run.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/emulator.h"

extern char** environ;

namespace fettle::testing {
namespace {

// Empty where there is none, or nothing to run it with.
std::string runner_for(const std::string& arch) {
#ifdef FETTLE_RUNNER_ARMV7
  if (arch == "armv7") return FETTLE_RUNNER_ARMV7;
#endif
#ifdef FETTLE_RUNNER_AARCH64
  if (arch == "aarch64") return FETTLE_RUNNER_AARCH64;
#endif
  return {};
}

class Writer {
 public:
  void word(std::uint64_t value) { raw(&value, sizeof value); }
  void raw(const void* from, std::size_t count) {
    const auto* begin = static_cast<const std::uint8_t*>(from);
    bytes.insert(bytes.end(), begin, begin + count);
  }
  std::vector<std::uint8_t> bytes;
};

}  // namespace

std::string emulation_missing(const std::string& arch) {
  if (!runner_for(arch).empty()) return "";
  return "no cross compiler or qemu-user for " + arch + " was found when this was built";
}

Result<std::vector<std::uint8_t>> converse(const Emulator& emulator,
                                           const std::vector<std::string>& command,
                                           const std::vector<std::uint8_t>& input) {
  int to_child[2], from_child[2];
  if (::pipe2(to_child, O_CLOEXEC) != 0 || ::pipe2(from_child, O_CLOEXEC) != 0) {
    return Error{ErrorCode::Io, std::strerror(errno)};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_child[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from_child[1], 1);
  std::signal(SIGPIPE, SIG_IGN);  // an emulator that dies is told by its status
  std::vector<char*> arguments = {const_cast<char*>(emulator.program.c_str())};
  for (const auto* part : {&emulator.options, &command}) {
    for (const std::string& word : *part) arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t child = 0;
  const int started =
      ::posix_spawn(&child, emulator.program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(to_child[0]);
  ::close(from_child[1]);
  std::vector<std::uint8_t> output;
  if (started == 0) {
    std::thread feeder([&] {
      for (std::size_t done = 0; done < input.size();) {
        const ssize_t written = ::write(to_child[1], input.data() + done, input.size() - done);
        if (written <= 0) break;
        done += static_cast<std::size_t>(written);
      }
      ::close(to_child[1]);
    });
    std::uint8_t chunk[65536];
    for (ssize_t got; (got = ::read(from_child[0], chunk, sizeof chunk)) > 0;) {
      output.insert(output.end(), chunk, chunk + got);
    }
    feeder.join();
  } else {
    ::close(to_child[1]);
  }
  ::close(from_child[0]);
  if (started != 0) return Error{ErrorCode::Io, emulator.program + ": " + std::strerror(started)};
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status))
    return Error{ErrorCode::Crash, "signal " + std::to_string(WTERMSIG(status))};
  if (WEXITSTATUS(status) != 0)
    return Error{ErrorCode::Crash, "exit status " + std::to_string(WEXITSTATUS(status))};
  return output;
}

Result<BufferBytes> run_emulated(const wire::ProgramT& program, int threads,
                                 const std::optional<Emulator>& emulator) {
  Result<BufferBytes> buffers = filled_buffers(program);
  if (!buffers) return buffers;
  const wire::ImageT& image = *program.images.at(0);
  const wire::CpuLayoutT& layout = *image.cpu;
  Writer out;
  out.word(layout.text_bytes), out.word(layout.data_offset), out.word(layout.memory_bytes);
  out.word(image.bytes.size()), out.raw(image.bytes.data(), image.bytes.size());
  out.word(layout.relocations.size());
  for (std::uint64_t offset : layout.relocations) out.word(offset);
  out.word(program.buffers.size());
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    out.word(program.buffers[i]->alignment);
    out.word((*buffers)[i].size()), out.raw((*buffers)[i].data(), (*buffers)[i].size());
  }
  out.word(program.launches.size());
  for (wire::Phase phase : {wire::Phase::Prepare, wire::Phase::Run}) {
    for (const auto& launch : program.launches) {
      if (launch->phase != phase) continue;
      out.word(image.entries[launch->entry]->offset);
      out.word(launch->parallel_extent), out.word(static_cast<std::uint64_t>(threads));
      out.word(launch->args.size());
      for (const wire::Arg& arg : launch->args) out.word(arg.buffer());
    }
  }
  Result<std::vector<std::uint8_t>> all =
      converse(emulator.value_or(Emulator{emulator_of(layout.arch), {}}), {runner_for(layout.arch)},
               out.bytes);
  if (!all) return std::move(all).error();
  std::size_t at = 0;
  for (auto& bytes : *buffers) {
    if (at + bytes.size() > all->size())
      return Error{ErrorCode::Internal, "image_runner gave too few bytes"};
    std::copy_n(all->begin() + static_cast<std::ptrdiff_t>(at), bytes.size(), bytes.begin());
    at += bytes.size();
  }
  return buffers;
}

}  // namespace fettle::testing

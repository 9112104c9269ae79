// Runs a CPU program in this process, as an agent's worker would, without its guards.
#include "tests/support/native_run.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/mman.h>

#include "host/backend/cpu_llvm/host_cpu.h"
#include "schemas/fill/fill.h"

namespace fettle::testing {
namespace {

constexpr std::size_t kGuard = 4096;
constexpr std::uint8_t kGuardByte = 0x5A;

using Entry = void (*)(void* const*, std::int32_t, std::int32_t, std::int32_t);

Error refused(std::string message) { return Error{ErrorCode::LoadError, std::move(message)}; }

}  // namespace

space::CpuTarget native_target() { return backend::cpu_llvm::host_target(); }

space::CpuTarget aarch64_target() {
  space::CpuTarget target;
  target.arch = "aarch64";
  target.triple = "aarch64-unknown-linux-gnu";
  target.cpu = "cortex-a72";
  target.vector_bits = 128;
  target.vector_registers = 32;
  target.fma = true;
  target.caches = {{1, 32768, 64, 1}, {2, 1048576, 64, 2}};
  return target;
}

space::CpuTarget armv7_target() {
  space::CpuTarget target;
  target.arch = "armv7";
  target.triple = "armv7-unknown-linux-gnueabihf";
  target.cpu = "cortex-a9";
  target.vector_bits = 128;
  target.vector_registers = 16;
  target.fma = false;
  target.caches = {{1, 32768, 32, 1}, {2, 524288, 32, 2}};
  return target;
}

Result<BufferBytes> filled_buffers(const wire::ProgramT& program) {
  BufferBytes all;
  for (const auto& buffer : program.buffers) {
    std::vector<std::uint8_t> bytes(buffer->bytes, 0);
    if (buffer->role == wire::BufferRole::Output) {
      std::fill(bytes.begin(), bytes.end(), 0xFF);
    } else if (buffer->fill && buffer->fill->kind != wire::FillKind::Zero) {
      if (Result<void> filled = fill_bytes(*buffer->fill, bytes); !filled)
        return std::move(filled).error();
    }
    all.push_back(std::move(bytes));
  }
  return all;
}

NativeProgram::NativeProgram(NativeProgram&& other) noexcept
    : program_(other.program_),
      images_(std::move(other.images_)),
      storage_(std::move(other.storage_)),
      buffers_(std::move(other.buffers_)) {
  other.images_.clear();
}

NativeProgram::~NativeProgram() {
  for (auto& [at, bytes] : images_) ::munmap(at, bytes);
}

Result<NativeProgram> NativeProgram::load(const wire::ProgramT& program) {
  NativeProgram loaded;
  loaded.program_ = &program;
  for (const auto& image : program.images) {
    const wire::CpuLayoutT& layout = *image->cpu;
    const std::size_t bytes = std::max<std::size_t>(layout.memory_bytes, 1);
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return refused(std::strerror(errno));
    loaded.images_.emplace_back(base, bytes);
    std::memcpy(base, image->bytes.data(), image->bytes.size());
    for (std::uint64_t offset : layout.relocations) {
      std::uint64_t word = 0;
      std::memcpy(&word, static_cast<char*>(base) + offset, sizeof word);
      word += reinterpret_cast<std::uint64_t>(base);
      std::memcpy(static_cast<char*>(base) + offset, &word, sizeof word);
    }
    if (::mprotect(base, layout.text_bytes, PROT_READ | PROT_EXEC) != 0)
      return refused(std::strerror(errno));
  }
  Result<BufferBytes> contents = filled_buffers(program);
  if (!contents) return std::move(contents).error();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const std::size_t alignment = std::max<std::size_t>(program.buffers[i]->alignment, 64);
    std::vector<std::uint8_t> storage((*contents)[i].size() + 2 * kGuard + alignment, kGuardByte);
    const auto first = reinterpret_cast<std::uintptr_t>(storage.data()) + kGuard;
    const std::uintptr_t aligned = (first + alignment - 1) / alignment * alignment;
    auto* at = storage.data() + (aligned - reinterpret_cast<std::uintptr_t>(storage.data()));
    std::copy((*contents)[i].begin(), (*contents)[i].end(), at);
    loaded.storage_.push_back(std::move(storage));
    loaded.buffers_.push_back(at);
  }
  return loaded;
}

std::vector<std::uint8_t> NativeProgram::contents(std::size_t index) const {
  const std::uint8_t* from = buffers_[index];
  return {from, from + program_->buffers[index]->bytes};
}

bool NativeProgram::damaged() const {
  auto guard = [](std::uint8_t byte) { return byte == kGuardByte; };
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::uint8_t* begin = buffers_[i];
    const std::uint8_t* end = begin + program_->buffers[i]->bytes;
    const std::uint8_t* last = storage_[i].data() + storage_[i].size();
    if (!std::all_of(static_cast<const std::uint8_t*>(storage_[i].data()), begin, guard))
      return true;
    if (!std::all_of(end, last, guard)) return true;
  }
  return false;
}

void NativeProgram::run(wire::Phase phase, int threads) {
  for (const auto& launch : program_->launches) {
    if (launch->phase != phase) continue;
    const wire::ImageT& image = *program_->images[launch->image];
    auto* base = static_cast<char*>(images_[launch->image].first);
    auto entry = reinterpret_cast<Entry>(base + image.entries[launch->entry]->offset);
    std::vector<void*> args;
    for (const wire::Arg& arg : launch->args) args.push_back(buffers_[arg.buffer()] + arg.offset());
    const auto extent = static_cast<std::int64_t>(launch->parallel_extent);
    for (int thread = 0; thread < threads; ++thread) {
      const auto begin = static_cast<std::int32_t>(extent * thread / threads);
      const auto end = static_cast<std::int32_t>(extent * (thread + 1) / threads);
      if (begin < end) entry(args.data(), begin, end, thread);
    }
  }
}

Result<BufferBytes> run_natively(const wire::ProgramT& program, int threads) {
  Result<NativeProgram> loaded = NativeProgram::load(program);
  if (!loaded) return std::move(loaded).error();
  loaded->run(wire::Phase::Prepare, threads);
  loaded->run(wire::Phase::Run, threads);
  if (loaded->damaged()) return Error{ErrorCode::StrayWrite, "a launch wrote outside its buffers"};
  BufferBytes all;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) all.push_back(loaded->contents(i));
  return all;
}

}  // namespace fettle::testing

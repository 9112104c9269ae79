// Our own bounds on programs and measure options, beyond what FlatBuffers verifies.
#include <algorithm>
#include <cmath>
#include <string>

#include "schemas/wire/check_launch.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/limits.h"

namespace fettle {
namespace {

Error bad(std::string what) { return {ErrorCode::Malformed, std::move(what)}; }
Error large(std::string what) { return {ErrorCode::TooLarge, std::move(what)}; }

Result<void> check_cpu_image(const wire::ImageT& image, const std::string& where) {
  if (!image.cpu) return bad(where + " has no CPU layout");
  const auto& cpu = *image.cpu;
  if (cpu.memory_bytes > limits::kImageBytes) return large(where + " is too large in memory");
  if (image.bytes.size() > cpu.memory_bytes) return bad(where + " has more bytes than memory");
  if (cpu.text_bytes > cpu.memory_bytes) return bad(where + " has text beyond its memory");
  if (cpu.memory_bytes > cpu.text_bytes &&
      (cpu.data_offset < cpu.text_bytes || cpu.data_offset % 65536 != 0 ||
       cpu.data_offset > cpu.memory_bytes)) {
    return bad(where + " has data that is not placed behind its text on a 64 KiB boundary");
  }
  const std::uint64_t word = cpu.arch == "armv7" ? 4 : 8;
  for (std::uint64_t offset : cpu.relocations) {
    if (offset % word != 0 || offset > cpu.memory_bytes || cpu.memory_bytes - offset < word) {
      return bad(where + " has a relocation outside of it");
    }
  }
  std::uint64_t after = 0;
  for (const wire::CodeRange& range : cpu.code) {
    if (range.begin() < after || range.end() < range.begin() || range.end() > cpu.text_bytes) {
      return bad(where + " has a code range outside its text or out of order");
    }
    after = range.end();
  }
  // Memory behind the bytes is zero: no code begins there. Where they are a blob, whoever has it
  // looks.
  const std::uint64_t bytes = image.bytes.empty() ? cpu.text_bytes : image.bytes.size();
  for (const auto& entry : image.entries) {
    if (entry->offset >= std::min(cpu.text_bytes, bytes)) {
      return bad(where + ": entry '" + entry->name + "' lies outside its text");
    }
  }
  return {};
}

// Streams one behind the other, as EntryPoint says.
Result<void> check_vta_image(const wire::ImageT& image, const std::string& where) {
  if (image.configuration.empty()) {
    return bad(where + " does not say which accelerator it is for");
  }
  if (image.bytes.size() % limits::kVtaInstructionBytes != 0) {
    return bad(where + " ends within an instruction");
  }
  const std::size_t most = image.bytes.empty() ? limits::kImageBytes : image.bytes.size();
  for (std::size_t i = 0; i < image.entries.size(); ++i) {
    const auto& entry = image.entries[i];
    if (!entry) return bad(where + " has an absent entry");
    const bool follows = i == 0 ? entry->offset == 0 : entry->offset > image.entries[i - 1]->offset;
    if (entry->offset % limits::kVtaInstructionBytes != 0 || entry->offset >= most || !follows) {
      return bad(where + ": entry '" + entry->name +
                 "' does not begin with an instruction behind the entry before it");
    }
  }
  return {};
}

// Fields that mean something for some kinds only are absent in the others.
Result<void> check_image_fields(const wire::ImageT& image, const std::string& where) {
  using wire::ImageKind;
  const ImageKind kind = image.kind;
  if (image.cpu && kind != ImageKind::CpuImage) {
    return bad(where + " has a CPU's layout and is none");
  }
  if (!image.build_options.empty() && kind != ImageKind::OpenClSource) {
    return bad(where + " has options of a compiler that it does not need");
  }
  if (!image.configuration.empty() && kind != ImageKind::Bitstream &&
      kind != ImageKind::VtaStream) {
    return bad(where + " has an accelerator's configuration and is for none");
  }
  for (const auto& entry : image.entries) {
    if (!entry || entry->name.empty()) return bad(where + " has an entry without a name");
    const bool placed =
        kind == ImageKind::CpuImage || kind == ImageKind::VtaStream || kind == ImageKind::Extension;
    if (entry->offset != 0 && !placed) {
      return bad(where + ": entry '" + entry->name + "' has an offset, but goes by its name");
    }
  }
  // Drivers take text up to its first zero: what is behind one was never compiled.
  const bool text = kind == ImageKind::Ptx || kind == ImageKind::OpenClSource;
  const auto zero = std::find(image.bytes.begin(), image.bytes.end(), 0);
  if (text && zero != image.bytes.end() && zero + 1 != image.bytes.end()) {
    return bad(where + " is text with a zero in it");
  }
  return {};
}

}  // namespace

Result<void> check_program(const wire::ProgramT& program) {
  if (program.buffers.size() > limits::kBuffers) return large("too many buffers");
  if (program.launches.size() > limits::kLaunches) return large("too many launches");
  if (program.launches.empty()) return bad("program without launches");
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const auto& buffer = program.buffers[i];
    const std::string where = "buffer " + std::to_string(i);
    if (!buffer) return bad(where + " is absent");
    if (buffer->bytes == 0) return bad(where + " is empty");
    if (buffer->role > wire::BufferRole::MAX) return bad(where + " has an unknown role");
    if (buffer->bytes > limits::kBufferBytes) return large(where + " is too large");
    total += buffer->bytes;
    if (total > limits::kBufferBytes * 4) return large("the program's buffers are too large");
    const std::uint32_t align = buffer->alignment;
    if (align == 0 || (align & (align - 1)) != 0 || align > limits::kAlignment) {
      return bad(where + " has an alignment that is no power of two up to 2 MiB");
    }
    if (buffer->fill) {
      const auto& fill = *buffer->fill;
      if (fill.kind > wire::FillKind::MAX || fill.dtype > wire::ScalarType::MAX) {
        return bad(where + " has a fill of an unknown kind");
      }
      if (fill.kind == wire::FillKind::Blob && !fill.blob == fill.bytes.empty()) {
        return bad(where + " needs either a blob or its bytes");
      }
      if (!fill.bytes.empty() &&
          (fill.kind != wire::FillKind::Blob || fill.bytes.size() != buffer->bytes)) {
        return bad(where + " comes with bytes that are not its own");
      }
      if (!std::isfinite(fill.low) || !std::isfinite(fill.high) || fill.low > fill.high) {
        return bad(where + " is filled from an empty range");
      }
    }
  }
  for (std::size_t i = 0; i < program.images.size(); ++i) {
    const auto& image = program.images[i];
    const std::string where = "image " + std::to_string(i);
    if (!image) return bad(where + " is absent");
    if (image->kind > wire::ImageKind::MAX) return bad(where + " is of an unknown kind");
    if (image->bytes.size() > limits::kImageBytes) return large(where + " is too large");
    if (image->bytes.empty() && !image->blob) return bad(where + " has neither bytes nor a hash");
    if (image->kind == wire::ImageKind::CpuImage) {
      if (auto checked = check_cpu_image(*image, where); !checked) return checked;
    }
    if (image->kind == wire::ImageKind::VtaStream) {
      if (auto checked = check_vta_image(*image, where); !checked) return checked;
    }
    if (auto checked = check_image_fields(*image, where); !checked) return checked;
  }
  for (std::size_t i = 0; i < program.launches.size(); ++i) {
    const auto& launch = program.launches[i];
    const std::string where = "launch " + std::to_string(i);
    if (!launch) return bad(where + " is absent");
    if (auto checked = check_launch(program, *launch, where); !checked) return checked;
  }
  return {};
}

Result<void> check_options(const wire::MeasureOptionsT& options) {
  auto finite = [](double value, double most) { return value >= 0 && value <= most; };
  if (options.number > limits::kNumber) return large("number of runs per sample");
  if (options.repeat == 0 || options.repeat > limits::kSamples) return bad("repeat out of range");
  if (options.timeout_ms == 0 || options.timeout_ms > limits::kTimeoutMs) {
    return bad("timeout out of range");
  }
  if (options.warmup_runs > limits::kNumber || options.retakes > limits::kSamples) {
    return bad("warm-up runs or retakes out of range");
  }
  if (options.threads == 0 || options.threads > 1024) return bad("threads out of range");
  if (options.read_bytes > limits::kPieceBytes) return large("number of bytes to read");
  if (options.repeat * sizeof(wire::Sample) + options.read_bytes > limits::kOutcomeBytes) {
    return large("what the samples and the bytes to read take in one answer");
  }
  if (!finite(options.min_repeat_ms, 60'000) || !finite(options.relative_interval, 1) ||
      !finite(options.racing_bound_ns, 1e15) || options.cooldown_ms > 60'000) {
    return bad("a measure option is negative, NaN or too large");
  }
  return {};
}

}  // namespace fettle

// Loading and running programs (loaded_program.h).
#include "runtime/loaded_program.h"

#include <string>

#include "runtime/weights.h"

namespace fettle::runtime {
namespace {

const Kind* kind_of(std::span<const Kind> kinds, wire::ImageKind image) {
  for (const Kind& kind : kinds) {
    if (kind.image == image) return &kind;
  }
  return nullptr;
}

// By buffer: whether a Prepare launch is given it.
std::vector<bool> prepared_buffers(const wire::ProgramT& program) {
  std::vector<bool> prepared(program.buffers.size());
  for (const auto& launch : program.launches) {
    if (launch->phase != wire::Phase::Prepare) continue;
    for (const wire::Arg& arg : launch->args) {
      if (arg.kind() == wire::ArgKind::Buffer) prepared[arg.buffer()] = true;
    }
    for (const wire::Relocation& each : launch->relocations) prepared[each.buffer()] = true;
  }
  return prepared;
}

}  // namespace

Result<LoadedProgram> LoadedProgram::load(const wire::ProgramT& program, Memory& memory,
                                          std::span<const Kind> kinds, const BlobLookup& blobs,
                                          std::uint32_t weight_copies) {
  LoadedProgram out(memory);
  out.weight_copies_ = weight_copies;
  const std::vector<bool> weights = weights_of(program);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    auto taken = memory.take_copies(*program.buffers[i], blobs, weights[i] ? weight_copies : 1);
    if (!taken) {
      return std::move(taken).error().in("allocating " + name_of(program, i));
    }
    out.buffers_.push_back(std::move(*taken));
  }
  std::vector<const Kind*> kind_of_image;
  for (const auto& image : program.images) {
    const Kind* kind = kind_of(kinds, image->kind);
    if (!kind) {
      return Error{ErrorCode::Unsupported,
                   std::string("this device cannot load an image of kind ") +
                       wire::EnumNameImageKind(image->kind)};
    }
    ByteView bytes(image->bytes);
    if (bytes.empty()) bytes = blobs(*image->blob);
    if (bytes.empty()) return Error{ErrorCode::MissingBlob, "no blob for an image"};
    auto loaded = kind->loader.load(*image, bytes);
    if (!loaded) return std::move(loaded).error();
    out.images_.push_back(std::move(*loaded));
    kind_of_image.push_back(kind);
  }
  for (const auto& launch : program.launches) {
    const bool timed = launch->phase == wire::Phase::Run;
    auto added =
        out.append(timed ? out.run_ : out.prepare_, *kind_of_image[launch->image], *launch);
    if (!added) return std::move(added).error();
    out.run_launches_ += timed ? 1 : 0;
  }
  if (out.run_.empty()) {
    return Error{ErrorCode::InvalidArgument, "the program has no launch to time"};
  }
  const std::vector<bool> prepared = prepared_buffers(program);
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const wire::BufferT& buffer = *program.buffers[i];
    if (buffer.role != wire::BufferRole::Output || prepared[i]) continue;
    out.poisons_.push_back({i, unwritten_byte(buffer)});
  }
  return out;
}

LoadedProgram::~LoadedProgram() {
  run_.clear();
  prepare_.clear();
  for (auto& buffer : buffers_) memory_->give_back(std::move(buffer));
}

Result<void> LoadedProgram::append(std::vector<Part>& parts, const Kind& kind,
                                   const wire::LaunchT& launch) {
  if (parts.empty() || parts.back().kind != kind.image) {
    parts.push_back({kind.image, kind.executor.make_series(), 0});
  }
  ++parts.back().launches;
  return parts.back().series->add(launch, *images_[launch.image], buffers_);
}

// Each part so many times, before the next.
Result<std::uint64_t> LoadedProgram::run_parts(std::vector<Part>& parts, std::uint32_t times,
                                               std::span<std::uint64_t> launch_ticks) {
  std::uint64_t ticks = 0;
  for (Part& part : parts) {
    const std::size_t of_part = launch_ticks.empty() ? 0 : part.launches;
    const auto ran = part.series->run(times, launch_ticks.first(of_part));
    if (!ran) return ran.error();
    ticks += *ran;
    launch_ticks = launch_ticks.subspan(of_part);
  }
  return ticks;
}

Result<std::uint64_t> LoadedProgram::prepare() { return run_parts(prepare_, weight_copies_, {}); }

Result<std::uint64_t> LoadedProgram::run(std::uint32_t times,
                                         std::span<std::uint64_t> launch_ticks) {
  // Of one kind, as almost always: nothing of ours stands between the runs.
  if (run_.size() == 1) return run_.front().series->run(times, launch_ticks);
  std::uint64_t ticks = 0;
  for (std::uint32_t i = 0; i < times; ++i) {
    const auto ran = run_parts(run_, 1, launch_ticks);
    if (!ran) return ran.error();
    ticks += *ran;
  }
  return ticks;
}

Result<void> LoadedProgram::poison_outputs() {
  for (const Poison& poison : poisons_) {
    if (auto done = buffers_[poison.buffer]->set(poison.byte); !done) return done;
  }
  return {};
}

std::string name_of(const wire::ProgramT& program, std::size_t buffer) {
  const wire::BufferT& at = *program.buffers[buffer];
  return std::string(wire::EnumNameBufferRole(at.role)) + " buffer " +
         (at.name.empty() ? std::to_string(buffer) : "'" + at.name + "'");
}

}  // namespace fettle::runtime

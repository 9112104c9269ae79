// Each buffer is in the workspace, a parameter or a constant (program_library.h).
#include "host/network/program_library.h"

#include <algorithm>
#include <cstring>
#include <optional>

namespace fettle::network {
namespace {

using backend::LibraryCall;
using backend::LibraryFunction;
using backend::LibraryPlace;
using backend::StaticLibrary;

class LibraryWriter {
 public:
  LibraryWriter(const wire::ProgramT& program, const BlobLookup& blobs, const std::string& name,
                const LibraryParameters& parameters)
      : program_(program), blobs_(blobs), parameters_(parameters) {
    library_.name = name;
  }

  Result<ProgramLibrary> run() {
    init_.name = library_.name + "_init";
    run_.name = library_.name + "_run";
    for (const auto& image : program_.images) {
      if (auto added = add_image(*image); !added) return std::move(added).error();
    }
    init_.alignments.assign(parameters_.init.size(), parameters_.alignment);
    run_.alignments.assign(parameters_.run.size(), parameters_.alignment);
    for (std::uint32_t b = 0; b < program_.buffers.size(); ++b) {
      if (auto placed = place(b); !placed) return std::move(placed).error();
    }
    for (const auto& launch : program_.launches) {
      if (auto added = add_call(*launch); !added) return std::move(added).error();
    }
    library_.functions = {std::move(init_), std::move(run_)};
    return ProgramLibrary{std::move(library_), std::move(scalars_), constant_bytes_};
  }

 private:
  Result<void> add_image(const wire::ImageT& image) {
    if (image.kind != wire::ImageKind::CpuImage) {
      return Error{ErrorCode::Unsupported, std::string("a C library holds a CPU's code, not a ") +
                                               wire::EnumNameImageKind(image.kind)};
    }
    const ByteView bytes = image.bytes.empty() ? blobs_(*image.blob) : ByteView(image.bytes);
    if (bytes.empty()) return Error{ErrorCode::MissingBlob, "no bytes of an image"};
    library_.images.push_back({&image, bytes});
    return {};
  }

  LibraryPlace add_constant(ByteView bytes, std::uint32_t alignment) {
    library_.constants.push_back({bytes, alignment});
    return {LibraryPlace::In::Constant, static_cast<std::uint32_t>(library_.constants.size() - 1),
            0};
  }

  static std::optional<std::uint32_t> index_in(const std::vector<std::uint32_t>& list,
                                               std::uint32_t buffer) {
    const auto at = std::find(list.begin(), list.end(), buffer);
    if (at == list.end()) return std::nullopt;
    return static_cast<std::uint32_t>(at - list.begin());
  }

  Result<void> place(std::uint32_t index) {
    const wire::BufferT& buffer = *program_.buffers[index];
    if (index_in(parameters_.run, index) || index_in(parameters_.init, index)) {
      places_.push_back({LibraryPlace::In::Parameter, 0, 0});  // in which function: add_call()
      return {};
    }
    const wire::FillT* const fill = buffer.fill.get();
    const bool zero = fill && fill->kind == wire::FillKind::Zero;
    if (buffer.role == wire::BufferRole::Scratch && (!fill || zero)) {
      const std::uint64_t unit = std::max(buffer.alignment, 64u);  // no two share a cache line
      const std::uint64_t at = (library_.workspace_bytes + unit - 1) / unit * unit;
      library_.workspace_bytes = at + buffer.bytes;
      library_.workspace_alignment =
          std::max(library_.workspace_alignment, static_cast<std::uint32_t>(unit));
      if (zero) init_.zeros.emplace_back(at, buffer.bytes);
      places_.push_back({LibraryPlace::In::Workspace, 0, at});
      return {};
    }
    if (buffer.role == wire::BufferRole::Constant && fill && fill->kind == wire::FillKind::Blob) {
      const ByteView bytes = fill->bytes.empty() ? blobs_(*fill->blob) : ByteView(fill->bytes);
      if (bytes.size() != buffer.bytes) {
        return Error{ErrorCode::MissingBlob, "no bytes of the constant " + buffer.name};
      }
      constant_bytes_ += bytes.size();
      places_.push_back(add_constant(bytes, buffer.alignment));
      return {};
    }
    return Error{ErrorCode::Unsupported,
                 "the buffer '" + buffer.name + "' has contents that a C library cannot hold"};
  }

  // A constant of exactly its width.
  LibraryPlace scalar(const wire::Arg& arg) {
    auto& bytes = scalars_.emplace_back();
    std::size_t width = 0;
    const auto store = [&](auto value) {
      width = sizeof value;
      std::memcpy(bytes.data(), &value, width);
    };
    switch (arg.kind()) {
      case wire::ArgKind::Int32:
        store(static_cast<std::int32_t>(arg.int_value()));
        break;
      case wire::ArgKind::Float32:
        store(static_cast<float>(arg.real_value()));
        break;
      case wire::ArgKind::Real:
      case wire::ArgKind::Float64:
        store(arg.real_value());
        break;
      default:
        store(arg.int_value());
    }
    return add_constant(ByteView(bytes).first(width), static_cast<std::uint32_t>(width));
  }

  Result<void> add_call(const wire::LaunchT& launch) {
    const bool prepare = launch.phase == wire::Phase::Prepare;
    LibraryCall call;
    call.image = launch.image;
    call.entry = launch.entry;
    call.extent = launch.parallel_extent;
    for (const wire::Arg& arg : launch.args) {
      LibraryPlace at = arg.kind() == wire::ArgKind::Buffer ? places_[arg.buffer()] : scalar(arg);
      if (at.in == LibraryPlace::In::Parameter) {
        const auto which = index_in(prepare ? parameters_.init : parameters_.run, arg.buffer());
        if (!which) {
          return Error{ErrorCode::Unsupported, prepare ? "a program that packs its inputs once"
                                                       : "a run that reads what was only packed"};
        }
        at.index = *which;
      }
      at.offset += arg.offset();
      call.args.push_back(at);
    }
    (prepare ? init_ : run_).calls.push_back(std::move(call));
    return {};
  }

  const wire::ProgramT& program_;
  const BlobLookup& blobs_;
  const LibraryParameters& parameters_;
  StaticLibrary library_;
  LibraryFunction init_, run_;
  std::vector<LibraryPlace> places_;  // of each buffer
  std::deque<std::array<std::uint8_t, 8>> scalars_;
  std::uint64_t constant_bytes_ = 0;
};

}  // namespace

Result<ProgramLibrary> program_library(const wire::ProgramT& program, const BlobLookup& blobs,
                                       const std::string& name,
                                       const LibraryParameters& parameters) {
  return LibraryWriter(program, blobs, name, parameters).run();
}

}  // namespace fettle::network

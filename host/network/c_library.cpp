// Networks as C libraries (c_library.h): each buffer is in the workspace, a parameter or a
// constant.
#include "host/network/c_library.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <deque>

#include "host/backend/static_library.h"
#include "host/network/c_header.h"
#include "host/space/cpu_target.h"

namespace fettle::network {
namespace {

using backend::LibraryCall;
using backend::LibraryFunction;
using backend::LibraryPlace;
using backend::StaticLibrary;

class Exporter {
 public:
  Exporter(const wire::NetworkT& network, const BlobLookup& blobs, const std::string& name)
      : network_(network), program_(*network.program), blobs_(blobs) {
    library_.name = name;
  }

  Result<CLibrary> run(const space::Target& target) {
    init_.name = library_.name + "_init";
    run_.name = library_.name + "_run";
    for (const auto& image : program_.images) {
      if (auto added = add_image(*image); !added) return std::move(added).error();
    }
    std::uint32_t alignment = 1;
    for (const auto* list : {&network_.inputs, &network_.outputs}) {
      for (const auto& tensor : *list) {
        parameters_.push_back(tensor->buffer);
        alignment = std::max(alignment, program_.buffers[tensor->buffer]->alignment);
      }
    }
    run_.alignments.assign(parameters_.size(), alignment);
    for (std::uint32_t b = 0; b < program_.buffers.size(); ++b) {
      if (auto placed = place(b); !placed) return std::move(placed).error();
    }
    for (const auto& launch : program_.launches) add_call(*launch);
    library_.functions = {std::move(init_), std::move(run_)};
    CLibrary out;
    out.header = c_header(network_, library_, alignment);
    auto archive = backend::write_static_library(library_, target);
    if (!archive) return std::move(archive).error();
    out.archive = std::move(*archive);
    out.workspace_bytes = library_.workspace_bytes;
    out.constant_bytes = constant_bytes_;
    return out;
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

  Result<void> place(std::uint32_t index) {
    const wire::BufferT& buffer = *program_.buffers[index];
    const auto parameter = std::find(parameters_.begin(), parameters_.end(), index);
    if (parameter != parameters_.end()) {
      const auto which = static_cast<std::uint32_t>(parameter - parameters_.begin());
      places_.push_back({LibraryPlace::In::Parameter, which, 0});
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

  void add_call(const wire::LaunchT& launch) {
    LibraryCall call;
    call.image = launch.image;
    call.entry = launch.entry;
    call.extent = launch.parallel_extent;
    for (const wire::Arg& arg : launch.args) {
      LibraryPlace at = arg.kind() == wire::ArgKind::Buffer ? places_[arg.buffer()] : scalar(arg);
      at.offset += arg.offset();
      call.args.push_back(at);
    }
    (launch.phase == wire::Phase::Prepare ? init_ : run_).calls.push_back(std::move(call));
  }

  const wire::NetworkT& network_;
  const wire::ProgramT& program_;
  const BlobLookup& blobs_;
  StaticLibrary library_;
  LibraryFunction init_, run_;
  std::vector<std::uint32_t> parameters_;  // buffers
  std::vector<LibraryPlace> places_;       // of each buffer
  std::deque<std::array<std::uint8_t, 8>> scalars_;
  std::uint64_t constant_bytes_ = 0;
};

}  // namespace

std::string c_name(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    name += byte < 128 && std::isalnum(byte) ? c : '_';
  }
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name.insert(0, "n");
  return name;
}

Result<void> check_exportable(const space::Target& target) {
  if (target.backend() == space::CpuTarget::kBackend) return {};
  return Error{ErrorCode::Unsupported,
               "a C library holds a CPU's code; this network is for " + target.backend()};
}

Result<CLibrary> c_library(const wire::NetworkT& network, const BlobLookup& blobs,
                           const std::string& name) {
  auto target = space::Target::parse(network.target);
  if (!target) return std::move(target).error();
  if (auto ok = check_exportable(*target); !ok) return std::move(ok).error();
  for (const auto& launch : network.program->launches) {
    for (const wire::Arg& arg : launch->args) {
      if (launch->phase == wire::Phase::Prepare && arg.kind() == wire::ArgKind::Buffer &&
          network.program->buffers[arg.buffer()]->role == wire::BufferRole::Input) {
        return Error{ErrorCode::Unsupported, "a network that packs its inputs once"};
      }
    }
  }
  return Exporter(network, blobs, name).run(*target);
}

}  // namespace fettle::network

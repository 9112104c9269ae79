// Programs of a user's kernel (kernel_task.h).
#include "host/backend/kernel_task.h"

#include <algorithm>

#include "host/space/wire_types.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/content_hash.h"

namespace fettle::backend {
namespace {

using space::KernelArgument;
using space::KernelLaunch;
using space::KernelPoint;

std::vector<std::string> entries_of(const space::OwnKernel& kernel) {
  std::vector<std::string> entries;
  for (const KernelLaunch& launch : kernel.launches) {
    if (std::count(entries.begin(), entries.end(), launch.entry) == 0) {
      entries.push_back(launch.entry);
    }
  }
  return entries;
}

std::unique_ptr<wire::BufferT> buffer_of(const KernelArgument& argument, std::uint64_t bytes) {
  auto buffer = std::make_unique<wire::BufferT>();
  buffer->name = argument.name;
  buffer->bytes = bytes;
  buffer->role = space::wire_role(argument.role);
  if (argument.role == ir::Role::Scratch) return buffer;  // holds nothing before a run
  buffer->fill = std::make_unique<wire::FillT>();
  buffer->fill->kind = space::wire_kind(argument.fill.kind);
  buffer->fill->dtype = space::wire_type(argument.type.scalar);
  buffer->fill->low = argument.fill.low;
  buffer->fill->high = argument.fill.high;
  buffer->fill->stream = argument.fill.stream;
  return buffer;
}

wire::Arg scalar_of(const KernelArgument& argument, double value) {
  const auto whole = [&](wire::ArgKind kind) {
    return wire::Arg(kind, 0, 0, static_cast<std::int64_t>(value), 0);
  };
  switch (argument.type.scalar) {
    case ir::Scalar::Int32:
      return whole(wire::ArgKind::Int32);
    case ir::Scalar::Int64:
      return whole(wire::ArgKind::Int64);
    case ir::Scalar::Float32:
      return {wire::ArgKind::Float32, 0, 0, 0, value};
    default:
      return {wire::ArgKind::Float64, 0, 0, 0, value};
  }
}

std::unique_ptr<wire::Dim3> dim(const std::array<std::int64_t, 3>& of) {
  return std::make_unique<wire::Dim3>(static_cast<std::uint32_t>(of[0]),
                                      static_cast<std::uint32_t>(of[1]),
                                      static_cast<std::uint32_t>(of[2]));
}

wire::ProgramT program_of(const space::OwnKernel& kernel, const KernelPoint& point,
                          const std::vector<std::string>& entries, wire::ImageT image) {
  wire::ProgramT program;
  program.target = kernel.title;
  std::vector<std::uint32_t> places;  // of the arguments among the buffers
  for (std::size_t i = 0; i < kernel.arguments.size(); ++i) {
    places.push_back(static_cast<std::uint32_t>(program.buffers.size()));
    if (kernel.arguments[i].value) continue;
    program.buffers.push_back(buffer_of(kernel.arguments[i], point.buffers[i].bytes));
  }
  for (std::size_t i = 0; i < kernel.launches.size(); ++i) {
    const KernelLaunch& from = kernel.launches[i];
    const KernelPoint::Launch& how = point.launches[i];
    auto launch = std::make_unique<wire::LaunchT>();
    while (entries[launch->entry] != from.entry) ++launch->entry;
    for (const std::size_t a : from.arguments) {
      launch->args.push_back(kernel.arguments[a].value
                                 ? scalar_of(kernel.arguments[a], point.scalars[a])
                                 : wire::Arg(wire::ArgKind::Buffer, places[a], 0, 0, 0));
    }
    if (kernel.language == space::KernelLanguage::C) {
      launch->parallel_extent = static_cast<std::uint32_t>(how.parallel);
    } else {
      launch->grid = dim(how.blocks), launch->block = dim(how.threads);
      launch->shared_bytes = static_cast<std::uint32_t>(how.shared_bytes);
    }
    program.launches.push_back(std::move(launch));
  }
  program.images.push_back(std::make_unique<wire::ImageT>(std::move(image)));
  return program;
}

std::string launches_text(const space::OwnKernel& kernel, const KernelPoint& point) {
  std::string text;
  const auto dims = [](const std::array<std::int64_t, 3>& d) {
    return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]);
  };
  for (std::size_t i = 0; i < kernel.launches.size(); ++i) {
    const KernelPoint::Launch& launch = point.launches[i];
    text += kernel.launches[i].entry + ": ";
    if (kernel.language == space::KernelLanguage::C) {
      text += std::to_string(launch.parallel) + " parallel iterations\n";
    } else {
      text += dims(launch.blocks) + " blocks of " + dims(launch.threads) + " threads, " +
              std::to_string(launch.shared_bytes) + " bytes shared\n";
    }
  }
  return text;
}

class KernelTask final : public Task {
 public:
  KernelTask(space::KernelSpace space, std::unique_ptr<const KernelCompiler> compiler)
      : space_(std::move(space)),
        compiler_(std::move(compiler)),
        entries_(entries_of(space_.kernel())) {}

  const space::SearchSpace& space() const override { return space_.space(); }
  bool lowers() const override { return false; }

  Result<wire::BuildOutputT> build(const space::Configuration& configuration) const override {
    auto point = space_.point(configuration);
    if (!point) return std::move(point).error();
    auto image = compiler_->compile(space_.kernel(), *point, entries_);
    if (!image) return std::move(image).error();
    wire::BuildOutputT output;
    output.program = std::make_unique<wire::ProgramT>(
        program_of(space_.kernel(), *point, entries_, std::move(*image)));
    output.program_hash = std::make_unique<wire::Hash>(content_hash(encode(*output.program)));
    output.facts = std::make_unique<wire::ProgramFactsT>(facts_of(*point));
    return output;
  }

  Result<wire::ProgramFactsT> facts(const space::Configuration& configuration) const override {
    auto point = space_.point(configuration);
    if (!point) return std::move(point).error();
    return facts_of(*point);
  }

  Result<std::vector<float>> features(const space::Configuration&) const override {
    return std::vector<float>();
  }
  const char* screen(std::span<const float>) const override { return nullptr; }

  Result<std::string> explain(const space::Configuration& configuration,
                              const std::string& dump_after) const override {
    if (!dump_after.empty()) {
      return Error{ErrorCode::InvalidArgument, "a kernel of one's own goes through no passes"};
    }
    auto point = space_.point(configuration);
    if (!point) return std::move(point).error();
    auto listing = compiler_->listing(space_.kernel(), *point, entries_);
    if (!listing) return listing;
    const space::OwnKernel& kernel = space_.kernel();
    return "--- source\n" + space::text_with_defines(kernel.source, point->defines) + *listing +
           "--- launches\n" + launches_text(kernel, *point) +
           (kernel.options.empty() ? "" : "--- compiler's options\n" + kernel.options + "\n");
  }

 private:
  // What the kernel computes is not known. That each output is written is.
  wire::ProgramFactsT facts_of(const KernelPoint& point) const {
    wire::ProgramFactsT facts;
    const auto& arguments = space_.kernel().arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const auto bytes = static_cast<double>(point.buffers[i].bytes);
      if (arguments[i].role == ir::Role::Output) facts.compulsory_bytes += bytes;
      if (arguments[i].role == ir::Role::Scratch) facts.scratch_bytes += bytes;
    }
    return facts;
  }

  space::KernelSpace space_;
  std::unique_ptr<const KernelCompiler> compiler_;
  std::vector<std::string> entries_;
};

}  // namespace

Result<std::unique_ptr<const Task>> open_kernel_task(
    space::OwnKernel kernel, const space::Target& target,
    std::unique_ptr<const KernelCompiler> compiler) {
  double bytes = 0;
  for (const KernelArgument& argument : kernel.arguments) {
    if (argument.value || argument.role == ir::Role::Scratch) continue;
    const auto elements = space::elements_of(argument, space::constants_of(kernel));
    if (!elements) return elements.error();
    bytes += static_cast<double>(*elements) * argument.type.bytes();
  }
  if (target.memory_bytes() > 0 && bytes > static_cast<double>(target.memory_bytes())) {
    return Error{ErrorCode::InvalidArgument, kernel.title + ": its arguments have " +
                                                 std::to_string(static_cast<std::int64_t>(bytes)) +
                                                 " bytes, the device gives a program " +
                                                 std::to_string(target.memory_bytes())};
  }
  auto space = space::KernelSpace::open(std::move(kernel), target);
  if (!space) return std::move(space).error();
  return std::unique_ptr<const Task>(new KernelTask(std::move(*space), std::move(compiler)));
}

}  // namespace fettle::backend

// Linking programs (linker.h).
#include "host/network/linker.h"

#include <algorithm>
#include <map>
#include <optional>

#include "host/network/cpu_features.h"
#include "host/network/memory_plan.h"
#include "host/network/program_facts.h"
#include "host/network/weights.h"
#include "host/space/cpu_target.h"
#include "host/space/gpu_target.h"
#include "host/space/wire_types.h"
#include "schemas/wire/content_hash.h"

namespace fettle::network {
namespace {

using model::Tensor;
using model::TensorId;

// Constants of up to so many bytes lie in one buffer: a request names 250 blobs at most.
constexpr std::size_t kSmall = 16 << 10;
// Between them. A part of an OpenCL buffer begins at a multiple of what its device says, which no
// device has above this.
constexpr std::size_t kSmallAlignment = 64, kPartAlignment = 4096;
// Of buffers that are used whole: of texels, too, whatever their tenants are.
constexpr std::uint64_t kWholeBytes = 64;

// Where a piece's buffer is in the network's program: in one of its buffers, or where the plan of
// what does not live long says.
struct Place {
  std::uint32_t buffer = 0;
  std::uint64_t offset = 0;
  std::optional<std::size_t> planned;  // which of the plan's tensors
};

class Linker {
 public:
  Linker(const model::Graph& graph, const model::Bindings& bindings,
         const std::vector<BuiltPiece>& built, const std::stop_token& stop)
      : graph_(graph),
        bindings_(bindings),
        built_(built),
        stop_(stop),
        tensors_(bindings.tensors.size()),
        apart_(bindings.tensors.size()) {
    parts_ = std::all_of(built.begin(), built.end(),
                         [](const BuiltPiece& piece) { return takes_parts(*piece.program); });
    for (std::size_t p = 0; p < built.size(); ++p) {
      if (!reads_texels(*built[p].program)) continue;
      for (const TensorId id : bindings.pieces[p].inputs) apart_[id] = true;
    }
  }

  Result<LinkedNetwork> run(const space::Target& target) {
    out_.network.name = graph_.name;
    out_.network.target = target.canonical();
    out_.network.cpu_features = cpu_features(target, bindings_);
    if (target.backend() == space::CpuTarget::kBackend) {
      out_.network.threads = static_cast<std::uint32_t>(std::max(target.threads(), 1));
    }
    if (const auto gpu = space::GpuTarget::parse(target, target.backend())) {
      image_texels_ = static_cast<std::uint64_t>(gpu->image_texels);
    }
    out_.network.program = std::make_unique<wire::ProgramT>();
    const auto first = std::find_if(built_.begin(), built_.end(), [&](const BuiltPiece& piece) {
      return piece.target == out_.network.target;
    });
    program().target = (first == built_.end() ? built_.front() : *first).program->target;
    add_interface(bindings_.inputs, wire::BufferRole::Input, graph_.inputs, out_.network.inputs);
    add_interface(bindings_.outputs, wire::BufferRole::Output, graph_.outputs,
                  out_.network.outputs);
    for (std::size_t p = 0; p < built_.size() && !stop_.stop_requested(); ++p) {
      if (auto placed = place_buffers(p); !placed) return std::move(placed).error();
    }
    if (!stop_.stop_requested()) plan();
    if (stop_.stop_requested()) return Error{ErrorCode::Canceled, "interrupted"};
    end_small_constants();
    for (std::size_t p = 0; p < built_.size(); ++p) add_launches(p);
    return std::move(out_);
  }

 private:
  wire::ProgramT& program() { return *out_.network.program; }
  // Prepare launches of all pieces come first, then Run launches.
  std::size_t prepare_step(std::size_t piece) const { return piece; }
  std::size_t run_step(std::size_t piece) const { return built_.size() + piece; }

  std::uint32_t add_buffer(std::string name, std::uint64_t bytes, wire::BufferRole role) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = std::move(name);
    buffer->bytes = bytes;
    buffer->role = role;
    program().buffers.push_back(std::move(buffer));
    return static_cast<std::uint32_t>(program().buffers.size() - 1);
  }

  void add_interface(const std::vector<TensorId>& tensors, wire::BufferRole role,
                     const std::vector<model::ValueId>& values,
                     std::vector<std::unique_ptr<wire::NetworkTensorT>>& list) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const model::Value& value = graph_.values[values[i]];
      const Tensor& tensor = bindings_.tensors[tensors[i]];
      auto one = std::make_unique<wire::NetworkTensorT>();
      one->name = value.name;
      one->dtype = space::wire_type(tensor.scalar);
      one->shape = value.type.shape;
      one->buffer = add_buffer(value.name, static_cast<std::uint64_t>(tensor.bytes()), role);
      auto fill = std::make_unique<wire::FillT>();
      fill->dtype = one->dtype;
      program().buffers[one->buffer]->fill = std::move(fill);
      tensors_[tensors[i]] = Place{one->buffer, 0, {}};
      list.push_back(std::move(one));
    }
  }

  Result<void> add_constant(TensorId id, std::uint32_t alignment) {
    const Tensor& tensor = bindings_.tensors[id];
    auto bytes = stored_bytes(graph_, tensor);
    if (!bytes) {
      return std::move(bytes).error().in("the constant " + graph_.values[tensor.value].name);
    }
    const std::size_t apart = parts_ ? kSmallAlignment : kPartAlignment;
    if (!apart_[id] && bytes->size() <= kSmall && alignment <= apart) {
      if (small_.empty()) {
        small_buffer_ = add_buffer("small constants", 0, wire::BufferRole::Constant);
        program().buffers[small_buffer_]->alignment = static_cast<std::uint32_t>(apart);
      }
      small_.resize((small_.size() + apart - 1) / apart * apart);
      tensors_[id] = Place{small_buffer_, small_.size(), {}};
      small_.insert(small_.end(), bytes->begin(), bytes->end());
      return {};
    }
    const std::uint32_t buffer =
        add_buffer(graph_.values[tensor.value].name, bytes->size(), wire::BufferRole::Constant);
    fill_with(buffer, space::wire_type(tensor.scalar), std::move(*bytes));
    tensors_[id] = Place{buffer, 0, {}};
    return {};
  }

  void fill_with(std::uint32_t buffer, wire::ScalarType type, std::vector<std::uint8_t> bytes) {
    auto fill = std::make_unique<wire::FillT>();
    fill->kind = wire::FillKind::Blob;
    fill->dtype = type;
    const wire::Hash hash = content_hash(bytes);
    fill->blob = std::make_unique<wire::Hash>(hash);
    program().buffers[buffer]->bytes = bytes.size();
    program().buffers[buffer]->fill = std::move(fill);
    out_.blobs.push_back({hash, std::move(bytes)});
  }

  void end_small_constants() {
    if (small_.empty()) return;
    fill_with(small_buffer_, wire::ScalarType::UInt8, std::move(small_));
  }

  std::size_t plan_tensor(std::uint64_t bytes, std::uint32_t alignment, std::size_t first,
                          std::size_t last) {
    live_.push_back({bytes, std::max(alignment, 64u), first, last});
    return live_.size() - 1;
  }

  // The tensor that a placeholder or the output of the piece is.
  Result<TensorId> tensor_of(std::size_t p, const wire::BufferT& buffer) const {
    const model::BoundPiece& piece = bindings_.pieces[p];
    std::size_t input = 0;
    for (const space::Stage& stage : piece.workload.dag().stages) {
      if (stage.placeholder()) {
        if (stage.buffer->name == buffer.name) return piece.inputs[input];
        ++input;
      } else if (stage.role == ir::Role::Output && stage.buffer->name == buffer.name) {
        return piece.output;
      }
    }
    return Error{ErrorCode::Internal, "the program of " + piece.workload.title() +
                                          " has a buffer '" + buffer.name +
                                          "' that its task does not know"};
  }

  Result<void> place_buffers(std::size_t p) {
    const wire::ProgramT& from = *built_[p].program;
    const std::vector<Use> uses = uses_of(from);
    std::vector<Place> places(from.buffers.size());
    for (std::size_t b = 0; b < from.buffers.size(); ++b) {
      const wire::BufferT& buffer = *from.buffers[b];
      const std::uint32_t alignment = alignment_of(buffer, from);
      if (buffer.fill && !buffer.fill->bytes.empty()) {
        places[b] = place_own_constant(buffer, alignment);
        continue;
      }
      if (buffer.role == wire::BufferRole::Scratch) {
        places[b] = place_scratch(p, buffer, uses[b]);
        continue;
      }
      auto id = tensor_of(p, buffer);
      if (!id) return std::move(id).error();
      const Tensor& tensor = bindings_.tensors[*id];
      if (static_cast<std::uint64_t>(tensor.bytes()) != buffer.bytes) {
        return Error{ErrorCode::Internal, "'" + buffer.name + "' of " +
                                              bindings_.pieces[p].workload.title() + " has " +
                                              std::to_string(buffer.bytes) + " bytes and not " +
                                              std::to_string(tensor.bytes())};
      }
      if (!tensors_[*id] && tensor.kind == Tensor::Kind::Constant) {
        if (auto added = add_constant(*id, alignment); !added) return added;
      }
      if (!tensors_[*id]) {
        tensors_[*id] = Place{0, 0, plan_tensor(buffer.bytes, alignment, run_step(p), 0)};
      }
      places[b] = *tensors_[*id];
      if (places[b].planned) {
        LiveTensor& live = live_[*places[b].planned];
        live.last = run_step(p);
        live.alignment = std::max<std::uint64_t>(live.alignment, alignment);
        if (const std::uint64_t texel = texel_bytes(from, b)) {
          const std::uint64_t most = image_texels_ * texel / kWholeBytes * kWholeBytes;
          live.most_bytes = std::min(live.most_bytes, most);
        }
      } else {
        auto& known = program().buffers[places[b].buffer]->alignment;
        known = std::max(known, alignment);
      }
    }
    places_.push_back(std::move(places));
    return {};
  }

  // What the program brings along, such as micro-ops: of equal ones one is enough.
  Place place_own_constant(const wire::BufferT& buffer, std::uint32_t alignment) {
    const auto [at, fresh] = own_constants_.emplace(buffer.fill->bytes, 0);
    if (fresh) {
      at->second = add_buffer(buffer.name, buffer.bytes, wire::BufferRole::Constant);
      program().buffers[at->second]->alignment = alignment;
      fill_with(at->second, buffer.fill->dtype, buffer.fill->bytes);
    }
    return {at->second, 0, {}};
  }

  // What a Prepare launch leaves for Run launches stays; the rest is of this piece only.
  Place place_scratch(std::size_t p, const wire::BufferT& buffer, const Use& use) {
    if (use.prepare && use.run) {
      const std::string name = "layer " + std::to_string(p) + ": " + buffer.name;
      const std::uint32_t own = add_buffer(name, buffer.bytes, wire::BufferRole::Scratch);
      program().buffers[own]->alignment = buffer.alignment;
      if (buffer.fill) {
        program().buffers[own]->fill = std::make_unique<wire::FillT>(*buffer.fill);
      }
      return {own, 0, {}};
    }
    const std::size_t step = use.prepare ? prepare_step(p) : run_step(p);
    return {0, 0, plan_tensor(buffer.bytes, buffer.alignment, step, step)};
  }

  void plan() {
    if (!parts_) return plan_whole_buffers();
    plan_ = plan_memory(live_, stop_);
    out_.network.arena_bytes = plan_.arena_bytes;
    out_.network.live_bytes = plan_.live_bytes;
    if (plan_.arena_bytes == 0) return;
    const std::uint32_t arena = add_buffer("arena", plan_.arena_bytes, wire::BufferRole::Scratch);
    for (const LiveTensor& live : live_) {
      auto& alignment = program().buffers[arena]->alignment;
      alignment = std::max(alignment, static_cast<std::uint32_t>(live.alignment));
    }
    planned_buffer_.assign(live_.size(), arena);
  }

  void plan_whole_buffers() {
    const BufferPlan whole = plan_buffers(live_);
    out_.network.arena_bytes = whole.total_bytes;
    out_.network.live_bytes = whole.live_bytes;
    plan_.offsets.resize(live_.size());
    std::vector<std::uint32_t> buffers;
    for (const BufferPlan::Buffer& one : whole.buffers) {
      const std::uint64_t bytes = (one.bytes + kWholeBytes - 1) / kWholeBytes * kWholeBytes;
      buffers.push_back(
          add_buffer("values " + std::to_string(buffers.size()), bytes, wire::BufferRole::Scratch));
      program().buffers[buffers.back()]->alignment = static_cast<std::uint32_t>(one.alignment);
    }
    for (const std::size_t buffer : whole.of_tensor) planned_buffer_.push_back(buffers[buffer]);
  }

  std::pair<std::uint32_t, std::uint64_t> moved(std::size_t p, std::uint32_t buffer,
                                                std::uint64_t offset) const {
    const Place& place = places_[p][buffer];
    if (!place.planned) return {place.buffer, place.offset + offset};
    return {planned_buffer_[*place.planned], plan_.offsets[*place.planned] + offset};
  }

  void add_launches(std::size_t p) {
    const wire::ProgramT& from = *built_[p].program;
    program().max_threads = std::max(program().max_threads, from.max_threads);
    const auto [at, fresh] = images_.emplace(&from, program().images.size());
    if (fresh) {
      for (const auto& image : from.images) {
        program().images.push_back(std::make_unique<wire::ImageT>(*image));
      }
    }
    auto layer = std::make_unique<wire::NetworkLayerT>();
    for (const auto& launch : from.launches) {
      auto copy = std::make_unique<wire::LaunchT>(*launch);
      copy->image += static_cast<std::uint32_t>(at->second);
      for (wire::Arg& arg : copy->args) {
        if (!is_buffer(arg.kind())) continue;
        const auto [buffer, offset] = moved(p, arg.buffer(), arg.offset());
        arg = wire::Arg(arg.kind(), buffer, offset, arg.int_value(), arg.real_value());
      }
      for (wire::Relocation& relocation : copy->relocations) {
        const auto [buffer, offset] = moved(p, relocation.buffer(), relocation.offset());
        relocation = wire::Relocation(relocation.instruction(), buffer, offset);
      }
      ++(copy->phase == wire::Phase::Prepare ? layer->prepare_launches : layer->run_launches);
      program().launches.push_back(std::move(copy));
    }
    describe(p, *layer);
    out_.network.layers.push_back(std::move(layer));
  }

  void describe(std::size_t p, wire::NetworkLayerT& layer) const {
    const model::BoundPiece& piece = bindings_.pieces[p];
    layer.title = piece.workload.title();
    for (const std::size_t n : piece.nodes) {
      const model::Node& node = graph_.nodes[n];
      layer.nodes.push_back(node.name.empty() ? graph_.values[node.outputs.front()].name
                                              : node.name);
    }
    layer.operations = piece.workload.operations();
    layer.expected_ns = built_[p].schedule.expected_ns;
    layer.origin = built_[p].schedule.origin;
    layer.configuration = built_[p].configuration;
    if (built_[p].target != out_.network.target) layer.target = built_[p].target;
  }

  const model::Graph& graph_;
  const model::Bindings& bindings_;
  std::uint64_t image_texels_ = 0;  // of an image over a buffer, where the target has such
  const std::vector<BuiltPiece>& built_;
  const std::stop_token& stop_;
  std::vector<std::optional<Place>> tensors_;  // of each tensor, once it has one
  std::vector<std::vector<Place>> places_;     // of each piece, of each buffer of its program
  std::vector<LiveTensor> live_;
  MemoryPlan plan_;
  std::vector<std::uint32_t> planned_buffer_;  // of each planned tensor
  std::vector<bool> apart_;                    // of each tensor: in a buffer of its own
  bool parts_ = true;                          // launches take parts of buffers
  std::vector<std::uint8_t> small_;            // small constants, one behind the other
  std::uint32_t small_buffer_ = 0;
  std::map<std::vector<std::uint8_t>, std::uint32_t> own_constants_;
  std::map<const wire::ProgramT*, std::size_t> images_;  // the first of each program's
  LinkedNetwork out_;
};

}  // namespace

BlobLookup blobs_of(const LinkedNetwork& linked) {
  std::map<wire::Hash, ByteView, HashLess> blobs;
  for (const LinkedNetwork::Blob& blob : linked.blobs) blobs.emplace(blob.hash, blob.bytes);
  return [blobs = std::move(blobs)](const wire::Hash& hash) {
    const auto at = blobs.find(hash);
    return at == blobs.end() ? ByteView() : at->second;
  };
}

Result<LinkedNetwork> link(const model::Graph& graph, const model::Bindings& bindings,
                           const std::vector<BuiltPiece>& built, const space::Target& target,
                           const std::stop_token& stop) {
  return Linker(graph, bindings, built, stop).run(target);
}

}  // namespace fettle::network

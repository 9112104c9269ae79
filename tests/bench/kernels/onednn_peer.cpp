// oneDNN's convolutions, products and normalizations (onednn_peer.h).
#include "tests/bench/kernels/onednn_peer.h"

#include <cstring>
#include <dnnl.hpp>
#include <unordered_map>

#include "runtime/cpu/guarded_buffer.h"

namespace fettle::bench {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// Of a cache line, as our programs' buffers.
constexpr std::uint32_t kAlignment = 64;

dnnl::primitive_attr tail_of(const Layer& layer) {
  dnnl::post_ops steps;
  if (!layer.residual.empty()) steps.append_sum(1.0f);
  if (layer.relu) steps.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
  if (layer.gelu) steps.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(steps);
  return attributes;
}

using Type = memory::data_type;

memory::desc tensor(memory::dims dims, Tag tag, Type type = Type::f32) {
  return {std::move(dims), type, tag};
}

class OneDnnPeer final : public Contender {
 public:
  OneDnnPeer(const Layer& layer, OneDnnKind kind, OneDnnMemory where)
      : layer_(layer), where_(where), name_(onednn_peer_name(kind, where)) {
    if (kind == OneDnnKind::Winograd && layer.kind != LayerKind::Convolution) {
      throw dnnl::error(dnnl_unimplemented, "only convolutions have a Winograd form");
    }
    make(kind);
  }

  const std::string& name() const override { return name_; }
  const std::string& implementation() const override { return implementation_; }

  Result<void> run(std::uint32_t times) override {
    try {
      for (std::uint32_t i = 0; i < times; ++i) primitive_.execute(stream_, arguments_);
      stream_.wait();
    } catch (const dnnl::error& error) {
      return Error{ErrorCode::Internal, name_ + ": " + error.what(), {}};
    }
    return {};
  }

  Result<std::vector<float>> output() override {
    try {
      memory there = arguments_.at(DNNL_ARG_DST);
      std::memset(there.get_data_handle(), 0xff, there.get_desc().get_size());  // NaN, or -1
      if (!layer_.residual.empty()) put(layer_.residual, there);
      if (auto done = run(1); !done) return std::move(done).error();
      std::vector<float> values(layer_.expected.size());
      memory plain(plain_output_, engine_, values.data());
      dnnl::reorder(there, plain).execute(stream_, there, plain);
      stream_.wait();
      return values;
    } catch (const dnnl::error& error) {
      return Error{ErrorCode::Internal, name_ + ": " + error.what(), {}};
    }
  }

 private:
  void make(OneDnnKind kind) {
    switch (layer_.kind) {
      case LayerKind::Convolution:
        return make_convolution(kind);
      case LayerKind::Dense:
        return make_dense(kind);
      case LayerKind::BatchMatmul:
        return make_matmul(kind);
      case LayerKind::Softmax:
        return make_softmax();
      case LayerKind::LayerNorm:
        return make_layer_norm();
    }
  }

  void make_convolution(OneDnnKind kind) {
    const Shape& s = layer_.shape;
    const auto algorithm = kind == OneDnnKind::Winograd ? dnnl::algorithm::convolution_winograd
                                                        : dnnl::algorithm::convolution_direct;
    const bool volume = layer_.volume;
    const Tag plain = layer_.channels_first ? Tag::nchw : volume ? Tag::ndhwc : Tag::nhwc;
    const Tag data = kind == OneDnnKind::Plain ? plain : Tag::any;
    // Numbers along y and x, behind those along z of a volume.
    const auto along = [&](memory::dims first, std::int64_t z, std::int64_t y, std::int64_t x) {
      if (volume) first.push_back(z);
      first.insert(first.end(), {y, x});
      return first;
    };
    const memory::dims source = along({s.batch, s.in_channels}, s.depth, s.height, s.width),
                       target =
                           along({s.batch, s.out_channels}, s.out_depth, s.out_height, s.out_width);
    const memory::dims weights = along(
        s.groups == 1 ? memory::dims{s.out_channels, s.in_channels}
                      : memory::dims{s.groups, s.out_channels / s.groups, s.in_channels / s.groups},
        s.deep_kernel, s.kernel[0], s.kernel[1]);
    const memory::dims stride = along({}, s.deep_stride, s.stride[0], s.stride[1]),
                       pad = along({}, s.deep_pad, s.pad[0], s.pad[1]),
                       dilation =
                           along({}, s.deep_dilation - 1, s.dilation[0] - 1, s.dilation[1] - 1);
    const memory::desc bias =
        layer_.bias.empty() ? memory::desc() : tensor({s.out_channels}, Tag::x, sums_);
    const dnnl::convolution_forward::desc wanted(
        dnnl::prop_kind::forward_inference, algorithm, tensor(source, data, data_),
        tensor(weights, Tag::any, data_), bias, tensor(target, data, sums_), stride, dilation, pad,
        pad);
    const dnnl::convolution_forward::primitive_desc chosen(wanted, attributes(), engine_);
    primitive_ = dnnl::convolution_forward(chosen);
    const Tag taps = volume                  ? Tag::dhwio
                     : layer_.channels_first ? (s.groups == 1 ? Tag::oihw : Tag::goihw)
                                             : (s.groups == 1 ? Tag::hwio : Tag::hwigo);
    bind(chosen, tensor(source, plain), tensor(weights, taps), tensor(target, plain));
  }

  void make_dense(OneDnnKind kind) {
    const Shape& s = layer_.shape;
    const Tag data = kind == OneDnnKind::Plain ? Tag::nc : Tag::any;
    const memory::dims source{s.batch, s.in_channels}, target{s.batch, s.out_channels};
    const memory::dims weights{s.out_channels, s.in_channels};
    const memory::desc bias =
        layer_.bias.empty() ? memory::desc() : tensor({s.out_channels}, Tag::x, sums_);
    const dnnl::inner_product_forward::desc wanted(
        dnnl::prop_kind::forward_inference, tensor(source, data, data_),
        tensor(weights, Tag::any, data_), bias, tensor(target, data, sums_));
    const dnnl::inner_product_forward::primitive_desc chosen(wanted, attributes(), engine_);
    primitive_ = dnnl::inner_product_forward(chosen);
    bind(chosen, tensor(source, Tag::nc), tensor(weights, Tag::io), tensor(target, Tag::nc));
  }

  // Both factors are inputs: the library may have them in any layout all the same.
  void make_matmul(OneDnnKind kind) {
    const Shape& s = layer_.shape;
    const Tag data = kind == OneDnnKind::Plain ? Tag::abc : Tag::any;
    const memory::dims a{s.batch, s.height, s.in_channels},
        b{s.batch, s.in_channels, s.out_channels}, target{s.batch, s.height, s.out_channels};
    const dnnl::matmul::desc wanted(tensor(a, data, data_), tensor(b, data, data_),
                                    tensor(target, data, sums_));
    const dnnl::matmul::primitive_desc chosen(wanted, attributes(), engine_);
    primitive_ = dnnl::matmul(chosen);
    bind(chosen, tensor(a, Tag::abc), tensor(b, Tag::abc), tensor(target, Tag::abc));
  }

  void make_softmax() {
    const memory::desc rows = tensor({layer_.shape.batch, layer_.shape.in_channels}, Tag::nc);
    const dnnl::softmax_forward::desc wanted(dnnl::prop_kind::forward_inference, rows, 1);
    const dnnl::softmax_forward::primitive_desc chosen(wanted, attributes(), engine_);
    primitive_ = dnnl::softmax_forward(chosen);
    bind_rows(chosen, rows);
  }

  void make_layer_norm() {
    const std::int64_t features = layer_.shape.in_channels;
    const memory::desc rows = tensor({layer_.shape.batch, features}, Tag::nc),
                       row = tensor({features}, Tag::x);
    using Flags = dnnl::normalization_flags;
    const dnnl::layer_normalization_forward::desc wanted(
        dnnl::prop_kind::forward_inference, rows, 1e-5f, Flags::use_scale | Flags::use_shift);
    const dnnl::layer_normalization_forward::primitive_desc chosen(wanted, attributes(), engine_);
    primitive_ = dnnl::layer_normalization_forward(chosen);
    bind_rows(chosen, rows);
    arguments_.insert({{DNNL_ARG_SCALE, packed(layer_.weight, row, row)},
                       {DNNL_ARG_SHIFT, packed(layer_.bias, row, row)}});
  }

  template <typename PrimitiveDesc>
  void bind_rows(const PrimitiveDesc& chosen, const memory::desc& rows) {
    implementation_ = chosen.impl_info_str();
    plain_output_ = rows;
    arguments_ = {{DNNL_ARG_SRC, packed(layer_.input, rows, chosen.src_desc())},
                  {DNNL_ARG_DST, allocate(chosen.dst_desc())}};
    add_scratchpad(chosen.scratchpad_desc());
  }

  // Allocates every argument as the primitive wants it, from tensors in our layouts.
  template <typename PrimitiveDesc>
  void bind(const PrimitiveDesc& chosen, const memory::desc& source, const memory::desc& weights,
            const memory::desc& target) {
    implementation_ = chosen.impl_info_str();
    if (implementation_.starts_with("ref")) {
      throw dnnl::error(dnnl_unimplemented, "only a reference implementation of it");
    }
    plain_output_ = target;
    arguments_ = {{DNNL_ARG_SRC, packed(layer_.input, source, chosen.src_desc())},
                  {DNNL_ARG_WEIGHTS, packed(layer_.weight, weights, chosen.weights_desc())},
                  {DNNL_ARG_DST, allocate(chosen.dst_desc())}};
    add_scratchpad(chosen.scratchpad_desc());
    if (!layer_.bias.empty()) {
      arguments_.insert(
          {DNNL_ARG_BIAS,
           packed(layer_.bias, tensor({layer_.shape.out_channels}, Tag::x), chosen.bias_desc())});
    }
    if (!layer_.residual.empty()) put(layer_.residual, arguments_.at(DNNL_ARG_DST));
  }

  dnnl::primitive_attr attributes() const {
    dnnl::primitive_attr wanted = tail_of(layer_);
    if (where_ == OneDnnMemory::HugePages) {
      wanted.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    }
    return wanted;
  }

  memory allocate(const memory::desc& wanted) {
    if (where_ == OneDnnMemory::Own) return memory(wanted, engine_);
    auto buffer = runtime::GuardedBuffer::make(wanted.get_size(), kAlignment);
    if (!buffer) throw dnnl::error(dnnl_out_of_memory, "no memory for a tensor");
    void* data = buffer->data().data();
    buffers_.push_back(std::move(*buffer));
    return memory(wanted, engine_, data);
  }

  void add_scratchpad(const memory::desc& wanted) {
    if (where_ == OneDnnMemory::Own || wanted.get_size() == 0) return;
    arguments_.insert({DNNL_ARG_SCRATCHPAD, allocate(wanted)});
  }

  memory packed(const std::vector<float>& values, const memory::desc& ours,
                const memory::desc& wanted) {
    memory to = allocate(wanted);
    memory from(ours, engine_, const_cast<float*>(values.data()));  // only read
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }

  void put(const std::vector<float>& values, memory& to) {
    memory from(plain_output_, engine_, const_cast<float*>(values.data()));  // only read
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
  }

  const Layer& layer_;
  // Of what is given and of what is computed; the layer's floats are converted.
  const Type data_ = layer_.int8 ? Type::s8 : Type::f32;
  const Type sums_ = layer_.int8 ? Type::s32 : Type::f32;
  OneDnnMemory where_;
  std::string name_, implementation_;
  std::vector<runtime::GuardedBuffer> buffers_;  // where the arguments lie; outlive them
  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  dnnl::primitive primitive_;
  std::unordered_map<int, memory> arguments_;
  memory::desc plain_output_;
};

const char* text_of(dnnl::cpu_isa isa) {
  switch (isa) {
    case dnnl::cpu_isa::sse41:
      return "sse41";
    case dnnl::cpu_isa::avx:
      return "avx";
    case dnnl::cpu_isa::avx2:
      return "avx2";
    case dnnl::cpu_isa::avx2_vnni:
      return "avx2_vnni";
    case dnnl::cpu_isa::avx512_core:
      return "avx512_core";
    case dnnl::cpu_isa::avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl::cpu_isa::avx512_core_bf16:
      return "avx512_core_bf16";
    default:
      return "another";
  }
}

}  // namespace

Result<std::unique_ptr<Contender>> make_onednn_peer(const Layer& layer, OneDnnKind kind,
                                                    OneDnnMemory memory) {
  const std::string name = onednn_peer_name(kind, memory);
  if (layer.half) return Error{ErrorCode::Unsupported, name + ": no float16 here", {}};
  try {
    return std::unique_ptr<Contender>(new OneDnnPeer(layer, kind, memory));
  } catch (const dnnl::error& error) {
    const bool absent = error.status == dnnl_unimplemented;
    return Error{
        absent ? ErrorCode::Unsupported : ErrorCode::Internal, name + ": " + error.what(), {}};
  }
}

std::string onednn_peer_name(OneDnnKind kind, OneDnnMemory memory) {
  const char* name = "onednn";
  if (kind == OneDnnKind::Winograd) name = "onednn_winograd";
  if (kind == OneDnnKind::Plain) name = "onednn_plain";
  return name + std::string(memory == OneDnnMemory::HugePages ? "_huge_pages" : "");
}

std::string onednn_version() {
  const dnnl::version_t* version = dnnl::version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

std::string onednn_instruction_set() { return text_of(dnnl::get_effective_cpu_isa()); }

}  // namespace fettle::bench

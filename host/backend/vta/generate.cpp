// Products written as instructions (generate.h).
#include "host/backend/vta/generate.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "host/backend/vta/slots.h"
#include "host/backend/vta/tile_boxes.h"
#include "host/backend/vta/tile_walk.h"

namespace fettle::vta::host {
namespace {

using Kind = TailStep::Kind;

constexpr std::int64_t kMostImmediate = std::numeric_limits<std::int16_t>::max();

// What sums can be when the tail is done.
struct Bounds {
  std::int64_t low = std::numeric_limits<std::int32_t>::min(),
               high = std::numeric_limits<std::int32_t>::max();
};

Bounds bounds_behind(const std::vector<TailStep>& tail) {
  Bounds bounds;
  for (const TailStep& step : tail) {
    if (step.kind != Kind::Immediate || step.op == AluOp::Add) {
      bounds = {};
    } else if (step.op == AluOp::ShiftRight) {
      bounds = {bounds.low >> step.value, bounds.high >> step.value};
    } else if (step.op == AluOp::Max) {
      bounds = {std::max(bounds.low, step.value), std::max(bounds.high, step.value)};
    } else {
      bounds = {std::min(bounds.low, step.value), std::min(bounds.high, step.value)};
    }
  }
  return bounds;
}

class ProductWriter {
 public:
  ProductWriter(const Product& product, const Design& design, const Tiling& tiling)
      : p_(product),
        design_(design),
        tiling_(tiling),
        groups_(walk(product, tiling)),
        in_cuts_(cut(product.in.extent, tiling.in)),
        writer_(design),
        bounds_(bounds_behind(product.tail)),
        ended_(design.depth(Memory::Accumulator), false) {}

  Result<Generated> write() {
    add_buffers();
    choose_slots();
    load_constants();
    for (const std::vector<Tile>& group : groups_) {
      std::vector<std::int64_t> sums;
      for (const Tile& tile : group) {
        sums.push_back(static_cast<std::int64_t>(next_sums_++ % out_.sum_slots) *
                       tile_entries(p_, tiling_, Memory::Accumulator));
        initialise(tile, sums.back());
      }
      for (const Range& in : in_cuts_) {
        for (std::size_t i = 0; i < group.size(); ++i) multiply(group[i], in, sums[i]);
      }
      for (std::size_t i = 0; i < group.size(); ++i) finish(group[i], sums[i]);
    }
    auto code = writer_.finish();
    if (!code) return std::move(code).error();
    out_.code = std::move(*code);
    return std::move(out_);
  }

 private:
  void add_buffers() {
    for (const ir::ProgramBuffer& each : p_.buffers) {
      const std::int64_t bytes = each.buffer->elements() * each.buffer->type.bytes();
      writer_.add_buffer(each.buffer->name, static_cast<std::uint64_t>(bytes),
                         each.role == ir::Role::Output);
    }
    if (kept_entries(p_, design_, Memory::Weight) == 0) return;
    diagonal_ = writer_.add_constant("diagonal", diagonal_weights(design_));
  }

  std::int64_t input_tile(const Tile& tile, std::size_t in) const {
    return tile.place * static_cast<std::int64_t>(in_cuts_.size()) + static_cast<std::int64_t>(in);
  }
  std::int64_t weight_tile(const Tile& tile, std::size_t in) const {
    return tile.out_index * static_cast<std::int64_t>(in_cuts_.size()) +
           static_cast<std::int64_t>(in);
  }

  void choose_slots() {
    std::vector<std::int64_t> inputs, weights;
    for (const std::vector<Tile>& group : groups_) {
      for (std::size_t in = 0; in < in_cuts_.size(); ++in) {
        for (const Tile& tile : group) {
          inputs.push_back(input_tile(tile, in));
          weights.push_back(weight_tile(tile, in));
        }
      }
      if (!diagonal_) continue;
      for (std::size_t i = 0; i < group.size(); ++i) inputs.push_back(next_addend());
    }
    const auto most = [&](Memory memory) {
      return static_cast<std::size_t>((design_.depth(memory) - kept_entries(p_, design_, memory)) /
                                      tile_entries(p_, tiling_, memory));
    };
    out_.input_slots = slots_for(inputs, most(Memory::Input));
    out_.weight_slots = slots_for(weights, most(Memory::Weight));
    // Twice as many as are worked on, so that the others can be stored meanwhile.
    const std::size_t threads = static_cast<std::size_t>(tiling_.out_threads * tiling_.row_threads);
    const std::size_t sums =
        static_cast<std::size_t>(std::min<std::int64_t>(
            design_.depth(Memory::Accumulator) - kept_entries(p_, design_, Memory::Accumulator),
            design_.depth(Memory::Output))) /
        static_cast<std::size_t>(tile_entries(p_, tiling_, Memory::Accumulator));
    out_.sum_slots = std::min(sums, 2 * threads);
    inputs_ = Slots(out_.input_slots);
    weights_ = Slots(out_.weight_slots);
  }

  // Tiles of what is added to outputs are read once each: numbers that no tile of inputs has.
  std::int64_t next_addend() { return (std::int64_t{1} << 40) + ++addends_; }

  std::int64_t channel_entry(std::size_t nth) const {
    return std::int64_t{design_.depth(Memory::Accumulator)} -
           kept_entries(p_, design_, Memory::Accumulator) +
           static_cast<std::int64_t>(nth) * p_.out.extent;
  }
  void load_constants() {
    std::size_t nth = 0;
    for (const TailStep& step : p_.tail) {
      if (step.kind != Kind::AddChannel) continue;
      BoxAxis blocks{p_.out.extent, 1};
      BoxAxis* const axes[] = {&blocks};
      writer_.load(Memory::Accumulator, axes, step.buffer, 0, channel_entry(nth++));
    }
    if (!diagonal_) return;
    BoxAxis one{1, 1};
    BoxAxis* const axes[] = {&one};
    writer_.load(Memory::Weight, axes, *diagonal_, 0, design_.depth(Memory::Weight) - 1);
  }

  // Sums begin with a constant: by one step where what the entries hold is known to be below or
  // above it.
  void initialise(const Tile& tile, std::int64_t sums) {
    const std::int64_t count = tile.rows.count * tile.columns.count * tile.out.count;
    const auto first = ended_.begin() + sums, end = first + count;
    const bool known = std::all_of(first, end, [](bool ended) { return ended; });
    const NestAxis all[] = {{count, 1, 0, 0}};
    const MicroOp uop{static_cast<std::uint16_t>(sums), 0, 0};
    const std::int64_t value = p_.initial;
    if (known && value != 0 && std::abs(value) <= kMostImmediate &&
        (bounds_.high <= value || bounds_.low >= value)) {
      return writer_.alu(all, uop, bounds_.high <= value ? AluOp::Max : AluOp::Min, value);
    }
    writer_.reset(all, uop);
    for (std::int64_t left = value; left != 0;) {
      const std::int64_t part = std::clamp(left, -kMostImmediate, kMostImmediate);
      writer_.alu(all, uop, AluOp::Add, part);
      left -= part;
    }
  }

  void multiply(const Tile& tile, const Range& in, std::int64_t sums) {
    OperandBoxes from = operand_boxes(p_, tile, in.count);
    const std::size_t nth = static_cast<std::size_t>(in.first / tiling_.in);
    const Slots::Place input = inputs_.request(input_tile(tile, nth)),
                       weight = weights_.request(weight_tile(tile, nth));
    const std::int64_t src = static_cast<std::int64_t>(input.slot) *
                             tile_entries(p_, tiling_, Memory::Input),
                       wgt = static_cast<std::int64_t>(weight.slot) *
                             tile_entries(p_, tiling_, Memory::Weight);
    if (input.load) {
      std::int64_t first = from.rows.first + from.columns.first + in.first * p_.in.input_stride;
      for (std::size_t i = 0; i < p_.outer.size(); ++i) {
        first += tile.outer[i] * p_.outer[i].step * p_.outer[i].input_stride;
      }
      writer_.load(Memory::Input, from.input_axes(), p_.input, first, src);
    }
    if (weight.load) {
      writer_.load(Memory::Weight, from.weight_axes(), p_.weights,
                   tile.out.first * p_.out.weight_stride + in.first * p_.in.weight_stride, wgt);
    }
    writer_.gemm(gemm_axes(output_box(p_, tile), from),
                 {static_cast<std::uint16_t>(sums), static_cast<std::uint16_t>(src),
                  static_cast<std::uint16_t>(wgt)});
  }

  // Tail and store, piece by piece along the outermost axis that has pieces.
  void finish(const Tile& tile, std::int64_t sums) {
    OutputBox whole = output_box(p_, tile);
    BoxAxis* lead = nullptr;
    for (BoxAxis* axis : whole.axes()) {
      if (axis->extent > 1 && (!lead || axis->on_chip > lead->on_chip)) lead = axis;
    }
    const std::int64_t extent = lead ? lead->extent : 1;
    const std::int64_t size = (extent + tiling_.store_pieces - 1) / tiling_.store_pieces;
    std::int64_t to = tile.rows.first * p_.rows.output_stride +
                      tile.columns.first * p_.columns.output_stride +
                      tile.out.first * p_.out.output_stride;
    for (std::size_t i = 0; i < p_.outer.size(); ++i) {
      to += tile.outer[i] * p_.outer[i].output_stride;
    }
    for (const Range& piece : cut(extent, size)) {
      OutputBox box = whole;
      std::int64_t first = sums, element = to, block = tile.out.first;
      for (const auto& [axis, own] :
           {std::pair{&whole.rows, &box.rows}, std::pair{&whole.columns, &box.columns},
            std::pair{&whole.out, &box.out}}) {
        if (axis != lead) continue;
        own->extent = piece.count;
        first += piece.first * axis->on_chip;
        element += piece.first * axis->stride;
        if (axis == &whole.out) block += piece.first;
      }
      tail(box, first, element, block);
      writer_.store(box.axes(), p_.output, element, first);
    }
    std::fill_n(ended_.begin() + sums, tile.rows.count * tile.columns.count * tile.out.count, true);
  }

  void tail(OutputBox& box, std::int64_t sums, std::int64_t element, std::int64_t block) {
    const std::int64_t count = box.rows.extent * box.columns.extent * box.out.extent;
    const std::uint16_t dst = static_cast<std::uint16_t>(sums);
    std::size_t channels = 0;
    for (const TailStep& step : p_.tail) {
      if (step.kind == Kind::Immediate) {
        const NestAxis all[] = {{count, 1, 0, 0}};
        writer_.alu(all, {dst, 0, 0}, step.op, step.value);
      } else if (step.kind == Kind::AddChannel) {
        const NestAxis axes[] = {{box.rows.extent, box.rows.on_chip, 0, 0},
                                 {box.columns.extent, box.columns.on_chip, 0, 0},
                                 {box.out.extent, box.out.on_chip, 1, 0}};
        writer_.alu(axes, {dst, static_cast<std::uint16_t>(channel_entry(channels++) + block), 0},
                    step.op, std::nullopt);
      } else {
        const Slots::Place place = inputs_.request(next_addend());
        const std::int64_t src =
            static_cast<std::int64_t>(place.slot) * tile_entries(p_, tiling_, Memory::Input);
        writer_.load(Memory::Input, box.axes(), step.buffer, element, src);
        const NestAxis all[] = {{count, 1, 1, 0}};
        writer_.gemm(all, {dst, static_cast<std::uint16_t>(src),
                           static_cast<std::uint16_t>(design_.depth(Memory::Weight) - 1)});
      }
    }
  }

  const Product& p_;
  const Design& design_;
  const Tiling& tiling_;
  std::vector<std::vector<Tile>> groups_;
  std::vector<Range> in_cuts_;
  InstructionWriter writer_;
  Generated out_;
  std::optional<std::size_t> diagonal_;  // the region of ones on the diagonal
  Bounds bounds_;
  std::vector<bool> ended_;  // entries of ACC that a tail has left
  Slots inputs_{1}, weights_{1};
  std::size_t next_sums_ = 0;
  std::int64_t addends_ = 0;
};

}  // namespace

Bytes diagonal_weights(const Design& design) {
  Bytes ones(design.element_bytes(Memory::Weight), 0);
  for (std::size_t i = 0; i < design.block_out; ++i) ones[i * design.block_in + i] = 1;
  return ones;
}

Result<Generated> generate(const Product& product, const Design& design, const Tiling& tiling) {
  return ProductWriter(product, design, tiling).write();
}

}  // namespace fettle::vta::host

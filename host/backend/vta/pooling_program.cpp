// Max pooling written as instructions (pooling.h).
#include <algorithm>

#include "host/backend/vta/pooling.h"
#include "host/backend/vta/tile_walk.h"

namespace fettle::vta::host {
namespace {

constexpr std::int64_t kLowest = -128;

class PoolingWriter {
 public:
  PoolingWriter(const Pooling& pooling, const Design& design, const Tiling& tiling)
      : p_(pooling), design_(design), tiling_(tiling), writer_(design) {
    places_ = places_of(p_.rows, tiling.rows) * places_of(p_.columns, tiling.columns);
    const std::int64_t each = places_ + tiling.rows * tiling.columns;
    const auto slots = [](std::int64_t room, std::int64_t of) {
      return static_cast<std::size_t>(std::min<std::int64_t>(2, room / of));
    };
    out_.input_slots = slots(design.depth(Memory::Input), places_);
    out_.weight_slots = 1;
    out_.sum_slots =
        slots(std::min(design.depth(Memory::Accumulator), design.depth(Memory::Output)), each);
    begun_.assign(static_cast<std::size_t>(each) * out_.sum_slots, false);
  }

  Result<Generated> write() {
    for (const ir::ProgramBuffer& each : p_.buffers) {
      const std::int64_t bytes = each.buffer->elements() * each.buffer->type.bytes();
      writer_.add_buffer(each.buffer->name, static_cast<std::uint64_t>(bytes),
                         each.role == ir::Role::Output);
    }
    const std::size_t ones = writer_.add_constant("diagonal", diagonal_weights(design_));
    BoxAxis one{1, 1};
    BoxAxis* const axes[] = {&one};
    writer_.load(Memory::Weight, axes, ones, 0, 0);
    images(0, 0, 0);
    auto code = writer_.finish();
    if (!code) return std::move(code).error();
    out_.code = std::move(*code);
    return std::move(out_);
  }

 private:
  // All places along the outer axes from the `axis`th on; `from` and `to` in elements of DRAM.
  void images(std::size_t axis, std::int64_t from, std::int64_t to) {
    if (axis < p_.outer.size()) {
      for (std::int64_t i = 0; i < p_.outer[axis].extent; ++i) {
        images(axis + 1, from + i * p_.outer[axis].input_stride,
               to + i * p_.outer[axis].output_stride);
      }
      return;
    }
    for (const Range& rows : cut(p_.rows.extent, tiling_.rows)) {
      for (const Range& columns : cut(p_.columns.extent, tiling_.columns)) {
        tile(rows, columns, from, to);
      }
    }
  }

  void tile(const Range& rows, const Range& columns, std::int64_t from, std::int64_t to) {
    const auto slot = [&](std::size_t slots) { return static_cast<std::int64_t>(tiles_ % slots); };
    const std::int64_t src = slot(out_.input_slots) * places_,
                       inputs = slot(out_.sum_slots) * (places_ + tiling_.rows * tiling_.columns),
                       outputs = inputs + places_;
    ++tiles_;
    InputWindow y = window_of(p_.rows, rows), x = window_of(p_.columns, columns);
    BoxAxis* const in[] = {&y.box, &x.box};
    const std::int64_t places = lay_out(in);
    BoxAxis row{rows.count, p_.rows.output_stride}, column{columns.count, p_.columns.output_stride};
    BoxAxis* const out[] = {&row, &column};
    const std::int64_t count = lay_out(out);

    const NestAxis zeros[] = {{places, 1, 0, 0}}, all_in[] = {{places, 1, 1, 0}};
    writer_.reset(zeros, micro_op(inputs, 0));
    writer_.load(Memory::Input, in, 0, from + y.first + x.first, src);
    writer_.gemm(all_in, micro_op(inputs, src));
    begin(outputs, count);
    for (std::int64_t ky = 0; ky < p_.rows.window; ++ky) {
      for (std::int64_t kx = 0; kx < p_.columns.window; ++kx) {
        const Range ry = inside_of(p_.rows, rows, ky), rx = inside_of(p_.columns, columns, kx);
        if (ry.count == 0 || rx.count == 0) continue;
        const std::int64_t j = ry.first - rows.first, i = rx.first - columns.first;
        const NestAxis axes[] = {{ry.count, row.on_chip, y.step * y.box.on_chip, 0},
                                 {rx.count, column.on_chip, x.step * x.box.on_chip, 0}};
        writer_.alu(axes,
                    micro_op(outputs + j * row.on_chip + i * column.on_chip,
                             inputs + (j * y.step + ky * y.dilation) * y.box.on_chip +
                                 (i * x.step + kx * x.dilation) * x.box.on_chip),
                    AluOp::Max, std::nullopt);
      }
    }
    writer_.store(
        out, 1, to + rows.first * p_.rows.output_stride + columns.first * p_.columns.output_stride,
        outputs);
  }

  // Entries hold an int8 once a tile has left them: then one step makes the lowest of them.
  void begin(std::int64_t first, std::int64_t count) {
    const NestAxis all[] = {{count, 1, 0, 0}};
    const auto from = begun_.begin() + first, end = from + count;
    if (!std::all_of(from, end, [](bool begun) { return begun; })) {
      writer_.reset(all, micro_op(first, 0));
    }
    writer_.alu(all, micro_op(first, 0), AluOp::Min, kLowest);
    std::fill(from, end, true);
  }

  static MicroOp micro_op(std::int64_t dst, std::int64_t src) {
    return {static_cast<std::uint16_t>(dst), static_cast<std::uint16_t>(src), 0};
  }

  const Pooling& p_;
  const Design& design_;
  const Tiling& tiling_;
  InstructionWriter writer_;
  Generated out_;
  std::int64_t places_ = 0;  // of a whole tile's inputs
  std::size_t tiles_ = 0;
  std::vector<bool> begun_;  // entries of ACC
};

}  // namespace

Result<Generated> generate(const Pooling& pooling, const Design& design, const Tiling& tiling) {
  return PoolingWriter(pooling, design, tiling).write();
}

}  // namespace fettle::vta::host

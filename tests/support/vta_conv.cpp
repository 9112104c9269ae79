// Streams of convolutions (vta_conv.h).
#include "tests/support/vta_conv.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/support/vta_order.h"

namespace fettle::testing {

using namespace vta;

namespace {

// Rows of output, and blocks of output and input channels, that are on the chip at a time.
struct Tile {
  std::uint32_t rows, out, in;
};

class ConvWriter {
 public:
  ConvWriter(const Design& design, const VtaConv& conv)
      : design_(design), c_(conv), encoding_(design) {
    program_.design = design;
    in_columns_ = (c_.columns() - 1) * c_.stride + c_.kernel;
    tile_ = choose_tile();
  }

  VtaProgram write(std::uint64_t seed) {
    program_.base = end_ = 1 << 20;
    const auto add = [&](const char* name, Memory memory, std::uint32_t elements, bool writable) {
      add_part(name, std::uint64_t{elements} * design_.element_bytes(memory), writable, false);
    };
    add("input", Memory::Input, c_.in_blocks * c_.height * c_.width, false);
    add("weights", Memory::Weight, c_.out_blocks * c_.in_blocks * taps(), false);
    add("output", Memory::Output, c_.out_blocks * c_.rows() * c_.columns(), true);
    make_uops();
    add_part("uops", uops_.size() * 4, false, true);
    write_stream();
    add_part("stream", order_.size() * kWordBytes, false, false);
    program_.stream = program_.parts.back().address;
    fill(seed);
    return std::move(program_);
  }

 private:
  std::uint32_t taps() const { return c_.kernel * c_.kernel; }
  std::uint32_t in_rows(std::uint32_t rows) const { return (rows - 1) * c_.stride + c_.kernel; }
  std::uint32_t half(Memory memory) const { return design_.depth(memory) / 2; }

  // The one that reads least from DRAM.
  Tile choose_tile() const {
    Tile best{0, 0, 0};
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t rows = 1; rows <= c_.rows(); ++rows) {
      for (std::uint32_t out = 1; out <= c_.out_blocks; ++out) {
        for (std::uint32_t in = 1; in <= c_.in_blocks; ++in) {
          const std::uint32_t inputs = in * in_rows(rows) * in_columns_;
          const std::uint32_t weights = out * in * taps();
          if (c_.out_blocks % out || c_.in_blocks % in || inputs > half(Memory::Input) ||
              weights > half(Memory::Weight) ||
              out * rows * c_.columns() > half(Memory::Accumulator) ||
              4 * weights > design_.depth(Memory::Uop)) {
            continue;
          }
          const std::uint64_t tiles = std::uint64_t{(c_.rows() + rows - 1) / rows} *
                                      (c_.out_blocks / out) * (c_.in_blocks / in);
          const std::uint64_t bytes = tiles * (inputs * design_.element_bytes(Memory::Input) +
                                               weights * design_.element_bytes(Memory::Weight));
          if (bytes < least) least = bytes, best = {rows, out, in};
        }
      }
    }
    if (best.rows == 0) {
      std::fprintf(stderr, "no tile of the convolution fits the design\n");
      std::abort();
    }
    return best;
  }

  void add_part(const char* name, std::uint64_t bytes, bool writable, bool constant) {
    end_ = (end_ + 4095) / 4096 * 4096;
    program_.parts.push_back({name, end_, bytes, writable, constant});
    end_ += bytes;
  }

  std::uint64_t element(const char* name, Memory memory) const {
    const auto part =
        std::find_if(program_.parts.begin(), program_.parts.end(),
                     [&](const auto& each) { return std::string_view(each.name) == name; });
    return part->address / design_.element_bytes(memory);
  }

  // For each half of the loads and each half of the sums, one for each product of blocks and tap.
  void make_uops() {
    for (std::uint32_t halves = 0; halves < 4; ++halves) {
      const std::uint32_t of_load = halves / 2, of_sum = halves % 2;
      for (std::uint32_t out = 0; out < tile_.out; ++out) {
        const std::uint32_t dst =
            of_sum * half(Memory::Accumulator) + out * tile_.rows * c_.columns();
        for (std::uint32_t in = 0; in < tile_.in; ++in) {
          for (std::uint32_t tap = 0; tap < taps(); ++tap) {
            const std::uint32_t src =
                (in * in_rows(tile_.rows) + tap / c_.kernel) * in_columns_ + tap % c_.kernel;
            const std::uint32_t wgt = (out * tile_.in + in) * taps() + tap;
            uops_.push_back({static_cast<std::uint16_t>(dst),
                             static_cast<std::uint16_t>(of_load * half(Memory::Input) + src),
                             static_cast<std::uint16_t>(of_load * half(Memory::Weight) + wgt)});
          }
        }
      }
    }
  }
  std::uint32_t uops_of_halves() const { return tile_.out * tile_.in * taps(); }

  void write_stream() {
    order_.add({{},
                Load{{Memory::Uop, 0, static_cast<std::uint32_t>(element("uops", Memory::Uop)), 1,
                      static_cast<std::uint16_t>(uops_.size()), 0}}});
    std::uint32_t load_context = 0, out_context = 0;
    std::size_t loaded_free[2] = {},
                out_free[2] = {};  // when compute, and store, were done with it
    for (std::uint32_t out = 0; out < c_.out_blocks; out += tile_.out) {
      for (std::uint32_t row = 0; row < c_.rows(); row += tile_.rows) {
        const std::uint32_t rows = std::min(tile_.rows, c_.rows() - row);
        order_.wait(Unit::Compute, Unit::Store, out_free[out_context]);
        steps(out_context, rows, Gemm{{}, true});
        for (std::uint32_t in = 0; in < c_.in_blocks; in += tile_.in) {
          order_.wait(Unit::Load, Unit::Compute, loaded_free[load_context]);
          load(load_context, out, row, rows, in);
          order_.wait(Unit::Compute, Unit::Load, order_.time(Unit::Load));
          products(load_context, out_context, rows);
          loaded_free[load_context] = order_.time(Unit::Compute);
          load_context ^= 1;
        }
        steps(out_context, rows, Alu{{}, AluOp::ShiftRight, true, 8});
        steps(out_context, rows, Alu{{}, AluOp::Max, true, 0});
        steps(out_context, rows, Alu{{}, AluOp::Min, true, 127});
        order_.wait(Unit::Store, Unit::Compute, order_.time(Unit::Compute));
        store(out_context, out, row, rows);
        out_free[out_context] = order_.time(Unit::Store);
        out_context ^= 1;
      }
    }
    order_.settle();
    order_.add({{}, Finish{}});
  }

  void load(std::uint32_t context, std::uint32_t out, std::uint32_t row, std::uint32_t rows,
            std::uint32_t in) {
    // Rows and columns of padding that the tile needs.
    const int first = static_cast<int>(row * c_.stride) - static_cast<int>(c_.pad);
    const int end = first + static_cast<int>(in_rows(rows)), height = static_cast<int>(c_.height);
    const int top = std::max(0, -first), bottom = std::max(0, end - height);
    const int right =
        std::max(0, static_cast<int>(in_columns_ - c_.pad) - static_cast<int>(c_.width));
    for (std::uint32_t i = 0; i < tile_.in; ++i) {
      const std::uint64_t from =
          element("input", Memory::Input) +
          ((in + i) * c_.height + static_cast<std::uint32_t>(first + top)) * c_.width;
      Load load{
          {Memory::Input,
           static_cast<std::uint16_t>(context * half(Memory::Input) +
                                      i * in_rows(tile_.rows) * in_columns_),
           static_cast<std::uint32_t>(from), static_cast<std::uint16_t>(end - first - top - bottom),
           static_cast<std::uint16_t>(static_cast<int>(in_columns_ - c_.pad) - right),
           static_cast<std::uint16_t>(c_.width)},
          static_cast<std::uint8_t>(top),
          static_cast<std::uint8_t>(bottom),
          static_cast<std::uint8_t>(c_.pad),
          static_cast<std::uint8_t>(right)};
      order_.add({{}, load});
    }
    const std::uint64_t weights =
        element("weights", Memory::Weight) + (out * c_.in_blocks + in) * taps();
    order_.add({{},
                Load{{Memory::Weight, static_cast<std::uint16_t>(context * half(Memory::Weight)),
                      static_cast<std::uint32_t>(weights), static_cast<std::uint16_t>(tile_.out),
                      static_cast<std::uint16_t>(tile_.in * taps()),
                      static_cast<std::uint16_t>(c_.in_blocks * taps())}}});
  }

  void products(std::uint32_t of_load, std::uint32_t of_sum, std::uint32_t rows) {
    const std::uint32_t first = (of_load * 2 + of_sum) * uops_of_halves();
    for (std::uint32_t uop = first; uop < first + uops_of_halves(); ++uop) {
      order_.add({{},
                  Gemm{{static_cast<std::uint16_t>(uop), static_cast<std::uint16_t>(uop + 1),
                        static_cast<std::uint16_t>(rows), static_cast<std::uint16_t>(c_.columns()),
                        static_cast<std::uint16_t>(c_.columns()), 1,
                        static_cast<std::uint16_t>(c_.stride * in_columns_),
                        static_cast<std::uint16_t>(c_.stride)}}});
    }
  }

  // A reset or an operation of ALU on every sum, from a micro-op that names the first.
  template <typename Body>
  void steps(std::uint32_t of_sum, std::uint32_t rows, Body body) {
    body.uop_begin = static_cast<std::uint16_t>(of_sum * uops_of_halves());
    body.uop_end = static_cast<std::uint16_t>(body.uop_begin + 1);
    body.iter_out = static_cast<std::uint16_t>(tile_.out);
    body.iter_in = static_cast<std::uint16_t>(rows * c_.columns());
    body.dst_factor_out = static_cast<std::uint16_t>(tile_.rows * c_.columns());
    body.dst_factor_in = 1;
    order_.add({{}, body});
  }

  void store(std::uint32_t of_sum, std::uint32_t out, std::uint32_t row, std::uint32_t rows) {
    for (std::uint32_t i = 0; i < tile_.out; ++i) {
      const std::uint64_t to =
          element("output", Memory::Output) + ((out + i) * c_.rows() + row) * c_.columns();
      order_.add({{},
                  Store{{Memory::Output,
                         static_cast<std::uint16_t>(of_sum * half(Memory::Output) +
                                                    i * tile_.rows * c_.columns()),
                         static_cast<std::uint32_t>(to), 1,
                         static_cast<std::uint16_t>(rows * c_.columns()), 0}}});
    }
  }

  std::uint8_t* image_of(const char* name) {
    const auto part =
        std::find_if(program_.parts.begin(), program_.parts.end(),
                     [&](const auto& each) { return std::string_view(each.name) == name; });
    return program_.image.data() + (part->address - program_.base);
  }

  // Weights are small, so that some of the sums stay within the clip.
  void fill(std::uint64_t seed) {
    for (const Instruction& each : order_.stream())
      program_.words.push_back(encoding_.encode(each).value());
    program_.image.resize((end_ - program_.base + 4095) / 4096 * 4096);
    std::mt19937_64 random(seed);
    for (std::uint8_t& byte : program_.image) byte = static_cast<std::uint8_t>(random());
    std::uint8_t* weights = image_of("weights");
    for (const std::uint8_t* end = image_of("output"); weights < end; ++weights) {
      *weights = static_cast<std::uint8_t>(static_cast<std::int8_t>(*weights) / 16);
    }
    const Bytes words = bytes_of(program_.words);
    std::copy(words.begin(), words.end(), image_of("stream"));
    std::uint8_t* to = image_of("uops");
    for (const MicroOp& uop : uops_) {
      const std::uint32_t bits = encoding_.encode(uop).value();
      for (unsigned k = 0; k < 4; ++k) *to++ = static_cast<std::uint8_t>(bits >> (8 * k));
    }
  }

  const Design& design_;
  VtaConv c_;
  Encoding encoding_;
  VtaProgram program_;
  VtaOrder order_;
  std::uint32_t in_columns_;
  Tile tile_;
  std::vector<MicroOp> uops_;
  std::uint64_t end_ = 0;
};

}  // namespace

VtaProgram vta_conv_program(const Design& design, const VtaConv& conv, std::uint64_t seed) {
  return ConvWriter(design, conv).write(seed);
}

ByteView vta_part(const VtaProgram& program, ByteView image, std::string_view name) {
  const auto part = std::find_if(program.parts.begin(), program.parts.end(),
                                 [&](const auto& each) { return each.name == name; });
  return image.subspan(part->address - program.base, part->bytes);
}

// By sums over a plane of outputs, channel by channel.
Bytes vta_conv_expected(const VtaProgram& program, const VtaConv& c) {
  const std::size_t in = program.design.block_in, out = program.design.block_out;
  const ByteView data = vta_part(program, program.image, "input");
  const ByteView weights = vta_part(program, program.image, "weights");
  const auto number = [](std::uint8_t byte) {
    return std::int32_t{static_cast<std::int8_t>(byte)};
  };
  const std::size_t columns = c.columns(), plane = c.rows() * columns;
  Bytes expected(c.out_blocks * plane * out);
  std::vector<std::int32_t> sums(plane);
  for (std::size_t oc = 0; oc < c.out_blocks * out; ++oc) {
    std::fill(sums.begin(), sums.end(), 0);
    for (std::size_t ic = 0; ic < c.in_blocks * in; ++ic) {
      for (std::size_t tap = 0; tap < std::size_t{c.kernel} * c.kernel; ++tap) {
        const std::size_t block = (oc / out * c.in_blocks + ic / in) * c.kernel * c.kernel + tap;
        const std::int32_t weight = number(weights[(block * out + oc % out) * in + ic % in]);
        for (std::size_t at = 0; at < plane; ++at) {
          // Above and left of the picture these are huge.
          const std::size_t y = at / columns * c.stride + tap / c.kernel - c.pad;
          const std::size_t x = at % columns * c.stride + tap % c.kernel - c.pad;
          if (y >= c.height || x >= c.width) continue;
          sums[at] +=
              weight * number(data[((ic / in * c.height + y) * c.width + x) * in + ic % in]);
        }
      }
    }
    for (std::size_t at = 0; at < plane; ++at) {
      expected[(oc / out * plane + at) * out + oc % out] =
          static_cast<std::uint8_t>(std::clamp(sums[at] >> 8, 0, 127));
    }
  }
  return expected;
}

std::vector<VtaConv> resnet_18_vta() {
  return {{56, 56, 4, 4, 3, 1, 1},   {56, 56, 4, 8, 1, 2, 0},   {56, 56, 4, 8, 3, 2, 1},
          {28, 28, 8, 8, 3, 1, 1},   {28, 28, 8, 16, 1, 2, 0},  {28, 28, 8, 16, 3, 2, 1},
          {14, 14, 16, 16, 3, 1, 1}, {14, 14, 16, 32, 1, 2, 0}, {14, 14, 16, 32, 3, 2, 1},
          {7, 7, 32, 32, 3, 1, 1}};
}

}  // namespace fettle::testing

// Random legal streams (vta_random.h): windows of each memory that are filled first, then
// instructions within them.
#include "tests/support/vta_random.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "fpga/isa/determined.h"
#include "fpga/isa/hazard.h"
#include "tests/support/vta_order.h"
#include "tests/support/vta_window.h"

namespace fettle::testing {

using namespace vta;

namespace {

class Writer {
 public:
  Writer(const Design& design, std::uint64_t seed)
      : design_(design), random_(seed), encoding_(design) {
    program_.design = design;
  }

  VtaProgram write(std::size_t size) {
    choose_windows();
    lay_out_dram();
    fill_windows();
    while (order_.size() < size) one();
    store();
    order_.settle();
    order_.add({{}, Finish{}});
    return finish();
  }

 private:
  VtaWindow& at(Memory memory) { return windows_[static_cast<std::size_t>(memory)]; }

  void choose_windows() {
    const std::uint32_t counts[kMemories] = {24, 8, 48, 40, 40};
    for (std::size_t i = 0; i < kMemories; ++i) {
      const std::uint32_t depth = design_.depth(static_cast<Memory>(i));
      VtaWindow& window = windows_[i];
      window.count = std::min(counts[i], depth);
      // Both ends of the memory are frequent.
      window.first =
          static_cast<std::uint32_t>(random_.one_in(3)   ? 0
                                     : random_.one_in(2) ? depth - window.count
                                                         : random_.below(depth - window.count + 1));
    }
    at(Memory::Output) = at(Memory::Accumulator);  // one index
    for (VtaWindow& window : windows_) {
      window.written.resize(window.count);
      window.read.resize(window.count);
    }
  }

  void add_part(const char* name, std::uint64_t bytes, std::uint64_t align, bool writable,
                bool constant) {
    // Distances that are no powers of two, so that rows cross bursts' and pages' borders.
    end_ += random_.below(5) * align;
    end_ = (end_ + align - 1) / align * align;
    program_.parts.push_back({name, end_, bytes, writable, constant});
    end_ += bytes;
  }

  const VtaProgram::Part& part(const char* name) const {
    return *std::find_if(program_.parts.begin(), program_.parts.end(),
                         [&](const auto& each) { return std::string_view(each.name) == name; });
  }

  void lay_out_dram() {
    program_.base = end_ = random_.between(1, 4096) * 4096 * 16;
    const auto add = [&](const char* name, Memory memory, std::uint32_t elements, bool writable) {
      const std::uint64_t element = design_.element_bytes(memory);
      add_part(name, elements * element, std::max<std::uint64_t>(element, 8), writable, false);
    };
    add("input", Memory::Input, 300, false);
    add("weights", Memory::Weight, 24, false);
    add("bias", Memory::Accumulator, 120, false);
    add("output", Memory::Output, 200, true);
    const std::size_t uops = 96;
    add_part("uops", uops * 4, 4, false, true);
    for (std::size_t i = 0; i < uops; ++i) uops_.push_back(random_uop());
  }

  // Micro-ops that keep to the windows with room for the loops: often to their first part.
  MicroOp random_uop() {
    const auto in = [&](Memory memory) {
      const VtaWindow& window = at(memory);
      const std::uint32_t most = random_.one_in(4) ? window.count : (window.count + 2) / 3;
      return static_cast<std::uint16_t>(window.first + random_.below(most));
    };
    // The same field is GEMM's input and ALU's accumulator.
    const Memory source = random_.one_in(3) ? Memory::Accumulator : Memory::Input;
    return {in(Memory::Accumulator), in(source), in(Memory::Weight)};
  }

  // A LOAD of `elements` or fewer into the window, with rows and padding.
  Load random_load(Memory memory, const char* from, std::uint32_t sram, std::uint32_t elements,
                   bool whole) {
    const VtaProgram::Part& source = part(from);
    const std::uint64_t element = design_.element_bytes(memory);
    const std::uint64_t available = source.bytes / element;
    Load load{{memory, static_cast<std::uint16_t>(sram)}};
    std::uint32_t rows = 1, width = elements;
    if (memory != Memory::Uop && !whole) {
      rows = static_cast<std::uint32_t>(random_.between(1, std::min(6u, elements)));
      width = static_cast<std::uint32_t>(random_.between(1, elements / rows));
    }
    if (memory == Memory::Input || memory == Memory::Accumulator) {
      const auto pad = [&](std::uint32_t room) {
        return static_cast<std::uint8_t>(random_.one_in(2) ? 0
                                                           : random_.below(std::min(room, 16u)));
      };
      load.x_pad_left = pad(width);
      load.x_pad_right = pad(width - load.x_pad_left);
      load.y_pad_top = pad(rows);
      load.y_pad_bottom = pad(rows - load.y_pad_top);
    }
    load.x_size = static_cast<std::uint16_t>(width - load.x_pad_left - load.x_pad_right);
    load.y_size = static_cast<std::uint16_t>(rows - load.y_pad_top - load.y_pad_bottom);
    const std::uint64_t most_stride =
        load.y_size == 1 ? 64 : (available - load.x_size) / (load.y_size - 1);
    load.x_stride =
        static_cast<std::uint16_t>(random_.below(std::min<std::uint64_t>(most_stride, 60) + 1));
    const std::uint64_t used = (load.y_size - 1u) * std::uint64_t{load.x_stride} + load.x_size;
    load.dram_base =
        static_cast<std::uint32_t>(source.address / element + random_.below(available - used + 1));
    return load;
  }

  void add_load(const Load& load) {
    VtaWindow& window = at(load.memory);
    const Unit unit = unit_of({{}, load});
    const std::uint32_t rows = load.y_pad_top + load.y_size + load.y_pad_bottom;
    const std::uint32_t row = load.x_pad_left + load.x_size + load.x_pad_right;
    const VtaRange range{load.sram_base, load.sram_base + rows * row};
    order_.wait(unit, Unit::Compute, window.latest(window.read, range));
    order_.add({{}, load});
    window.set(window.written, range, order_.time(unit));
    if (load.memory == Memory::Uop) {
      const std::uint32_t from =
          static_cast<std::uint32_t>(load.dram_base - part("uops").address / 4);
      for (std::uint32_t i = 0; i < load.x_size; ++i) {
        loaded_[load.sram_base - window.first + i] = uops_[from + i];
      }
    }
  }

  // Every entry of every window gets a value.
  void fill_windows() {
    loaded_.resize(at(Memory::Uop).count);
    for (const auto& [memory, from] :
         {std::pair{Memory::Uop, "uops"}, std::pair{Memory::Input, "input"},
          std::pair{Memory::Weight, "weights"}, std::pair{Memory::Accumulator, "bias"}}) {
      const VtaWindow& window = at(memory);
      add_load(random_load(memory, from, window.first, window.count, true));
    }
    // OUT: by the window's first micro-op, taken back to the window's start by a shift of nothing.
    MicroOp first = loaded_[0];
    Alu touch{{}, AluOp::Add, true, static_cast<std::int16_t>(random_())};
    first.dst = static_cast<std::uint16_t>(at(Memory::Accumulator).first);
    uops_[0] = first;
    Load load{{Memory::Uop, static_cast<std::uint16_t>(at(Memory::Uop).first),
               static_cast<std::uint32_t>(part("uops").address / 4), 1, 1, 1}};
    add_load(load);
    touch.uop_begin = static_cast<std::uint16_t>(at(Memory::Uop).first);
    touch.uop_end = static_cast<std::uint16_t>(touch.uop_begin + 1);
    touch.iter_out = 1;
    touch.iter_in = static_cast<std::uint16_t>(at(Memory::Accumulator).count);
    touch.dst_factor_in = 1;
    add_steps({{}, touch},
              {at(Memory::Accumulator).first,
               at(Memory::Accumulator).first + at(Memory::Accumulator).count},
              {}, {});
  }

  // `src` and `wgt` are empty for ALU: of what it reads, all is the compute unit's.
  void add_steps(Instruction instruction, VtaRange dst, VtaRange src, VtaRange wgt) {
    VtaWindow &inputs = at(Memory::Input), &weights = at(Memory::Weight), &out = at(Memory::Output);
    const bool is_gemm = src.first != src.end;
    if (is_gemm) {
      order_.wait(
          Unit::Compute, Unit::Load,
          std::max(inputs.latest(inputs.written, src), weights.latest(weights.written, wgt)));
    }
    order_.wait(Unit::Compute, Unit::Store, out.latest(out.read, dst));
    order_.add(std::move(instruction));
    const std::size_t now = order_.time(Unit::Compute);
    out.set(out.written, dst, now);
    if (is_gemm) inputs.set(inputs.read, src, now), weights.set(weights.read, wgt, now);
  }

  // Loops over some of the micro-ops, as far as the windows go; none where the micro-ops leave
  // them by themselves (src is an index of two memories).
  struct Choice {
    Loops loops;
    VtaRange dst, src, wgt;
  };
  std::optional<Choice> random_loops(std::span<const MicroOp>* uops, Memory source, Gemm* gemm) {
    const VtaWindow& window = at(Memory::Uop);
    const std::uint32_t begin = static_cast<std::uint32_t>(random_.below(window.count));
    const std::uint32_t count = static_cast<std::uint32_t>(
        random_.between(1, std::min<std::uint64_t>(window.count - begin, 8)));
    *uops = std::span(loaded_).subspan(begin, count);
    Choice choice;
    Loops& loops = choice.loops;
    loops.uop_begin = static_cast<std::uint16_t>(window.first + begin);
    loops.uop_end = static_cast<std::uint16_t>(loops.uop_begin + count);
    loops.iter_out = static_cast<std::uint16_t>(random_.between(1, 4));
    loops.iter_in = static_cast<std::uint16_t>(random_.between(1, 4));
    const auto factors = [&](std::uint16_t MicroOp::* field, Memory memory, std::uint16_t& out,
                             std::uint16_t& in, VtaRange& range) {
      std::uint32_t low = ~0u, high = 0;
      for (const MicroOp& uop : *uops) {
        low = std::min<std::uint32_t>(low, uop.*field);
        high = std::max<std::uint32_t>(high, uop.*field);
      }
      const VtaWindow& of = at(memory);
      if (low < of.first || high >= of.first + of.count) return false;
      std::uint64_t room = of.first + of.count - 1 - high;
      in = static_cast<std::uint16_t>(loops.iter_in == 1
                                          ? random_.below(of.count)
                                          : random_.below(room / (loops.iter_in - 1u) + 1));
      room -= (loops.iter_in - 1u) * std::uint64_t{in};
      out = static_cast<std::uint16_t>(loops.iter_out == 1
                                           ? random_.below(of.count)
                                           : random_.below(room / (loops.iter_out - 1u) + 1));
      range = {low, high + (loops.iter_in - 1u) * in + (loops.iter_out - 1u) * out + 1};
      return true;
    };
    if (!factors(&MicroOp::dst, Memory::Accumulator, loops.dst_factor_out, loops.dst_factor_in,
                 choice.dst) ||
        !factors(&MicroOp::src, source, loops.src_factor_out, loops.src_factor_in, choice.src) ||
        (gemm && !factors(&MicroOp::wgt, Memory::Weight, gemm->wgt_factor_out, gemm->wgt_factor_in,
                          choice.wgt))) {
      return std::nullopt;
    }
    return choice;
  }

  // Tries until the loops stay within the windows and the design's hazards are not met.
  void steps() {
    for (int attempt = 0; attempt < 50; ++attempt) {
      std::span<const MicroOp> uops;
      if (random_.one_in(2)) {
        Gemm gemm;
        const auto choice = random_loops(&uops, Memory::Input, &gemm);
        gemm.reset = random_.one_in(5);
        if (!choice) continue;
        static_cast<Loops&>(gemm) = choice->loops;
        if (!gemm.reset && find_hazard(uops, gemm, false, design_.hazard_steps)) continue;
        if (gemm.reset && design_.core == Core::VtaHls) {
          // Leaves OUT without a value: an operation on the same gives it one.
          const Alu again{choice->loops, AluOp::Add, true, 1};
          if (find_hazard(uops, again, false, design_.hazard_steps)) continue;
          add_steps({{}, gemm}, choice->dst, choice->src, choice->wgt);
          return add_steps({{}, again}, choice->dst, {}, {});
        }
        return add_steps({{}, gemm}, choice->dst, choice->src, choice->wgt);
      }
      Alu alu;
      alu.op = static_cast<AluOp>(random_.below(kAluOps));
      alu.use_imm = random_.one_in(2);
      alu.imm = static_cast<std::int16_t>(random_.one_in(2) ? random_.below(41) - 20 : random_());
      const auto choice = random_loops(&uops, Memory::Accumulator, nullptr);
      if (!choice) continue;
      static_cast<Loops&>(alu) = choice->loops;
      if (find_hazard(uops, alu, !alu.use_imm, design_.hazard_steps)) continue;
      return add_steps({{}, alu}, choice->dst, {}, {});
    }
  }

  void store() {
    VtaWindow& window = at(Memory::Output);
    const VtaProgram::Part& to = part("output");
    const std::uint64_t element = design_.element_bytes(Memory::Output);
    const std::uint64_t available = to.bytes / element;
    Store store{{Memory::Output}};
    store.y_size = static_cast<std::uint16_t>(random_.between(1, 5));
    store.x_size = static_cast<std::uint16_t>(random_.between(1, window.count / store.y_size));
    // Rows that do not overlap.
    store.x_stride = static_cast<std::uint16_t>(
        store.x_size + random_.below(available / store.y_size - store.x_size + 1));
    const std::uint64_t used = (store.y_size - 1u) * std::uint64_t{store.x_stride} + store.x_size;
    store.dram_base =
        static_cast<std::uint32_t>(to.address / element + random_.below(available - used + 1));
    store.sram_base = static_cast<std::uint16_t>(
        window.first +
        random_.below(window.count - std::uint32_t{store.x_size} * store.y_size + 1));
    const VtaRange range{store.sram_base,
                         store.sram_base + std::uint32_t{store.x_size} * store.y_size};
    order_.wait(Unit::Store, Unit::Compute, window.latest(window.written, range));
    order_.add({{}, store});
    window.set(window.read, range, order_.time(Unit::Store));
  }

  void one() {
    const auto part_of = [&](Memory memory, const char* from) {
      const VtaWindow& window = at(memory);
      const std::uint32_t count = static_cast<std::uint32_t>(random_.between(1, window.count));
      const std::uint32_t first =
          window.first + static_cast<std::uint32_t>(random_.below(window.count - count + 1));
      add_load(random_load(memory, from, first, count, false));
    };
    switch (random_.below(16)) {
      case 0:
      case 1:
        return part_of(Memory::Input, "input");
      case 2:
        return part_of(Memory::Weight, "weights");
      case 3:
        return part_of(Memory::Uop, "uops");
      case 4:
        return part_of(Memory::Accumulator, "bias");
      case 5:
      case 6:
        return store();
      case 7:
        return order_.push(static_cast<TokenQueue>(random_.below(kTokenQueues)));
      default:
        return steps();
    }
  }

  VtaProgram finish() {
    std::vector<Instruction> stream = order_.stream();
    // Neighbours in the stream that are different units' may come either way round.
    for (std::size_t swaps = 2 * stream.size(); swaps > 0; --swaps) {
      const std::size_t i = random_.below(stream.size() - 1);
      if (i + 2 < stream.size() && unit_of(stream[i]) != unit_of(stream[i + 1])) {
        std::swap(stream[i], stream[i + 1]);
      }
    }
    for (const Instruction& instruction : stream) {
      const Result<Word> word = encoding_.encode(instruction);
      if (!word) fail(word.error().text());
      program_.words.push_back(*word);
    }
    add_part("stream", stream.size() * kWordBytes, kWordBytes, false, false);
    program_.stream = program_.parts.back().address;
    program_.image.resize((end_ - program_.base + 4095) / 4096 * 4096);
    for (std::uint8_t& byte : program_.image) byte = static_cast<std::uint8_t>(random_());
    const Bytes words = bytes_of(program_.words);
    std::copy(words.begin(), words.end(), image_of("stream"));
    auto to = image_of("uops");
    for (const MicroOp& uop : uops_) {
      const std::uint32_t bits = *encoding_.encode(uop);
      for (unsigned k = 0; k < 4; ++k) *to++ = static_cast<std::uint8_t>(bits >> (8 * k));
    }
    const std::vector<Region> regions = program_.regions();
    if (const auto facts = verify(design_, program_.words, regions); !facts)
      fail(facts.error().text());
    if (const auto checked = check_determined(design_, program_.words, regions); !checked)
      fail(checked.error().text());
    return std::move(program_);
  }

  Bytes::iterator image_of(const char* name) {
    return program_.image.begin() + static_cast<std::ptrdiff_t>(part(name).address - program_.base);
  }

  // The generator's own mistake.
  [[noreturn]] static void fail(const std::string& what) {
    std::fprintf(stderr, "random VTA stream: %s\n", what.c_str());
    std::abort();
  }

  const Design& design_;
  VtaDice random_;
  Encoding encoding_;
  VtaProgram program_;
  VtaOrder order_;
  std::array<VtaWindow, kMemories> windows_;
  std::vector<MicroOp> uops_;    // in DRAM
  std::vector<MicroOp> loaded_;  // in the window
  std::uint64_t end_ = 0;
};

}  // namespace

std::vector<Region> VtaProgram::regions() const {
  std::vector<Region> out;
  for (const Part& part : parts) {
    Region region{part.name, part.address, part.bytes, part.writable};
    if (part.constant) region.contents = ByteView(image).subspan(part.address - base, part.bytes);
    out.push_back(std::move(region));
  }
  return out;
}

VtaProgram random_vta_program(const Design& design, std::uint64_t seed, std::size_t size) {
  return Writer(design, seed).write(size);
}

}  // namespace fettle::testing

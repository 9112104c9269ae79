// Entries that instructions touch (accesses.h).
#include "host/backend/vta/accesses.h"

#include <algorithm>

namespace fettle::vta::host {
namespace {

using Where = Access::Where;

// All values of an index over the loops and micro-ops, as ranges.
void add_indices(std::vector<Access>& to, std::span<const MicroOp> uops,
                 std::uint16_t MicroOp::* field, const Loops& loops, std::size_t factor_out,
                 std::size_t factor_in, std::size_t depth, Where where, bool writes) {
  std::vector<bool> own(depth, false), all(depth, false);
  for (const MicroOp& uop : uops) own[uop.*field] = true;
  const std::size_t outs = factor_out == 0 ? 1 : loops.iter_out,
                    ins = factor_in == 0 ? 1 : loops.iter_in;
  std::vector<std::size_t> firsts;
  for (std::size_t at = 0; at < depth; ++at) {
    if (own[at]) firsts.push_back(at);
  }
  for (std::size_t out = 0; out < outs; ++out) {
    for (std::size_t in = 0; in < ins; ++in) {
      for (const std::size_t first : firsts) all[first + out * factor_out + in * factor_in] = true;
    }
  }
  for (std::uint32_t at = 0; at < depth; ++at) {
    if (!all[at]) continue;
    const std::uint32_t first = at;
    while (at < depth && all[at]) ++at;
    to.push_back({where, first, at, writes});
  }
}

}  // namespace

AccessFinder::AccessFinder(const Design& design, std::span<const Region> regions)
    : design_(design), regions_(regions), uops_(design), grain_(~0u) {
  for (std::size_t i = 0; i < kMemories; ++i) {
    grain_ = std::min(grain_, design.element_bytes(static_cast<Memory>(i)));
  }
  for (const Region& region : regions) {
    first_grain_.push_back(grains_);
    if (region.writable) grains_ += static_cast<std::uint32_t>(region.bytes / grain_ + 2);
  }
}

std::uint32_t AccessFinder::entries(Where where) const {
  switch (where) {
    case Where::Input:
      return design_.depth(Memory::Input);
    case Where::Weight:
      return design_.depth(Memory::Weight);
    case Where::Output:
      return design_.depth(Memory::Output);
    case Where::Dram:
      break;
  }
  return grains_;
}

std::span<const Access> AccessFinder::of(const Instruction& instruction) {
  found_.clear();
  if (const auto* load = std::get_if<Load>(&instruction.body)) {
    if (load->x_size > 0) add_load(*load);
  } else if (const auto* store = std::get_if<Store>(&instruction.body)) {
    if (store->x_size == 0) return found_;
    const std::uint32_t end = store->sram_base + std::uint32_t{store->x_size} * store->y_size;
    found_.push_back({Where::Output, store->sram_base, end, false});
    add_dram(*store, true);
  } else if (const auto* gemm = std::get_if<Gemm>(&instruction.body)) {
    return cached(*gemm, gemm);
  } else if (const auto* alu = std::get_if<Alu>(&instruction.body)) {
    return cached(*alu, nullptr);
  }
  return found_;
}

void AccessFinder::add_load(const Load& load) {
  add_dram(load, false);
  if (load.memory == Memory::Uop) {
    uops_.load(load, *region_of(range_of(design_, load), regions_));
    known_.clear();
  }
  if (load.memory != Memory::Input && load.memory != Memory::Weight) return;
  const std::uint32_t row = load.x_pad_left + load.x_size + load.x_pad_right;
  const std::uint32_t rows = load.y_pad_top + load.y_size + load.y_pad_bottom;
  found_.push_back({load.memory == Memory::Input ? Where::Input : Where::Weight, load.sram_base,
                    load.sram_base + row * rows, true});
}

void AccessFinder::add_dram(const Transfer& transfer, bool writes) {
  const Region* region = region_of(range_of(design_, transfer), regions_);
  if (!region->writable) return;
  const std::uint64_t element = design_.element_bytes(transfer.memory);
  const std::uint64_t begin = region->address / grain_;
  const std::uint32_t first = first_grain_[static_cast<std::size_t>(region - regions_.data())];
  std::uint64_t row = transfer.dram_base * element;
  for (std::uint32_t y = 0; y < transfer.y_size; ++y, row += transfer.x_stride * element) {
    const std::uint64_t end = (row + transfer.x_size * element + grain_ - 1) / grain_;
    found_.push_back({Where::Dram, first + static_cast<std::uint32_t>(row / grain_ - begin),
                      first + static_cast<std::uint32_t>(end - begin), writes});
  }
}

std::vector<Access> AccessFinder::steps_of(const Loops& loops, const Gemm* gemm) const {
  const std::span<const MicroOp> uops = uops_.of(loops);
  std::vector<Access> found;
  add_indices(found, uops, &MicroOp::dst, loops, loops.dst_factor_out, loops.dst_factor_in,
              design_.depth(Memory::Output), Where::Output, true);
  if (!gemm || gemm->reset) return found;
  add_indices(found, uops, &MicroOp::src, loops, loops.src_factor_out, loops.src_factor_in,
              design_.depth(Memory::Input), Where::Input, false);
  add_indices(found, uops, &MicroOp::wgt, loops, gemm->wgt_factor_out, gemm->wgt_factor_in,
              design_.depth(Memory::Weight), Where::Weight, false);
  return found;
}

// The same instruction comes for one tile after the other.
std::span<const Access> AccessFinder::cached(const Loops& loops, const Gemm* gemm) {
  const Key key{loops.uop_begin,
                loops.uop_end,
                loops.iter_out,
                loops.iter_in,
                loops.dst_factor_out,
                loops.dst_factor_in,
                loops.src_factor_out,
                loops.src_factor_in,
                static_cast<std::uint16_t>(!gemm         ? 2
                                           : gemm->reset ? 1
                                                         : 0),
                gemm ? gemm->wgt_factor_out : std::uint16_t{0},
                gemm ? gemm->wgt_factor_in : std::uint16_t{0}};
  const auto known = known_.find(key);
  if (known != known_.end()) return known->second;
  return known_.emplace(key, steps_of(loops, gemm)).first->second;
}

}  // namespace fettle::vta::host

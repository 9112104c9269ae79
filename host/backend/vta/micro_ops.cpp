// Nests compressed into loops and micro-ops (micro_ops.h).
#include "host/backend/vta/micro_ops.h"

#include <algorithm>
#include <tuple>

#include "fpga/isa/hazard.h"

namespace fettle::vta::host {
namespace {

constexpr std::int64_t kMostIterations = (1 << 14) - 1;

// One loop for two, where the outer one goes on as the inner one ends.
bool join(std::vector<NestAxis>& axes) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    for (std::size_t b = 0; b < axes.size(); ++b) {
      const NestAxis &outer = axes[a], &inner = axes[b];
      if (a == b || outer.dst != inner.dst * inner.extent ||
          outer.src != inner.src * inner.extent || outer.wgt != inner.wgt * inner.extent ||
          outer.extent * inner.extent > kMostIterations) {
        continue;
      }
      axes[b].extent *= axes[a].extent;
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(a));
      return true;
    }
  }
  return false;
}

// Which two of the axes are loops; the index behind the last one: none.
struct Choice {
  std::size_t out, in;
  std::int64_t uops;
};

class Nester {
 public:
  Nester(const Design& design, std::vector<NestAxis> axes, MicroOp first, bool alu)
      : design_(design), axes_(std::move(axes)), first_(first), alu_(alu) {}

  std::optional<Nest> best() const {
    std::vector<Choice> choices;
    for (std::size_t out = 0; out <= axes_.size(); ++out) {
      for (std::size_t in = 0; in <= axes_.size(); ++in) {
        if (out == in && in < axes_.size()) continue;
        if (!fits(out) || !fits(in)) continue;
        choices.push_back({out, in, uops_of(out, in)});
      }
    }
    std::stable_sort(choices.begin(), choices.end(),
                     [](const Choice& a, const Choice& b) { return a.uops < b.uops; });
    for (const Choice& choice : choices) {
      if (choice.uops > std::int64_t{design_.depth(Memory::Uop)}) break;
      Nest nest = nest_of(choice);
      if (design_.hazard_steps == 0 ||
          !find_hazard(nest.uops, nest.loops, alu_, design_.hazard_steps)) {
        return nest;
      }
    }
    return std::nullopt;
  }

 private:
  bool fits(std::size_t axis) const {
    if (axis == axes_.size()) return true;
    const auto below = [&](std::int64_t factor, Memory memory) {
      return factor < std::int64_t{design_.depth(memory)};
    };
    const NestAxis& of = axes_[axis];
    return of.extent <= kMostIterations && below(of.dst, Memory::Accumulator) &&
           below(of.src, alu_ ? Memory::Accumulator : Memory::Input) &&
           below(of.wgt, Memory::Weight);
  }

  std::int64_t uops_of(std::size_t out, std::size_t in) const {
    std::int64_t uops = 1;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (i != out && i != in) uops *= axes_[i].extent;
    }
    return uops;
  }

  Nest nest_of(const Choice& choice) const {
    const NestAxis out = choice.out < axes_.size() ? axes_[choice.out] : NestAxis{},
                   in = choice.in < axes_.size() ? axes_[choice.in] : NestAxis{};
    const auto field = [](std::int64_t value) { return static_cast<std::uint16_t>(value); };
    Nest nest;
    // Steps of one sum are as far apart as they can be.
    std::vector<NestAxis> rest;
    for (const bool sums : {true, false}) {
      for (std::size_t i = 0; i < axes_.size(); ++i) {
        if (i != choice.out && i != choice.in && (axes_[i].dst == 0) == sums) {
          rest.push_back(axes_[i]);
        }
      }
    }
    nest.uops.push_back(first_);
    for (const NestAxis& axis : rest) {
      std::vector<MicroOp> more;
      for (const MicroOp& from : nest.uops) {
        for (std::int64_t i = 0; i < axis.extent; ++i) {
          more.push_back({field(from.dst + i * axis.dst), field(from.src + i * axis.src),
                          field(from.wgt + i * axis.wgt)});
        }
      }
      nest.uops = std::move(more);
    }
    nest.loops = {0,
                  field(static_cast<std::int64_t>(nest.uops.size())),
                  field(out.extent),
                  field(in.extent),
                  field(out.dst),
                  field(in.dst),
                  field(out.src),
                  field(in.src)};
    nest.wgt_factor_out = field(out.wgt);
    nest.wgt_factor_in = field(in.wgt);
    return nest;
  }

  const Design& design_;
  std::vector<NestAxis> axes_;
  MicroOp first_;
  bool alu_;
};

}  // namespace

std::optional<Nest> nest_of(const Design& design, std::span<const NestAxis> axes, MicroOp first,
                            bool alu) {
  std::vector<NestAxis> some;
  for (const NestAxis& axis : axes) {
    if (axis.extent > 1) some.push_back(axis);
  }
  while (join(some)) {
  }
  return Nester(design, std::move(some), first, alu).best();
}

bool MicroOpTable::Less::operator()(const std::vector<MicroOp>& a,
                                    const std::vector<MicroOp>& b) const {
  return std::lexicographical_compare(
      a.begin(), a.end(), b.begin(), b.end(), [](const MicroOp& x, const MicroOp& y) {
        return std::tie(x.dst, x.src, x.wgt) < std::tie(y.dst, y.src, y.wgt);
      });
}

bool MicroOpTable::place(const std::vector<MicroOp>& uops) {
  if (begins_.contains(uops)) return false;
  const bool full = loaded() + uops.size() > depth_;
  if (full) {
    first_ = all_.size();
    begins_.clear();
  }
  begins_.emplace(uops, static_cast<std::uint16_t>(loaded()));
  all_.insert(all_.end(), uops.begin(), uops.end());
  return full;
}

std::uint16_t MicroOpTable::begin_of(const std::vector<MicroOp>& uops) const {
  return begins_.at(uops);
}

}  // namespace fettle::vta::host

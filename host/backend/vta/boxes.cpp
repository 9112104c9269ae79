// Boxes cut into transfers (boxes.h).
#include "host/backend/vta/boxes.h"

#include <algorithm>

namespace fettle::vta::host {
namespace {

constexpr std::int64_t kMostStride = (1 << 16) - 1;

// A LOAD's rows are side by side in DRAM: columns that lie apart are not worth a row each, as a
// row's first burst waits for the memory.
bool leaves_gaps_out(const SpatialAxis& axis) { return axis.apart() && axis.input_stride != 1; }

std::vector<BoxAxis> by_stride(std::span<BoxAxis* const> axes) {
  std::vector<BoxAxis> sorted;
  for (const BoxAxis* axis : axes) sorted.push_back(*axis);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const BoxAxis& a, const BoxAxis& b) { return a.on_chip < b.on_chip; });
  return sorted;  // innermost first
}

}  // namespace

InputWindow window_of(const SpatialAxis& axis, const Range& outputs) {
  InputWindow window;
  window.box.stride = axis.input_stride;
  const std::int64_t start = outputs.first * axis.step - axis.before;
  if (leaves_gaps_out(axis)) {
    window.box.extent = outputs.count;
    window.box.stride *= axis.step;
    window.first = start * axis.input_stride;
    return window;
  }
  const std::int64_t end = start + places_of(axis, outputs.count);
  const std::int64_t low = std::max<std::int64_t>(start, 0), high = std::min(end, axis.source);
  window.box.extent = high - low;
  window.box.before = low - start;
  window.box.behind = end - high;
  window.first = low * axis.input_stride;
  window.step = axis.step;
  window.dilation = axis.dilation;
  return window;
}

std::int64_t places_of(const SpatialAxis& axis, std::int64_t outputs) {
  return leaves_gaps_out(axis) ? outputs : (outputs - 1) * axis.step + axis.reach();
}

std::int64_t lay_out(std::span<BoxAxis* const> axes) {
  std::vector<BoxAxis*> sorted(axes.begin(), axes.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const BoxAxis* a, const BoxAxis* b) { return a->stride < b->stride; });
  std::int64_t elements = 1;
  for (BoxAxis* axis : sorted) {
    axis->on_chip = elements;
    elements *= axis->places();
  }
  return elements;
}

std::vector<Piece> pieces_of(std::span<BoxAxis* const> axes) {
  std::vector<BoxAxis> merged;  // innermost first
  for (const BoxAxis& axis : by_stride(axes)) {
    const bool plain = axis.before == 0 && axis.behind == 0;
    if (plain && axis.extent == 1) continue;
    if (plain && !merged.empty() && merged.back().before == 0 && merged.back().behind == 0 &&
        axis.stride == merged.back().stride * merged.back().extent) {
      merged.back().extent *= axis.extent;
    } else {
      merged.push_back(axis);
    }
  }
  auto next = merged.begin();
  Piece whole;
  if (next != merged.end() && (next->stride == 1 || next->extent == 1)) {
    whole.columns = next->extent;
    whole.left = next->before;
    whole.right = next->behind;
    whole.stride = next->extent;
    ++next;
  }
  if (next != merged.end() && next->stride <= kMostStride) {
    whole.rows = next->extent;
    whole.stride = next->stride;
    whole.top = next->before;
    whole.bottom = next->behind;
    ++next;
  }
  std::vector<Piece> pieces{whole};
  for (; next != merged.end(); ++next) {
    if (next->before > 0 || next->behind > 0) return {};
    std::vector<Piece> more;
    for (std::int64_t i = 0; i < next->extent; ++i) {
      for (Piece piece : pieces) {
        piece.on_chip += i * next->on_chip;
        piece.dram += i * next->stride;
        more.push_back(piece);
      }
    }
    pieces = std::move(more);
  }
  return pieces;
}

}  // namespace fettle::vta::host

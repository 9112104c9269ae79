// Offline placement of tensors, largest first, each in the smallest gap that takes it
// (memory_plan.h): "greedy by size", Pisarchyk and Lee, arXiv 2001.03288; then other orders while
// there is something to win.
#include "host/network/memory_plan.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <random>

namespace fettle::network {
namespace {

constexpr int kRounds = 4000;  // other orders
// Of all rounds: looks from a tensor at one that is placed. All rounds of some 500 tensors; of
// thousands, which take seconds in all, fewer.
constexpr std::uint64_t kLooks = 500'000'000;

std::uint64_t aligned(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) & ~(alignment - 1);
}

bool alive_together(const LiveTensor& a, const LiveTensor& b) {
  return a.first <= b.last && b.first <= a.last;
}

std::vector<std::size_t> largest_first(std::span<const LiveTensor> tensors) {
  std::vector<std::size_t> by_size(tensors.size());
  std::iota(by_size.begin(), by_size.end(), std::size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].bytes > tensors[b].bytes;
  });
  return by_size;
}

std::uint64_t most_alive(std::span<const LiveTensor> tensors) {
  std::uint64_t most = 0;
  for (const LiveTensor& at : tensors) {  // the sum grows only where one begins
    std::uint64_t sum = 0;
    for (const LiveTensor& other : tensors) {
      if (other.first <= at.first && at.first <= other.last) sum += other.bytes;
    }
    most = std::max(most, sum);
  }
  return most;
}

// In that order, each in the smallest gap that takes it; nothing, once more than `most` bytes are
// needed. `looks`: as kLooks counts them.
std::optional<MemoryPlan> placed_in(std::span<const std::size_t> order,
                                    std::span<const LiveTensor> tensors, std::uint64_t most,
                                    std::uint64_t& looks) {
  MemoryPlan plan;
  plan.offsets.resize(tensors.size());
  std::vector<std::size_t> placed;  // by offset
  for (const std::size_t t : order) {
    const LiveTensor& tensor = tensors[t];
    std::uint64_t end = 0, best = 0, best_gap = ~std::uint64_t{0};
    bool found = false;
    looks += placed.size();
    for (const std::size_t other : placed) {
      if (!alive_together(tensor, tensors[other])) continue;
      const std::uint64_t at = aligned(end, tensor.alignment), next = plan.offsets[other];
      if (at + tensor.bytes <= next && next - at < best_gap) {
        found = true, best = at, best_gap = next - at;
      }
      end = std::max(end, next + tensors[other].bytes);
    }
    plan.offsets[t] = found ? best : aligned(end, tensor.alignment);
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[t] + tensor.bytes);
    if (plan.arena_bytes > most) return std::nullopt;
    const auto after = std::upper_bound(
        placed.begin(), placed.end(), plan.offsets[t],
        [&](std::uint64_t offset, std::size_t other) { return offset < plan.offsets[other]; });
    placed.insert(after, t);
  }
  return plan;
}

}  // namespace

MemoryPlan plan_memory(std::span<const LiveTensor> tensors, const std::stop_token& stop) {
  std::vector<std::size_t> order = largest_first(tensors);
  std::uint64_t looks = 0;
  MemoryPlan best = *placed_in(order, tensors, ~std::uint64_t{0}, looks);
  best.live_bytes = most_alive(tensors);
  std::mt19937 random(1);
  looks = 0;
  for (int round = 0; round < kRounds && looks < kLooks; ++round) {
    if (best.arena_bytes == best.live_bytes || stop.stop_requested()) break;
    // A tensor that reaches the arena's end had no better place: it goes earlier.
    std::vector<std::size_t> topmost;
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (best.offsets[order[i]] + tensors[order[i]].bytes == best.arena_bytes) {
        topmost.push_back(i);
      }
    }
    const auto moved = static_cast<std::ptrdiff_t>(
        round % 2 == 0 ? topmost[random() % topmost.size()] : random() % order.size());
    const auto to = static_cast<std::ptrdiff_t>(random() % static_cast<unsigned>(moved + 1));
    std::vector<std::size_t> other = order;
    std::rotate(other.begin() + to, other.begin() + moved, other.begin() + moved + 1);
    std::optional<MemoryPlan> plan = placed_in(other, tensors, best.arena_bytes, looks);
    if (!plan) continue;
    plan->live_bytes = best.live_bytes;
    best = std::move(*plan), order = std::move(other);
  }
  return best;
}

BufferPlan plan_buffers(std::span<const LiveTensor> tensors) {
  BufferPlan plan;
  plan.of_tensor.resize(tensors.size());
  plan.live_bytes = most_alive(tensors);
  std::vector<std::vector<std::size_t>> tenants;
  for (const std::size_t t : largest_first(tensors)) {
    std::size_t b = 0;
    const auto taken = [&](std::size_t other) {
      return alive_together(tensors[t], tensors[other]);
    };
    const auto fits = [&] {
      return plan.buffers[b].bytes <= tensors[t].most_bytes &&
             std::none_of(tenants[b].begin(), tenants[b].end(), taken);
    };
    while (b < tenants.size() && !fits()) ++b;
    if (b == tenants.size()) {
      tenants.emplace_back();
      plan.buffers.push_back({tensors[t].bytes, 64});
      plan.total_bytes += tensors[t].bytes;
    }
    tenants[b].push_back(t);
    plan.of_tensor[t] = b;
    plan.buffers[b].alignment = std::max(plan.buffers[b].alignment, tensors[t].alignment);
  }
  return plan;
}

}  // namespace fettle::network

// Streams run over nothing (stream_time.h).
#include "host/backend/vta/stream_time.h"

#include <algorithm>

namespace fettle::vta::host {
namespace {

// DRAM that holds nothing but the stream and its constants.
class Nowhere : public Dram {
 public:
  explicit Nowhere(std::span<const Region> regions, ByteView words)
      : regions_(regions), words_(words) {}
  static constexpr std::uint64_t kStream = std::uint64_t{3} << 30;

  bool read(std::uint64_t address, std::span<std::uint8_t> to) override {
    std::fill(to.begin(), to.end(), std::uint8_t{0});
    copy(kStream, words_, address, to);
    for (const Region& region : regions_) copy(region.address, region.contents, address, to);
    return true;
  }
  bool write(std::uint64_t, std::span<const std::uint8_t>) override { return true; }

 private:
  static void copy(std::uint64_t base, ByteView from, std::uint64_t address,
                   std::span<std::uint8_t> to) {
    if (address < base || address + to.size() > base + from.size()) return;
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(address - base), to.size(), to.begin());
  }

  std::span<const Region> regions_;
  ByteView words_;
};

}  // namespace

std::uint64_t StreamTime::busy_cycles(Unit unit) const {
  std::uint64_t cycles = 0;
  for (const auto& [from, to] : busy[static_cast<std::size_t>(unit)]) cycles += to - from;
  return cycles;
}

Result<StreamTime> time_of(const Design& design, const Stream& stream) {
  auto simulator = Simulator::create(design);
  if (!simulator) return std::move(simulator).error();
  const Bytes words = bytes_of(stream.words);
  Nowhere dram(stream.data.regions, words);
  StreamTime time;
  auto run = simulator->run(dram, Nowhere::kStream, static_cast<std::uint32_t>(stream.words.size()),
                            ~std::uint64_t{0}, &time.spans);
  if (!run) return std::move(run).error();
  time.run = *run;
  std::stable_sort(time.spans.begin(), time.spans.end(),
                   [](const Span& a, const Span& b) { return a.from < b.from; });
  for (const Span& span : time.spans) {
    auto& of = time.busy[static_cast<std::size_t>(span.unit)];
    if (!of.empty() && span.from <= of.back().second) {
      of.back().second = std::max(of.back().second, span.to);
    } else if (span.to > span.from) {
      of.emplace_back(span.from, span.to);
    }
  }
  return time;
}

}  // namespace fettle::vta::host

// Pictures of a stream's time (timeline_picture.h).
#include "host/backend/vta/timeline_picture.h"

#include <fmt/format.h>

#include <algorithm>

#include "fpga/isa/disassemble.h"

namespace fettle::vta::host {
namespace {

constexpr Unit kLanes[] = {Unit::Load, Unit::Compute, Unit::Store};
constexpr int kLeft = 80, kWidth = 1200, kLane = 60, kGap = 14;  // of the drawing
constexpr std::size_t kBins = 300;                               // of the whole run's picture
constexpr std::uint64_t kDetail = 6000;                          // cycles of a closer look

struct Colour {
  const char* what;
  const char* fill;
};
constexpr Colour kLoadInput{"LOAD INP", "#4e79a7"}, kLoadWeight{"LOAD WGT", "#a0cbe8"},
    kLoadUop{"LOAD UOP", "#9c755f"}, kLoadAccumulator{"LOAD ACC", "#d7b5a6"},
    kGemm{"GEMM", "#59a14f"}, kReset{"GEMM reset", "#8cd17d"}, kAlu{"ALU", "#f28e2b"},
    kStore{"STORE", "#b07aa1"}, kNothing{"tokens, FINISH", "#bab0ac"};
constexpr Colour kColours[] = {kLoadInput, kLoadWeight, kLoadUop, kLoadAccumulator, kGemm,
                               kReset,     kAlu,        kStore,   kNothing};

const Colour& colour_of(const Instruction& instruction) {
  if (const auto* load = std::get_if<Load>(&instruction.body)) {
    if (load->x_size == 0) return kNothing;
    return load->memory == Memory::Input    ? kLoadInput
           : load->memory == Memory::Weight ? kLoadWeight
           : load->memory == Memory::Uop    ? kLoadUop
                                            : kLoadAccumulator;
  }
  if (const auto* gemm = std::get_if<Gemm>(&instruction.body)) return gemm->reset ? kReset : kGemm;
  if (const auto* store = std::get_if<Store>(&instruction.body)) {
    return store->x_size == 0 ? kNothing : kStore;
  }
  return std::holds_alternative<Alu>(instruction.body) ? kAlu : kNothing;
}

int top_of(std::size_t lane) { return static_cast<int>(lane) * (kLane + kGap); }

std::string text(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     words);
}

// A drawing of cycles [from, to) in three lanes, with a scale below.
std::string drawing(std::uint64_t from, std::uint64_t to, const std::string& inside) {
  const int bottom = top_of(3);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n",
      kLeft + kWidth + 20, bottom + 24);
  for (std::size_t lane = 0; lane < std::size(kLanes); ++lane) {
    out += text(kLeft - 8, top_of(lane) + kLane / 2.0 + 4, "end", name_of(kLanes[lane]));
    out += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#f2f2f2\"/>\n",
                       kLeft, top_of(lane), kWidth, kLane);
  }
  out += inside;
  for (unsigned i = 0; i <= 4; ++i) {
    out += text(kLeft + kWidth * i / 4.0, bottom + 10,
                i == 0   ? "start"
                : i == 4 ? "end"
                         : "middle",
                fmt::format("{}", from + (to - from) * i / 4));
  }
  return out + "</svg>\n";
}

std::string whole(const StreamTime& time) {
  const std::uint64_t cycles = time.run.cycles;
  const std::size_t bins = static_cast<std::size_t>(std::min<std::uint64_t>(kBins, cycles));
  std::string bars;
  for (std::size_t lane = 0; lane < std::size(kLanes); ++lane) {
    std::vector<std::uint64_t> busy(bins, 0);
    for (const auto& [from, to] : time.busy[static_cast<std::size_t>(kLanes[lane])]) {
      for (std::uint64_t at = from; at < std::min(to, cycles);) {
        const std::uint64_t bin = at * bins / cycles;
        // The first cycle that is of the next one.
        const std::uint64_t next = std::min(to, ((bin + 1) * cycles + bins - 1) / bins);
        busy[bin] += next - at;
        at = next;
      }
    }
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const std::uint64_t first = (bin * cycles + bins - 1) / bins,
                          end = ((bin + 1) * cycles + bins - 1) / bins;
      const double share = static_cast<double>(busy[bin]) / static_cast<double>(end - first);
      if (share == 0) continue;
      bars += fmt::format(
          "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"#4e79a7\">"
          "<title>{}: cycles {} to {}, at work {:.0f} %</title></rect>\n",
          kLeft + static_cast<double>(kWidth * bin) / static_cast<double>(bins),
          top_of(lane) + kLane * (1 - share),
          static_cast<double>(kWidth) / static_cast<double>(bins), kLane * share,
          name_of(kLanes[lane]), first, end, 100 * share);
    }
  }
  std::string out =
      fmt::format("<h2>{} cycles</h2>\n<p>How much of the time each unit is at work:", cycles);
  for (const Unit unit : kLanes) {
    out +=
        fmt::format(" {} {:.1f} %{}", name_of(unit),
                    100 * static_cast<double>(time.busy_cycles(unit)) / static_cast<double>(cycles),
                    unit == Unit::Store ? ".</p>\n" : ",");
  }
  return out + drawing(0, cycles, bars);
}

// Each instruction that is at work in [from, to). What overlaps within a unit is drawn in two rows.
std::string closer(const Stream& stream, const StreamTime& time, std::uint64_t from,
                   std::uint64_t to) {
  const double scale = kWidth / static_cast<double>(to - from);
  std::string bars;
  std::array<std::array<std::uint64_t, 2>, kUnits> until = {};
  for (const Span& span : time.spans) {
    if (span.to <= from || span.from >= to) continue;
    const std::size_t lane = static_cast<std::size_t>(
        std::find(std::begin(kLanes), std::end(kLanes), span.unit) - std::begin(kLanes));
    auto& rows = until[lane];
    const std::size_t row = rows[0] <= span.from || rows[0] <= rows[1] ? 0 : 1;
    rows[row] = std::max(rows[row], span.to);
    const std::uint64_t begin = std::max(from, span.from), end = std::min(to, span.to);
    const Instruction& instruction = stream.instructions[span.instruction];
    bars += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\" stroke=\"#fff\" "
        "stroke-width=\"0.4\"><title>{} {}: cycles {} to {}</title></rect>\n",
        kLeft + static_cast<double>(begin - from) * scale,
        top_of(lane) + 2 + static_cast<int>(row) * (kLane / 2),
        std::max(0.6, static_cast<double>(end - begin) * scale), kLane / 2 - 4,
        colour_of(instruction).fill, span.instruction, disassemble(instruction), span.from,
        span.to);
  }
  return fmt::format("<h2>Cycles {} to {}</h2>\n", from, to) + drawing(from, to, bars);
}

std::string legend() {
  std::string out = "<p>";
  for (const Colour& colour : kColours) {
    out += fmt::format("<span style=\"background:{}\">&nbsp;&nbsp;&nbsp;</span> {} &nbsp; ",
                       colour.fill, colour.what);
  }
  return out + "</p>\n";
}

}  // namespace

std::string timeline_picture(const Stream& stream, const StreamTime& time) {
  const std::uint64_t cycles = time.run.cycles;
  std::string out = whole(time) + legend();
  if (cycles <= 3 * kDetail) return out + closer(stream, time, 0, cycles);
  const std::uint64_t middle = (cycles - kDetail) / 2;
  return out + closer(stream, time, 0, kDetail) + closer(stream, time, middle, middle + kDetail) +
         closer(stream, time, cycles - kDetail, cycles);
}

}  // namespace fettle::vta::host

// How fast the simulator of VTA is, and what it estimates: ResNet-18's int8 layers by the tests'
// one schedule, checked against plain sums.   vta_layers [DESIGN]
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "fpga/sim/simulator.h"
#include "tests/support/vta_conv.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace fettle;
  const auto design = vta::find_design(argc > 1 ? argv[1] : "pynq");
  if (!design) return std::fprintf(stderr, "%s\n", design.error().text().c_str()), 1;
  std::printf("%-24s %8s %10s %7s %9s %9s %9s\n", "layer", "instr.", "cycles", "GOPS", "steps",
              "verify ms", "run ms");
  for (const testing::VtaConv& conv : testing::resnet_18_vta()) {
    const testing::VtaProgram program = testing::vta_conv_program(*design, conv, 1);
    auto begin = std::chrono::steady_clock::now();
    const auto facts = vta::verify(*design, program.words, program.regions());
    const double verified = seconds_since(begin);
    if (!facts) return std::fprintf(stderr, "%s\n", facts.error().text().c_str()), 1;
    auto simulator = vta::Simulator::create(*design);
    Bytes image = program.image;
    vta::DramImage dram(program.base, image);
    begin = std::chrono::steady_clock::now();
    const auto run =
        simulator->run(dram, program.stream, static_cast<std::uint32_t>(program.words.size()));
    const double ran = seconds_since(begin);
    if (!run) return std::fprintf(stderr, "%s\n", run.error().text().c_str()), 1;
    const ByteView output = testing::vta_part(program, image, "output");
    const Bytes expected = testing::vta_conv_expected(program, conv);
    if (!std::equal(output.begin(), output.end(), expected.begin(), expected.end())) {
      return std::fprintf(stderr, "wrong output\n"), 1;
    }
    const double macs = static_cast<double>(facts->gemm_steps * design->macs_per_uop());
    const double layer_seconds = static_cast<double>(run->cycles) / (design->clock_khz * 1e3);
    std::printf("%2ux%-2u %3u->%-3u %ux%u /%u        %8zu %10llu %7.2f %8.1f%% %9.2f %9.2f\n",
                conv.height, conv.width, conv.in_blocks * design->block_in,
                conv.out_blocks * design->block_out, conv.kernel, conv.kernel, conv.stride,
                program.words.size(), static_cast<unsigned long long>(run->cycles),
                2 * macs / layer_seconds / 1e9,
                100.0 * static_cast<double>(run->step_cycles) / static_cast<double>(run->cycles),
                1e3 * verified, 1e3 * ran);
  }
}

// Kernels in .xclbin files (kernel.h).
#include "fpga/xrt/kernel.h"

#include "fpga/bitstream/bitstream.h"
#include "fpga/bitstream/xclbin.h"

namespace fettle::vta {
namespace {

std::string kernel_of(const std::string& compute_unit) {
  return compute_unit.substr(0, compute_unit.find(':'));
}

// The design, and the compute unit that has its core.
Result<std::pair<Design, std::string>> find_core(const std::vector<std::string>& compute_units) {
  std::string there, known;
  for (const std::string& unit : compute_units) {
    for (const Design& design : designs()) {
      if (design.core == Core::Fettle && kernel_of(unit) == xrt_kernel_name(design)) {
        return std::pair(design, unit);
      }
    }
    there += (there.empty() ? "" : ", ") + kernel_of(unit);
  }
  for (const Design& design : designs()) {
    if (design.core != Core::Fettle) continue;
    known += (known.empty() ? "" : ", ") + xrt_kernel_name(design) + " (" + design.name + ")";
  }
  return Error{ErrorCode::WrongConfiguration,
               (there.empty() ? "it has no kernels" : "its kernels are " + there) +
                   "; accelerators known here are " + known};
}

Result<void> check_part(const Xclbin& xclbin, const Design& design) {
  const auto wrong = [&](std::string_view die) {
    return Error{ErrorCode::WrongConfiguration, "it is for an " + std::string(die) +
                                                    ", and the design '" + design.name +
                                                    "' for an " + design.die};
  };
  if (!xclbin.part.empty() && xclbin.part != design.die) return wrong(xclbin.part);
  if (!xclbin.bitstream) return {};
  // One of a form that is not read here is XRT's to judge, and the device's.
  const auto bits = parse_bitstream(*xclbin.bitstream);
  const auto die = bits && bits->idcode ? die_of_idcode(*bits->idcode) : std::nullopt;
  if (die && die->name != design.die) return wrong(die->name);
  return {};
}

}  // namespace

std::string xrt_kernel_name(const Design& design) {
  return "fettle_vta_" + to_hex(design.identity()).substr(0, 16);
}

Result<XrtKernel> read_xrt_kernel(ByteView file) {
  const auto xclbin = parse_xclbin(file);
  if (!xclbin) return xclbin.error();
  auto core = find_core(xclbin->compute_units);
  if (!core) return std::move(core).error();
  auto& [design, unit] = *core;
  if (auto fits = check_part(*xclbin, design); !fits) return std::move(fits).error();
  const std::uint32_t clock_khz = xclbin->clock_khz.value_or(design.clock_khz);
  if (clock_khz == 0) return Error{ErrorCode::Malformed, ".xclbin: its kernels' clock is 0 MHz"};
  const std::size_t colon = unit.find(':');
  std::string name = unit;
  if (colon != std::string::npos) {
    name = unit.substr(0, colon) + ":{" + unit.substr(colon + 1) + "}";
  }
  return XrtKernel{std::move(design), std::move(name), xclbin->platform, clock_khz};
}

}  // namespace fettle::vta

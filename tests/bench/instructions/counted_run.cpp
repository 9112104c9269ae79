// Two emulated runs for each count (counted_run.h).
#include "tests/bench/instructions/counted_run.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/support/emulated_run.h"

namespace fettle::bench {
namespace {

struct Arch {
  const char* name;
  const char* qemu;  // "": not found when this was built
  const char* cpu;
  const char* libraries;  // of the C library for qemu's -L
  const char* xnnpack_runner;
};

// The paths come from CMakeLists.txt. The CPUs: those of the generic target profiles.
constexpr Arch kArchs[] = {
    {"aarch64", FETTLE_COUNTING_AARCH64, "cortex-a72", "/usr/aarch64-linux-gnu",
     FETTLE_XNNPACK_AARCH64},
    {"armv7", FETTLE_COUNTING_ARMV7, "cortex-a9", "/usr/arm-linux-gnueabihf", FETTLE_XNNPACK_ARMV7},
};

const Arch* find_arch(const std::string& name) {
  for (const Arch& arch : kArchs) {
    if (arch.name == name) return &arch;
  }
  return nullptr;
}

bool readable(const char* path) { return *path != 0 && access(path, R_OK) == 0; }

// A file for the plugin's count, gone with this object.
class CountFile {
 public:
  CountFile() {
    std::string pattern = std::filesystem::temp_directory_path() / "fettle-count-XXXXXX";
    const int file = mkstemp(pattern.data());
    if (file >= 0) close(file);
    path_ = pattern;
  }
  CountFile(const CountFile&) = delete;
  ~CountFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  testing::Emulator emulator(const Arch& arch) const {
    return {arch.qemu,
            {"-cpu", arch.cpu, "-L", arch.libraries, "-plugin",
             std::string(FETTLE_COUNT_PLUGIN) + ",out=" + path_}};
  }
  Result<std::uint64_t> read() const {
    std::uint64_t count = 0;
    if (std::ifstream(path_) >> count) return count;
    return Error{
        ErrorCode::Unsupported, "qemu counted nothing: a static qemu-user cannot load plugins", {}};
  }

 private:
  std::string path_;
};

std::vector<float> as_floats(const std::vector<std::uint8_t>& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

struct Once {
  std::uint64_t instructions;
  std::vector<float> output;
};

constexpr const char* kNoPlugins = "no qemu-user that loads plugins: ./dev setup";

Result<Once> run_program(const Arch& arch, const wire::ProgramT& program) {
  if (!readable(arch.qemu)) return Error{ErrorCode::Unsupported, kNoPlugins, {}};
  const CountFile file;
  auto buffers = testing::run_emulated(program, 1, file.emulator(arch));
  if (!buffers) return std::move(buffers).error();
  auto count = file.read();
  if (!count) return std::move(count).error();
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    if (program.buffers[i]->role == wire::BufferRole::Output) {
      return Once{*count, as_floats((*buffers)[i])};
    }
  }
  return Error{ErrorCode::Internal, "a program without an output", {}};
}

// [kernel y][kernel x][in][out], as [out][kernel y][kernel x][in].
std::vector<float> transposed(const std::vector<float>& weight, std::size_t out) {
  std::vector<float> result(weight.size());
  const std::size_t rows = weight.size() / out;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t o = 0; o < out; ++o) result[o * rows + row] = weight[row * out + o];
  }
  return result;
}

void append(std::vector<std::uint8_t>& to, const std::vector<float>& values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  to.insert(to.end(), bytes, bytes + values.size() * sizeof(float));
}

std::string not_supported(const Layer& layer) {
  const Shape& s = layer.shape;
  if (layer.kind != LayerKind::Convolution || layer.volume) return layer.workload.call()->op();
  if (!layer.residual.empty() || !layer.relu || layer.bias.empty()) return "this tail";
  if (s.batch != 1 || (s.groups != 1 && s.groups != s.in_channels))
    return "this batch or these groups";
  if (s.groups != 1 && s.out_channels != s.in_channels) return "a channel multiplier";
  for (const auto& pair : {s.kernel, s.stride, s.pad, s.dilation}) {
    if (pair[0] != pair[1]) return "windows that are not square";
  }
  return s.dilation[0] == 1 ? "" : "dilation";
}

Result<Once> run_xnnpack(const Arch& arch, const Layer& layer,
                         const std::vector<std::uint8_t>& input, int runs) {
  const Shape& s = layer.shape;
  std::vector<std::string> command = {arch.xnnpack_runner};
  for (const std::int64_t number :
       {s.height, s.width, s.in_channels, s.groups == 1 ? s.out_channels : 0, s.kernel[0],
        s.stride[0], s.pad[0], std::int64_t{runs}}) {
    command.push_back(std::to_string(number));
  }
  const CountFile file;
  auto output = testing::converse(file.emulator(arch), command, input);
  if (!output) return std::move(output).error().in("running XNNPACK");
  auto count = file.read();
  if (!count) return std::move(count).error();
  return Once{*count, as_floats(*output)};
}

}  // namespace

std::string counting_missing(const std::string& arch_name) {
  const Arch* arch = find_arch(arch_name);
  if (arch == nullptr) return "instructions are counted for aarch64 and armv7";
  const std::string lacking = testing::emulation_missing(arch_name);
  if (!lacking.empty()) return lacking;
  if (!readable(arch->qemu)) return kNoPlugins;
  if (!readable(arch->xnnpack_runner)) {
    return "no XNNPACK for " + arch_name + ": run toolchains/xnnpack.sh " + arch_name +
           ", then build again";
  }
  return "";
}

Result<CountedRun> count_program(const std::string& arch_name, wire::ProgramT& program) {
  const Arch* arch = find_arch(arch_name);
  if (arch == nullptr) return Error{ErrorCode::Unsupported, counting_missing(arch_name), {}};
  auto run = run_program(*arch, program);
  if (!run) return std::move(run).error();
  // The same without its Run launches: loading, filling, packing, writing it all out.
  std::vector<std::unique_ptr<wire::LaunchT>> launches = std::move(program.launches);
  program.launches.clear();
  for (const auto& launch : launches) {
    if (launch->phase == wire::Phase::Run) continue;
    program.launches.push_back(std::make_unique<wire::LaunchT>(*launch));
  }
  auto nothing = run_program(*arch, program);
  program.launches = std::move(launches);
  if (!nothing) return std::move(nothing).error();
  return CountedRun{run->instructions - nothing->instructions, std::move(run->output)};
}

Result<CountedRun> count_xnnpack(const std::string& arch_name, const Layer& layer) {
  const Arch* arch = find_arch(arch_name);
  if (arch == nullptr) return Error{ErrorCode::Unsupported, counting_missing(arch_name), {}};
  const std::string refused = not_supported(layer);
  if (!refused.empty()) return Error{ErrorCode::Unsupported, "no peer for " + refused, {}};
  std::vector<std::uint8_t> input;
  append(input, layer.input);
  const bool depthwise = layer.shape.groups != 1;
  append(input, depthwise
                    ? layer.weight
                    : transposed(layer.weight, static_cast<std::size_t>(layer.shape.out_channels)));
  append(input, layer.bias);
  // Twice and once: the first run also binds symbols.
  auto once = run_xnnpack(*arch, layer, input, 1);
  if (!once) return std::move(once).error();
  auto twice = run_xnnpack(*arch, layer, input, 2);
  if (!twice) return std::move(twice).error();
  return CountedRun{twice->instructions - once->instructions, std::move(twice->output)};
}

}  // namespace fettle::bench

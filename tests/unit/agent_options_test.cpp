// The agent's options, configuration and keys.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "agent/device/registry.h"
#include "agent/device/vta/vta_device.h"
#include "agent/platform/cpu_facts.h"
#include "agent/server/broker_link.h"
#include "agent/server/options.h"
#include "schemas/wire/native_arch.h"
#include "tests/unit/fake_root.h"

namespace fettle::agent {
namespace {

std::vector<std::string> serving(std::vector<std::string> more) {
  std::vector<std::string> all = {"--broker", "tcp://h:1", "--broker-key", "k", "--key-fd", "3"};
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST(Options, DevicesAndDefaults) {
  const auto out =
      parse_options(serving({"--memory-limit=8", "--key", "big", "--cpu=cortex-a72", "--key",
                             "little", "--threads", "2", "--emulated", "--clock=instructions"}));
  ASSERT_TRUE(out.ok()) << out.error().text();
  ASSERT_EQ(out->devices.size(), 2u);
  EXPECT_EQ(out->devices[0].cpu, "cortex-a72");
  EXPECT_EQ(out->devices[1].cpu, "");
  EXPECT_EQ(out->devices[1].index, 1u);
  EXPECT_EQ(out->devices[1].threads, 2u);
  EXPECT_TRUE(out->devices[1].emulated);
  EXPECT_EQ(out->devices[0].clock, wire::ClockDomain::Nanoseconds);
  EXPECT_EQ(out->devices[1].clock, wire::ClockDomain::Instructions);
  for (const auto& device : out->devices) EXPECT_EQ(device.memory_limit_bytes, 8u << 20);
}

// A key of the board's own brings its other keys; one of the user's brings the profile only.
TEST_F(FakeRoot, NamedDevicesOfARecognisedBoard) {
  put("/proc/device-tree/compatible", std::string("rockchip,rk3399\0", 16));
  const std::string first = std::to_string(usable_cores().front());  // of this machine
  put("/sys/devices/system/cpu/cpu" + first + "/regs/identification/midr_el1",
      "0x00000000410fd082\n");
  auto profiles = board_profiles();
  for (auto& profile : profiles) profile.arch = native_arch();
  const auto of = [&](std::vector<std::string> device) {
    return parse_options(serving(std::move(device)), root(), profiles);
  };
  const auto own = of({"--key", "rk3399-big", "--device-cores", first});
  const auto lab = of({"--key", "lab", "--device-cores", first}), none = of({});
  ASSERT_TRUE(own.ok() && lab.ok() && none.ok());
  EXPECT_EQ(own->devices[0].profile, "rk3399-big");
  EXPECT_EQ(own->devices[0].aliases, (std::vector<std::string>{"rk3399"}));
  EXPECT_EQ(lab->devices[0].profile, "rk3399-big");
  EXPECT_TRUE(lab->devices[0].aliases.empty());
  EXPECT_EQ(none->devices[0].key, "rk3399");
  EXPECT_EQ(none->devices[0].aliases, (std::vector<std::string>{"rk3399-big"}));
  // Beside the cores, its GPU: where nobody named a device.
  ASSERT_EQ(none->devices.size(), 2u);
  EXPECT_EQ(none->devices[1].key, "rk3399-mali");
  EXPECT_EQ(none->devices[1].kind, wire::DeviceKind::OpenCl);
  EXPECT_EQ(none->devices[1].index, 1u);
  EXPECT_TRUE(none->devices[1].beside && !none->devices[0].beside);
  EXPECT_EQ(own->devices.size(), 1u);
  // What is known of a board that no profile fits is what it says itself.
  for (auto& profile : profiles) profile.arch = "other";
  EXPECT_EQ(of({"--key", "rk3399"})->devices[0].profile, "");
}

TEST_F(FakeRoot, ANamedDeviceIsOfOneKindOfCores) {
  const auto cores = usable_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core here";
  put("/proc/device-tree/compatible", std::string("rockchip,rk3399\0", 16));
  for (std::uint32_t core : cores) {
    put("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/regs/identification/midr_el1",
        core == cores.front() ? "0x00000000410fd082\n" : "0x00000000410fd034\n");
  }
  auto profiles = board_profiles();
  for (auto& profile : profiles) profile.arch = native_arch();
  const auto of = [&](std::vector<std::string> device) {
    return parse_options(serving(std::move(device)), root(), profiles);
  };
  const auto little = of({"--key", "rk3399-little"}), lab = of({"--key", "lab"});
  ASSERT_TRUE(little.ok()) << little.error().text();
  EXPECT_EQ(little->devices[0].cores, std::vector<std::uint32_t>(cores.begin() + 1, cores.end()));
  EXPECT_EQ(little->devices[0].profile, "rk3399-little");
  ASSERT_FALSE(lab.ok());
  EXPECT_NE(lab.error().text().find("cores differ: " + std::to_string(cores.front()) +
                                    " (cortex-a72, rk3399); "),
            std::string::npos)
      << lab.error().text();
}

TEST(Options, EachMistakeIsOneLine) {
  const struct {
    std::vector<std::string> words;
    const char* says;
  } rows[] = {
      {{}, "--broker is needed"},
      {serving({}), "--key is needed"},
      {serving({"--clock", "ticks"}), "--clock takes"},
      {{"--broker", "http://x", "--key", "a"}, "tcp://HOST:PORT"},
      {{"--broker", "tcp://h:1", "--key", "a"}, "--broker-key is needed"},
      {serving({"--key", "a", "--nonsense", "1"}), "unknown option --nonsense"},
      {serving({"--key", "a", "--threads", "0"}), "--threads takes"},
      {serving({"--key", "a", "--device-cores", "x"}), "--device-cores takes"},
      {serving({"--key", "a", "--device-cores", "4000"}), "may not use"},
      {serving({"--key", "a", "--memory-limit", "-1"}), "--memory-limit takes"},
      {serving({"--key", "a", "--log-level", "loud"}), "--log-level takes"},
      {serving({"--key", "a", "--worker-patience", "an hour"}), "--worker-patience takes seconds"},
      {serving({"--key", "a", "--device-kind", "null", "--threads", "1"}), "no option of a device"},
      {serving({"--key"}), "needs a value"},
      {{"--config", "/nonexistent/agent.toml"}, "while reading the configuration"},
  };
  for (const auto& row : rows) {
    const auto out = parse_options(row.words);
    ASSERT_FALSE(out.ok()) << row.says;
    EXPECT_EQ(
        out.error().code == ErrorCode::InvalidArgument || out.error().code == ErrorCode::NotFound,
        true);
    EXPECT_NE(out.error().text().find(row.says), std::string::npos) << out.error().text();
    EXPECT_EQ(out.error().text().find('\n'), std::string::npos);
  }
}

TEST(Options, OptionsForAllDevicesConcernThoseThatKnowThem) {
  const auto out = parse_options(
      serving({"--threads", "1", "--key", "a", "--key", "b", "--device-kind", "null"}));
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ(out->devices[0].threads, 1u);
}

// What its driver's loader has to know travels to the worker; nothing else of a GPU is known yet.
TEST(Options, AGpuIsDescribedByItsOptions) {
  const auto out = parse_options(
      serving({"--key", "cpu", "--key", "gpu", "--device-kind", "cuda", "--cuda-device", "1",
               "--cuda-library", "/opt/libcuda.so,libcuda.so.1", "--worker-gpu", "/w"}));
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ(out->worker_gpu, "/w");
  const DeviceRow& row = *find_device_row(out->devices[1].kind);
  EXPECT_EQ(std::get<WorkerProgram>(row.worker), WorkerProgram::Gpu);
  const auto info = row.describe(out->devices[1], SystemRoot());
  EXPECT_EQ(info.key, "gpu");
  EXPECT_EQ(info.index, 1u);
  EXPECT_EQ(info.kind, wire::DeviceKind::Cuda);
  EXPECT_FALSE(info.gpu);
  ASSERT_EQ(info.extra.size(), 2u);
  EXPECT_EQ(info.extra[0]->name, "cuda-device");
  EXPECT_EQ(info.extra[0]->value, "1");
  EXPECT_EQ(info.extra[1]->value, "/opt/libcuda.so,libcuda.so.1");
  EXPECT_FALSE(parse_options(serving({"--key", "a", "--cuda-device", "0"})).ok()) << "of a CPU";
  EXPECT_FALSE(
      parse_options(serving({"--key", "a", "--device-kind", "cuda", "--cuda-device", "first"}))
          .ok());
}

TEST(Options, AnAcceleratorIsDescribedByItsDesign) {
  const auto described = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"--key", "vta-sim", "--device-kind", "vta"};
    words.insert(words.end(), more.begin(), more.end());
    return parse_options(serving(words));
  };
  const auto usual = described({});
  const auto stock = described({"--vta-design", "vta-stock", "--memory-limit", "16"});
  ASSERT_TRUE(usual.ok() && stock.ok());
  const DeviceRow& row = *find_device_row(wire::DeviceKind::Vta);
  const auto info = row.describe(usual->devices[0], SystemRoot());
  EXPECT_EQ(info.name, "VTA design pynq, simulated");
  EXPECT_EQ(info.memory_limit_bytes, 128u << 20);
  const auto other = row.describe(stock->devices[0], SystemRoot());
  EXPECT_EQ(other.name, "VTA design vta-stock, simulated");
  EXPECT_EQ(other.memory_limit_bytes, 16u << 20);
  EXPECT_EQ(other.fpga->configuration.rfind("vta-stock ", 0), 0u);
  EXPECT_EQ(described({"--vta-design", "zynq"}).error().message,
            "--vta-design takes one of pynq, vta-stock, zcu104, not 'zynq'");
  EXPECT_EQ(described({"--vta-core", "rtl"}).error().message,
            "--vta-core takes one of simulator, board, not 'rtl'");
  EXPECT_FALSE(parse_options(serving({"--key", "a", "--vta-design", "pynq"})).ok()) << "of a CPU";
  EXPECT_EQ(described({"--vta-core", "board", "--vta-bitstream", "x.bit"}).error().message,
            "--vta-bitstream takes a file's whole path, not 'x.bit'");
  const auto board = described({"--vta-core", "board", "--vta-bitstream", "/b/x.bit"});
  ASSERT_TRUE(board.ok()) << board.error().text();
  const auto cycles =
      find_device_row(wire::DeviceKind::Vta)->describe(board->devices[0], SystemRoot());
  EXPECT_EQ(cycles.name, "VTA design pynq, in programmable logic");
  EXPECT_FALSE(cycles.emulated);
  EXPECT_EQ(cycles.clock, wire::ClockDomain::AcceleratorCycles);
  const auto counted_by_cpu = described({"--vta-core", "board", "--vta-design", "vta-stock"});
  ASSERT_TRUE(counted_by_cpu.ok());
  const auto nanoseconds =
      find_device_row(wire::DeviceKind::Vta)->describe(counted_by_cpu->devices[0], SystemRoot());
  EXPECT_EQ(nanoseconds.clock, wire::ClockDomain::Nanoseconds) << "a core without a counter";
  EXPECT_EQ(nanoseconds.clock_hz, 1e9);
  const auto helped = helper_devices(counted_by_cpu->devices);
  ASSERT_EQ(helped.size(), 1u);
  EXPECT_EQ(helped[0].logic.file, "/lib/firmware/fettle/vta-stock.bit");
  EXPECT_EQ(helper_devices(board->devices)[0].logic.file, "/b/x.bit");
  EXPECT_TRUE(helper_devices(stock->devices).empty()) << "of a simulator";
}

TEST(Options, HelpNamesTheKindOfAnOption) {
  EXPECT_NE(option_help().find("cpu: most threads"), std::string::npos) << option_help();
}

TEST(Options, HelpTellsTheExitStatuses) {
  EXPECT_NE(option_help().find("\nExit status: 0 done"), std::string::npos) << option_help();
}

TEST(Options, ConfigurationFile) {
  const auto path = std::filesystem::temp_directory_path() / ("agent-" + std::to_string(getpid()));
  std::ofstream(path) << "# a board\nbroker = \"tcp://b:9\"\nbroker-key = \"kk\"  # public\n"
                      << "key = \"pynq\"\ncpu = cortex-a9\nemulated = true\nkey-fd = 5\n";
  const auto out = parse_options({"--config", path.string(), "--broker", "tcp://c:7"});
  std::filesystem::remove(path);
  ASSERT_TRUE(out.ok()) << out.error().text();
  EXPECT_EQ(out->broker, "tcp://c:7");
  EXPECT_EQ(out->broker_key, "kk");
  EXPECT_EQ(out->key_fd, 5);
  ASSERT_EQ(out->devices.size(), 1u);
  EXPECT_EQ(out->devices[0].key, "pynq");
  EXPECT_EQ(out->devices[0].cpu, "cortex-a9");
  EXPECT_TRUE(out->devices[0].emulated);
  const auto bad = options_of_config("key pynq\n", "f");
  ASSERT_FALSE(bad.ok());
  EXPECT_NE(bad.error().message.find("f line 1"), std::string::npos);
}

TEST(Keys, PairsAndModes) {
  // The key pair of RFC 26's (CurveZMQ) examples.
  const std::string secret = "D:)Q[IlAW!ahhC2ac:9*A}h:p?([4%wOTJ%JR%cs";
  const std::string pub = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID";
  const auto alone = parse_key_pair(secret + "\n");
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(alone->public_key, pub);
  EXPECT_TRUE(parse_key_pair("public " + pub + "\nsecret " + secret + "\n").ok());
  EXPECT_FALSE(parse_key_pair("public " + secret + "\nsecret " + secret + "\n").ok());
  EXPECT_FALSE(parse_key_pair("secret short\n").ok());

  const auto path = std::filesystem::temp_directory_path() / ("key-" + std::to_string(getpid()));
  std::ofstream(path) << "secret " << secret << "\n";
  AgentOptions options;
  options.key_file = path.string();
  chmod(path.c_str(), 0644);
  const auto open = load_key_pair(options);
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::Unauthorized);
  EXPECT_EQ(open.error().text().find(secret), std::string::npos);
  chmod(path.c_str(), 0600);
  EXPECT_TRUE(load_key_pair(options).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace fettle::agent

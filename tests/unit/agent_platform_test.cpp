// Platform readings on a fake system root.
#include <gtest/gtest.h>
#include <toml++/toml.h>
#include <algorithm>

#include "agent/platform/board.h"
#include "agent/platform/board_profile.h"
#include "agent/platform/board_sysfs.h"
#include "agent/platform/conditions.h"
#include "agent/platform/cpu_facts.h"
#include "schemas/wire/native_arch.h"
#include "tests/unit/fake_root.h"

namespace fettle::agent {
namespace {

TEST_F(FakeRoot, CachesAndClock) {
  const std::string cpu = "/sys/devices/system/cpu/cpu2";
  put(cpu + "/cpufreq/cpuinfo_max_freq", "1416000\n");
  put(cpu + "/cache/index0/level", "1\n");
  put(cpu + "/cache/index0/type", "Data\n");
  put(cpu + "/cache/index0/size", "32K\n");
  put(cpu + "/cache/index0/coherency_line_size", "64\n");
  put(cpu + "/cache/index0/shared_cpu_list", "2\n");
  put(cpu + "/cache/index2/level", "2\n");
  put(cpu + "/cache/index2/type", "Unified\n");
  put(cpu + "/cache/index2/size", "1M\n");
  put(cpu + "/cache/index2/shared_cpu_list", "2-3\n");
  const auto facts = read_cpu_facts(root(), {2, 3}, "");
  EXPECT_EQ(facts.max_khz, 1416000u);
  ASSERT_EQ(facts.caches.size(), 2u);
  EXPECT_EQ(facts.caches[0]->bytes, 32768u);
  EXPECT_EQ(facts.caches[0]->line_bytes, 64u);
  EXPECT_EQ(facts.caches[0]->kind, "data");
  EXPECT_EQ(facts.caches[1]->bytes, 1048576u);
  EXPECT_EQ(facts.caches[1]->shared_by, 2u);
}

TEST_F(FakeRoot, BoardIdIsStableAndTellsAlikeBoardsApart) {
  put("/proc/device-tree/model", std::string("Xilinx PYNQ-Z1") + '\0');
  put("/etc/machine-id", "0123456789abcdef\n");
  const auto first = read_board(root(), "", 1), again = read_board(root(), "", 2);
  EXPECT_EQ(first.model, "Xilinx PYNQ-Z1");
  EXPECT_EQ(first.id, again.id);
  EXPECT_EQ(first.id.find("0123456789"), std::string::npos) << "the machine id is private";
  put("/etc/machine-id", "fedcba9876543210\n");
  EXPECT_NE(read_board(root(), "", 1).id, first.id);
  EXPECT_EQ(read_board(root(), "Other", 1).model, "Other");
}

TEST_F(FakeRoot, ConditionsOfOwnCoresOnly) {
  put("/proc/stat", "cpu  0 0 0 0 0 0 0 99\ncpu0 1 1 1 1 1 1 1 40 0 0\ncpu1 1 1 1 1 1 1 1 2 0 0\n");
  put("/proc/loadavg", "1.25 0.5 0.1 1/100 1\n");
  put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "800000\n");
  put("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "performance\n");
  put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "3\n");
  put("/sys/class/thermal/thermal_zone0/temp", "41000\n");
  put("/sys/class/thermal/thermal_zone1/temp", "55000\n");
  const ConditionsReader reader(root(), {1});
  const auto now = reader.read();
  EXPECT_EQ(now.steal_ticks, 2u);
  EXPECT_EQ(now.cpu_khz, 800000u);
  EXPECT_EQ(now.governor, "performance");
  EXPECT_EQ(now.temperature_millidegrees, 55000);
  EXPECT_EQ(now.throttle_events, 3u);
  EXPECT_EQ(now.load_average, 1.25);
  EXPECT_EQ(now.core, 1);
}

// An RK3399's sysfs (mainline): two clock domains, GPU, cooling devices.
TEST_F(FakeRoot, ConditionsOfABigLittleBoard) {
  const std::string cpus = "/sys/devices/system/cpu/cpu";
  for (int core : {4, 5}) {
    const std::string cpufreq = cpus + std::to_string(core) + "/cpufreq/";
    put(cpufreq + "related_cpus", "4 5\n");
    put(cpufreq + "scaling_cur_freq", core == 4 ? "1800000\n" : "9\n");
    put(cpufreq + "scaling_governor", "userspace\n");
  }
  put(cpus + "0/cpufreq/scaling_cur_freq", "408000\n");
  put("/sys/class/devfreq/dmc/cur_freq", "1\n");
  put("/sys/class/devfreq/ff9a0000.gpu/cur_freq", "600000000\n");
  const std::string thermal = "/sys/class/thermal/";
  put(thermal + "thermal_zone0/temp", "71000\n");
  put(thermal + "cooling_device0/type", "thermal-cpufreq-0\n");
  put(thermal + "cooling_device0/cur_state", "0\n");
  put(thermal + "cooling_device1/type", "thermal-devfreq-0\n");
  put(thermal + "cooling_device1/cur_state", "3\n");
  const ConditionsReader big(root(), {4, 5});
  const auto cool = big.read();
  EXPECT_EQ(cool.cpu_khz, 1800000u) << "one file for the cores of one clock, and not core 0's";
  EXPECT_EQ(cool.gpu_khz, 600000u);
  EXPECT_EQ(cool.governor, "userspace");
  EXPECT_EQ(cool.core, 4);
  EXPECT_FALSE(cool.throttled) << "the GPU's heat is not the CPU's";
  put(thermal + "cooling_device0/cur_state", "2\n");
  EXPECT_TRUE(big.throttled());
  EXPECT_TRUE(big.quick().throttled);
  // Cores of different clocks: the slowest counts.
  EXPECT_EQ(ConditionsReader(root(), {0, 4}).quick().cpu_khz, 408000u);
  EXPECT_EQ(ConditionsReader(root(), {4, 0}).quick(1).cpu_khz, 1800000u) << "one thread, on core 4";
}

TEST_F(FakeRoot, OneClustersHeatIsNotTheOthers) {
  for (int core : {0, 1, 4, 5}) {
    put("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/related_cpus",
        core >= 4 ? "4 5\n" : "0 1\n");
  }
  const std::string thermal = "/sys/class/thermal/";
  for (int i : {0, 1}) {
    put(thermal + "cooling_device" + std::to_string(i) + "/type",
        i == 0 ? "cpufreq-cpu0\n" : "cpufreq-cpu4\n");
    put(thermal + "cooling_device" + std::to_string(i) + "/cur_state", i == 0 ? "0\n" : "1\n");
  }
  EXPECT_TRUE(ConditionsReader(root(), {5}).throttled());
  EXPECT_FALSE(ConditionsReader(root(), {0, 1}).throttled());
  EXPECT_TRUE(ConditionsReader(root(), {1, 5}).throttled());
}

TEST_F(FakeRoot, ConditionsOfAJetsonAndAZynq) {
  put("/sys/class/devfreq/17000000.gv11b/cur_freq", "1377000000\n");
  put("/var/lib/nvpmodel/status", "pmode:0002\n");
  put("/sys/class/fclkcfg/fclk0/rate", "100000000\n");
  const auto now = ConditionsReader(root(), {0}).read();
  EXPECT_EQ(now.gpu_khz, 1377000u);
  EXPECT_EQ(now.power_mode, "pmode:0002");
  EXPECT_EQ(now.accelerator_khz, 100000u);
  EXPECT_FALSE(now.throttled);
}

TEST_F(FakeRoot, RecognisesABoardAndItsClusters) {
  auto put_core = [&](int core, const char* midr) {
    put("/sys/devices/system/cpu/cpu" + std::to_string(core) + "/regs/identification/midr_el1",
        midr);
  };
  put("/proc/device-tree/compatible", std::string("radxa,rockpi4b\0rockchip,rk3399\0", 31));
  for (int core : {0, 1, 2, 3}) put_core(core, "0x00000000410fd034\n");
  for (int core : {4, 5}) put_core(core, "0x00000000410fd082\n");
  EXPECT_EQ(device_tree_names(root()),
            (std::vector<std::string>{"radxa,rockpi4b", "rockchip,rk3399"}));
  auto profiles = board_profiles();
  for (auto& profile : profiles) {
    // As an agent of that board's architecture sees them.
    if (profile.arch == "aarch64") profile.arch = native_arch();
  }
  auto found = recognise_board(root(), {0, 1, 2, 3, 4, 5}, profiles);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].keys, (std::vector<std::string>{"rk3399", "rk3399-big"}));
  EXPECT_EQ(found[0].cpu, "cortex-a72");
  EXPECT_EQ(found[0].cores, (std::vector<std::uint32_t>{4, 5}));
  EXPECT_EQ(found[1].profile, "rk3399-little");
  EXPECT_EQ(found[1].cores, (std::vector<std::uint32_t>{0, 1, 2, 3}));
  // Big cores that this process may not use are no device.
  found = recognise_board(root(), {0, 1}, profiles);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].profile, "rk3399-little");
  // Another architecture's profiles are not this agent's.
  for (auto& profile : profiles) profile.arch = "other";
  EXPECT_TRUE(recognise_board(root(), {4, 5}, profiles).empty());
}

TEST_F(FakeRoot, RecognisesAPynqByItsImagesMark) {
  put("/proc/device-tree/compatible", std::string("xlnx,zynq-7000\0", 15));
  const std::vector<BoardProfile> profiles = {
      {"pynq-z1", {"pynq", "pynq-z1"}, "cortex-a9", native_arch(), {"Pynq-Z1"}, {}, {}, {}},
      {"pynq-z2", {"pynq", "pynq-z2"}, "cortex-a9", native_arch(), {"Pynq-Z2"}, {}, {}, {}}};
  EXPECT_TRUE(recognise_board(root(), {0, 1}, profiles).empty());
  put("/proc/device-tree/chosen/pynq_board", std::string("Pynq-Z2\0", 8));
  const auto found = recognise_board(root(), {0, 1}, profiles);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].profile, "pynq-z2");
  EXPECT_EQ(found[0].cores, (std::vector<std::uint32_t>{0, 1})) << "no core says what it is";
}

// A core that this agent's table lacks: by the profile's MIDR; without one it is told of.
TEST_F(FakeRoot, ACoreThatOnlyItsProfileKnows) {
  put("/proc/device-tree/compatible", std::string("maker,board\0", 12));
  const auto midr = [](int core) {
    return "/sys/devices/system/cpu/cpu" + std::to_string(core) + "/regs/identification/midr_el1";
  };
  put(midr(0), "0x00000000410fd034\n");
  put(midr(1), "0x00000000481fd021\n");
  std::vector<BoardProfile> profiles = {
      {"little", {"little"}, "cortex-a53", native_arch(), {"maker,board"}, {}, {}, {}},
      {"big", {"big"}, "tsv110", native_arch(), {"maker,board"}, {}, {}, {}}};
  std::vector<std::uint32_t> left_over;
  EXPECT_EQ(recognise_board(root(), {0, 1}, profiles, &left_over).size(), 1u);
  EXPECT_EQ(left_over, (std::vector<std::uint32_t>{1}));
  profiles[1].midr = {0x480fd020};
  left_over.clear();
  const auto found = recognise_board(root(), {0, 1}, profiles, &left_over);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[1].profile, "big");
  EXPECT_EQ(found[1].cores, (std::vector<std::uint32_t>{1}));
  EXPECT_TRUE(left_over.empty());
}

TEST_F(FakeRoot, ThrottlingOfAJetson) {
  const std::string thermal = "/sys/class/thermal/", hwmon = "/sys/class/hwmon/";
  put(thermal + "cooling_device0/type", "cpu-throttle-alert\n");
  put(thermal + "cooling_device0/cur_state", "0\n");
  put(thermal + "cooling_device1/type", "hot-surface-alert\n");
  put(thermal + "cooling_device1/cur_state", "1\n");
  put(hwmon + "hwmon0/name", "pwmfan\n");
  put(hwmon + "hwmon3/oc1_event_cnt", "2\n");
  put(hwmon + "hwmon3/oc3_event_cnt", "5\n");
  put("/sys/class/devfreq/gpu-gpc-0/cur_freq", "1575000000\n");
  put("/sys/class/devfreq/gpu-nvd-0/cur_freq", "1\n");
  const ConditionsReader reader(root(), {0});
  EXPECT_FALSE(reader.throttled()) << "a hot surface slows nothing down";
  EXPECT_EQ(reader.quick().throttle_events, 7u);
  EXPECT_EQ(reader.read().gpu_khz, 1575000u);
  put(hwmon + "hwmon3/oc3_event_cnt", "6\n");
  put(thermal + "cooling_device0/cur_state", "1\n");
  EXPECT_EQ(reader.quick().throttle_events, 8u);
  EXPECT_TRUE(reader.throttled());
}

// A card whose figures only its driver knows.
TEST_F(FakeRoot, WhatTheDriverTellsOfItsDevice) {
  put("/sys/class/thermal/thermal_zone0/type", "x86_pkg_temp\n");
  put("/sys/class/thermal/thermal_zone0/temp", "90000\n");
  DriverReading told{1'410'000, 41'000, false};
  const ConditionsReader reader(root(), {0}, [&] { return told; });
  EXPECT_EQ(reader.read().gpu_khz, 1'410'000u);
  EXPECT_EQ(reader.read().temperature_millidegrees, 41'000) << "the GPU's, not the CPU's";
  EXPECT_FALSE(reader.throttled());
  told = {0, 0, true};
  EXPECT_TRUE(reader.throttled() && reader.quick().throttled);
  EXPECT_EQ(reader.quick().temperature_millidegrees, 90'000);
}

// As an L4T kernel lists them: the PMIC's stands still, whatever the temperature is.
TEST_F(FakeRoot, HeatOfAJetsonIsOfZonesThatMeasure) {
  const auto zone = [&](int i, const char* type, const char* temperature) {
    const std::string at = "/sys/class/thermal/thermal_zone" + std::to_string(i);
    put(at + "/type", std::string(type) + "\n");
    put(at + "/temp", std::string(temperature) + "\n");
  };
  zone(0, "AO-therm", "41500");
  zone(1, "CPU-therm", "34000");
  zone(2, "PMIC-Die", "100000");
  const ConditionsReader reader(root(), {0});
  EXPECT_EQ(reader.read().temperature_millidegrees, 41500);
  zone(1, "CPU-therm", "101500");
  EXPECT_EQ(reader.read().temperature_millidegrees, 101500);
}

// Names by what the board is: a fitting profile's only, and its GPU also by its node.
TEST_F(FakeRoot, SysfsNamesAreThoseOfTheBoard) {
  put("/proc/device-tree/compatible", std::string("maker,board\0", 12));
  put("/sys/class/devfreq/13000000.accelerator/device/of_node/name", std::string("ga10b\0", 6));
  put("/sys/class/devfreq/ff9a0000.gpu/cur_freq", "1\n");
  std::vector<BoardProfile> profiles = {{"mine",
                                         {"mine"},
                                         "a",
                                         native_arch(),
                                         {"maker,board"},
                                         {},
                                         {},
                                         {{"ga10b"}, {}, {}, {}, {"/a"}, {}}},
                                        {"other",
                                         {"other"},
                                         "a",
                                         native_arch(),
                                         {"other"},
                                         {},
                                         {},
                                         {{"gpu"}, {}, {}, {}, {"/b"}, {}}}};
  const auto names = sysfs_names(root(), profiles);
  EXPECT_EQ(names.logic_clock, (std::vector<std::string>{"/a"}));
  EXPECT_EQ(gpu_devfreq(root(), names), "13000000.accelerator");
  profiles[0].device_tree = {"nobody"};
  EXPECT_EQ(sysfs_names(root(), profiles).logic_clock, (std::vector<std::string>{"/a", "/b"}));
}

std::vector<std::string> strings(const toml::node* node) {
  std::vector<std::string> out;
  if (node && node->is_array()) {
    for (const auto& one : *node->as_array()) out.push_back(one.value_or(std::string()));
  }
  return out;
}

// What CMake made of the profiles (agent/board_profiles.cmake) against a TOML reader: no
// board and no field of one is lost.
TEST(BoardProfiles, AreThoseOfTheFiles) {
  std::size_t boards = 0;
  const std::filesystem::path folder = FETTLE_PROFILES;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    const toml::table file = toml::parse_file(entry.path().string());
    if (!file.contains("device_tree")) continue;
    ++boards;
    const std::string name = file["name"].value_or(std::string());
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_EQ(name + ".toml", entry.path().filename().string());
    const auto& all = board_profiles();
    const auto row = std::find_if(all.begin(), all.end(),
                                  [&](const BoardProfile& one) { return one.name == name; });
    ASSERT_NE(row, all.end());
    EXPECT_EQ(row->keys, strings(file.get("device_keys")));
    EXPECT_EQ(row->device_tree, strings(file.get("device_tree")));
    EXPECT_EQ(row->cpu, file["cpu"].value_or(std::string()));
    EXPECT_TRUE(row->arch == "aarch64" || row->arch == "armv7");
    const toml::array* midr = file["midr"].as_array();
    EXPECT_EQ(row->midr.size(), midr ? midr->size() : 0);
    const auto accelerator = file["accelerator"];
    const bool offered = accelerator["key"].is_string();
    EXPECT_EQ(row->accelerator.key, accelerator["key"].value_or(std::string()));
    EXPECT_EQ(row->accelerator.kind, offered ? accelerator["kind"].value_or(std::string()) : "");
    const toml::table none, *sysfs = file["sysfs"].as_table();
    if (!sysfs) sysfs = &none;
    EXPECT_EQ(row->sysfs.gpu_devfreq, strings(sysfs->get("gpu_devfreq")));
    EXPECT_EQ(row->sysfs.throttle_alerts, strings(sysfs->get("throttle_alerts")));
    EXPECT_EQ(row->sysfs.throttle_counters, strings(sysfs->get("throttle_counters")));
    EXPECT_EQ(row->sysfs.power_mode, strings(sysfs->get("power_mode")));
    EXPECT_EQ(row->sysfs.logic_clock, strings(sysfs->get("logic_clock")));
    EXPECT_EQ(row->sysfs.no_temperature, strings(sysfs->get("no_temperature")));
  }
  EXPECT_EQ(board_profiles().size(), boards);
  for (const char* board : {"pynq-z1", "pynq-z2", "rk3399-big", "rk3399-little", "jetson-nano",
                            "jetson-tx2", "jetson-xavier", "jetson-orin", "jetson-thor"}) {
    EXPECT_TRUE(std::filesystem::exists(folder / (std::string(board) + ".toml"))) << board;
  }
}

TEST_F(FakeRoot, NothingThereIsNotAnError) {
  const auto facts = read_cpu_facts(root(), {0}, "");
  EXPECT_TRUE(facts.caches.empty());
  EXPECT_EQ(facts.max_khz, 0u);
  EXPECT_EQ(ConditionsReader(root(), {0}).read().cpu_khz, 0u);
  EXPECT_FALSE(read_board(root(), "", 1).id.empty());
}

TEST(ArmCores, NamesAndFusedMultiplyAdd) {
  EXPECT_EQ(arm_core_name(0x413fc090), "cortex-a9");
  EXPECT_EQ(arm_core_name(0x410fd083), "cortex-a72");
  EXPECT_EQ(arm_core_name(0x12345678), "");
  auto has_vfp4 = [](const std::string& core) {
    const auto features = armv7_features(core);
    return std::find(features.begin(), features.end(), "vfp4") != features.end();
  };
  EXPECT_FALSE(has_vfp4("cortex-a9"));
  EXPECT_FALSE(has_vfp4("cortex-a8"));
  EXPECT_FALSE(has_vfp4(""));
  EXPECT_TRUE(has_vfp4("cortex-a7"));
  EXPECT_TRUE(has_vfp4("cortex-a53"));
}

TEST(CoreLists, ParseAndRefuse) {
  EXPECT_EQ(parse_core_list("0-2,5"), (std::vector<std::uint32_t>{0, 1, 2, 5}));
  EXPECT_EQ(parse_core_list("3"), (std::vector<std::uint32_t>{3}));
  for (const char* bad : {"", "a", "1-", "2-1", "1,,2", "-1", "99999"}) {
    EXPECT_FALSE(parse_core_list(bad)) << bad;
  }
}

}  // namespace
}  // namespace fettle::agent

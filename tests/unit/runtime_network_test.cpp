// A network loaded from its file and run: answers, where its memory lies, whom it refuses.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <fstream>
#include <random>

#include "agent/platform/cpu_facts.h"
#include "runtime/network/loaded_network.h"
#include "runtime/network/machine_check.h"
#include "tests/support/tiny_network.h"
#include "tests/unit/fake_root.h"

namespace fettle::runtime {
namespace {

using test::TinyNetwork;

TinyNetwork tiny() {
  TinyNetwork network;
  network.make();
  return network;
}

std::vector<float> input_of(const TinyNetwork& network, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> input(static_cast<std::size_t>(network.inputs));
  for (float& value : input) value = static_cast<float>(static_cast<int>(random() % 17) - 8) / 8;
  return input;
}

std::vector<float> run_once(LoadedNetwork& loaded, const std::vector<float>& input) {
  std::memcpy(loaded.input(0).data(), input.data(), loaded.input(0).size());
  const auto ran = loaded.run();
  EXPECT_TRUE(ran.ok());
  std::vector<float> output(loaded.output(0).size() / sizeof(float));
  std::memcpy(output.data(), loaded.output(0).data(), loaded.output(0).size());
  return output;
}

std::string path_of(const char* name) {
  return ::testing::TempDir() + "/" + name + std::to_string(::getpid()) + ".fettle";
}

// Kilobytes of a line of /proc/self/status.
long status_kb(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key)) return std::stol(line.substr(key.size() + 1));
  }
  return -1;
}

class Network : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_tiny_network()) GTEST_SKIP() << "no kernels for this machine";
  }
};

TEST_F(Network, ComputesWhatPlainLoopsDo) {
  const TinyNetwork network = tiny();
  const std::string path = path_of("plain");
  network.write(path);
  for (const std::uint32_t threads : {1u, 2u, 3u}) {
    NetworkOptions options;
    options.threads = threads;
    auto loaded = LoadedNetwork::open(path, options);
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ((*loaded)->threads(), threads);
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      const auto input = input_of(network, seed);
      EXPECT_EQ(run_once(**loaded, input), network.answer(input)) << threads << ", " << seed;
    }
  }
  ::unlink(path.c_str());
}

TEST_F(Network, FromMemoryAtAnyAlignment) {
  const TinyNetwork network = tiny();
  const Bytes file = network.file();
  for (const std::size_t shift : {0u, 4u, 1u}) {
    Bytes shifted(file.size() + shift + 64);
    const std::size_t at = (64 - reinterpret_cast<std::uintptr_t>(shifted.data()) % 64) % 64;
    std::copy(file.begin(), file.end(), shifted.begin() + static_cast<std::ptrdiff_t>(at + shift));
    auto loaded = LoadedNetwork::load(ByteView(shifted).subspan(at + shift, file.size()), {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    const auto input = input_of(network, 5);
    EXPECT_EQ(run_once(**loaded, input), network.answer(input)) << shift;
    // Where they are aligned, biases are read where they lie, else they are copied.
    EXPECT_EQ((*loaded)->memory().constants, shift == 0 ? (32u + 10u) * 4 : 0u);
  }
}

TEST_F(Network, EveryLayerHasItsTime) {
  const Bytes file = tiny().file();
  for (const std::uint32_t threads : {1u, 2u}) {
    NetworkOptions options;
    options.threads = threads;
    auto loaded = LoadedNetwork::load(file, options);
    ASSERT_TRUE(loaded.ok());
    std::vector<std::uint64_t> layers(2);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE((*loaded)->run(layers).ok());
    EXPECT_GT(layers[0], 0u);
    EXPECT_GT(layers[1], 0u);
    EXPECT_GT(layers[0], layers[1]) << "five times the work";
  }
}

TEST_F(Network, ThreadsAreThoseItHasRoomFor) {
  TinyNetwork network = tiny();
  network.network.program->max_threads = 2;
  const Bytes file = network.file();
  NetworkOptions options;
  options.threads = 3;
  auto refused = LoadedNetwork::load(file, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "3 threads wanted, the network has room for 2: `fettle build --threads` gives it more");
  options.threads = 0;
  auto loaded = LoadedNetwork::load(file, options);
  ASSERT_TRUE(loaded.ok());
  EXPECT_LE((*loaded)->threads(), 2u);
}

// More would be slower: each launch of a small layer wakes them all.
TEST_F(Network, ThreadsAreThoseItWasBuiltForUnlessOthersAreWanted) {
  TinyNetwork network = tiny();
  network.network.threads = 1;
  const Bytes file = network.file();
  NetworkOptions options;
  const auto threads = [&] {
    auto loaded = LoadedNetwork::load(file, options);
    EXPECT_TRUE(loaded.ok());
    return loaded.ok() ? (*loaded)->threads() : 0;
  };
  EXPECT_EQ(threads(), 1u);
  options.threads = 2;
  EXPECT_EQ(threads(), 2u);
  // Files of before this was told.
  network.network.threads = 0;
  const Bytes older = network.file();
  auto loaded = LoadedNetwork::load(older, {});
  ASSERT_TRUE(loaded.ok());
  EXPECT_EQ((*loaded)->threads(), agent::usable_cores().size());
}

// Runs `job` in a process whose system starts no threads for it: 0 where `job` was true, 2 where
// there can be no such process here.
template <typename Job>
int without_threads(Job job) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    constexpr uid_t kNobodysElse = 54321;  // root has as many processes as it likes
    const bool bound = setrlimit(RLIMIT_NPROC, &none) == 0 &&
                       (geteuid() != 0 || setresuid(kNobodysElse, kNobodysElse, kNobodysElse) == 0);
    _exit(!bound ? 2 : job() ? 0 : 1);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST_F(Network, ThreadsThatCannotBeStartedAreNotCountedOn) {
  const TinyNetwork network = tiny();
  const Bytes file = network.file();
  const auto input = input_of(network, 5);
  NetworkOptions options;
  const std::uint32_t core = agent::usable_cores().front();
  options.cores = {core, core, core};
  const int ended = without_threads([&] {
    auto loaded = LoadedNetwork::load(file, options);
    return loaded.ok() && (*loaded)->threads() == 1 &&
           run_once(**loaded, input) == network.answer(input);
  });
  if (ended == 2) GTEST_SKIP() << "no other user's process can be started here";
  EXPECT_EQ(ended, 0);
  options.threads = 3;
  EXPECT_EQ(without_threads([&] {
              auto loaded = LoadedNetwork::load(file, options);
              return !loaded && loaded.error().message == "only 1 of 3 threads could be started";
            }),
            0);
}

TEST_F(Network, ALoadThatFailsLeavesTheThreadItsCores) {
  const auto cores = agent::usable_cores();
  if (cores.size() < 2) GTEST_SKIP() << "one core: a thread is always pinned";
  const Bytes file = tiny().file();
  NetworkOptions options;
  options.cores = {cores.front()};
  options.threads = 3;
  const int ended = without_threads(
      [&] { return !LoadedNetwork::load(file, options) && agent::usable_cores() == cores; });
  if (ended == 2) GTEST_SKIP() << "no other user's process can be started here";
  EXPECT_EQ(ended, 0);
}

TEST_F(Network, NotEnoughMemoryIsToldBeforeItIsTaken) {
  TinyNetwork network;
  network.hidden = 1 << 16;
  network.make();
  const std::string path = path_of("wide");
  network.write(path);
  NetworkOptions options;
  options.memory_limit_bytes = std::uint64_t{4} << 20;
  auto refused = LoadedNetwork::open(path, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::OutOfMemory);
  EXPECT_EQ(refused.error().message,
            path + ": the network needs 14.8 MiB of memory, 4.0 MiB can be had here");
  ::unlink(path.c_str());
  EXPECT_GT(free_memory_bytes(), std::uint64_t{1} << 20);
}

class FreeMemory : public agent::FakeRoot {
 protected:
  FreeMemory() { put("/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    1000 kB\n"); }
  void group(const std::string& folder, const std::string& most, const std::string& now,
             const std::string& files) {
    put(folder + "/memory.max", most + "\n");
    put(folder + "/memory.current", now + "\n");
    put(folder + "/memory.stat", "inactive_anon 5\ninactive_file " + files + "\n");
  }
};

// As systemd bounds a slice, and a container its root.
TEST_F(FreeMemory, GroupsAroundTheProcessOwnBoundItToo) {
  EXPECT_EQ(free_memory_bytes(root()), 1'024'000u);
  put("/proc/self/cgroup", "0::/user.slice/app.scope\n");
  EXPECT_EQ(free_memory_bytes(root()), 1'024'000u) << "no groups to be seen";
  const std::string groups = "/sys/fs/cgroup";
  group(groups + "/user.slice/app.scope", "max", "70000", "0");
  group(groups + "/user.slice", "500000", "200000", "40000");
  EXPECT_EQ(free_memory_bytes(root()), 340'000u);
  group(groups + "/user.slice/app.scope", "100000", "70000", "0");
  EXPECT_EQ(free_memory_bytes(root()), 30'000u);
  group(groups, "30000", "29000", "10");
  EXPECT_EQ(free_memory_bytes(root()), 1'010u);
  group(groups + "/user.slice", "500000", "600000", "0");
  EXPECT_EQ(free_memory_bytes(root()), 0u) << "it has more than it may";
}

TEST_F(FreeMemory, GroupsOfVersion1AreReadByTheirNames) {
  const std::string groups = "/sys/fs/cgroup/memory";
  put("/proc/self/cgroup", "9:pids:/\n4:cpu,memory:/docker/0a1b\n0::/\n");
  put(groups + "/docker/0a1b/memory.limit_in_bytes", "400000\n");
  put(groups + "/docker/0a1b/memory.usage_in_bytes", "300000\n");
  put(groups + "/docker/0a1b/memory.stat", "inactive_file 1\ntotal_inactive_file 2000\n");
  EXPECT_EQ(free_memory_bytes(root()), 102'000u);
  put(groups + "/memory.limit_in_bytes", "9223372036854771712\n");
  put(groups + "/memory.usage_in_bytes", "1000000\n");
  EXPECT_EQ(free_memory_bytes(root()), 102'000u);
  // In a container the path is the host's, its own group the root.
  put("/proc/self/cgroup", "4:memory:/docker/another\n");
  put(groups + "/memory.limit_in_bytes", "1060000\n");
  EXPECT_EQ(free_memory_bytes(root()), 60'000u);
}

TEST_F(Network, AnotherMachinesIsRefused) {
  TinyNetwork network = tiny();
  const std::string other = std::string(native_arch()) == "aarch64" ? "armv7" : "aarch64";
  network.network.program->images[0]->cpu->arch = other;
  auto refused = LoadedNetwork::load(network.file(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(refused.error().message,
            "the network is built for " + other + ", this machine is " + native_arch());
}

TEST_F(Network, ACpuThatIsKnownToLackWhatTheCodeUsesIsRefused) {
  TinyNetwork network = tiny();
  // Every machine that runs this has the one; nobody can tell of the other.
  const std::string every = std::string(native_arch()) == "x86_64" ? "sse3" : "neon";
  network.network.cpu_features = {every, "frob"};
  wire::CpuFactsT facts;
  facts.arch = native_arch();
  facts.cpu = "old";
  auto refused = check_cpu(network.network, facts);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(refused.error().message,
            "the network is built for a CPU with " + every + ", which this one (old) lacks");
  facts.features = {every};
  EXPECT_TRUE(check_cpu(network.network, facts).ok());
  EXPECT_TRUE(LoadedNetwork::load(network.file(), {}).ok());
}

// As `fettle run --device` asks, on another machine than the board.
TEST_F(Network, ABoardOfAnotherArchitectureIsAskedForItsOwn) {
  TinyNetwork network = tiny();
  wire::CpuFactsT facts;
  facts.arch = std::string(native_arch()) == "aarch64" ? "armv7" : "aarch64";
  EXPECT_FALSE(check_cpu(network.network, facts).ok()) << "code for this machine";
  network.network.program->images[0]->cpu->arch = facts.arch;
  network.network.cpu_features = {"neon", "sse3"};  // here it cannot be told
  EXPECT_TRUE(check_cpu(network.network, facts).ok());
}

TEST_F(Network, OtherKindsOfImagesAreRefusedByName) {
  TinyNetwork network = tiny();
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::Ptx;
  image->bytes = {'x'};
  network.network.program->images.push_back(std::move(image));
  auto refused = LoadedNetwork::load(network.file(), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(refused.error().message,
            "the network is built for CUDA, which this program does not run: `fettle run --device "
            "KEY` runs it on a device, through its agent");
  const wire::DeviceKind gpu[] = {wire::DeviceKind::Cuda};
  const auto there = check_kinds(network.network, gpu, "gpu0 is of kind Cuda");
  EXPECT_EQ(there.error().message, "the network is built for a CPU, gpu0 is of kind Cuda");
}

TEST_F(Network, DamagedCodeIsNotRun) {
  Bytes file = tiny().file();
  file.back() ^= 1;  // the code is the last blob
  auto refused = LoadedNetwork::load(file, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "the network file is damaged: image 0 has another hash");
}

TEST_F(Network, FilesThatAreNone) {
  EXPECT_EQ(LoadedNetwork::open("/nowhere/net.fettle", {}).error().message,
            "/nowhere/net.fettle: No such file or directory");
  EXPECT_EQ(LoadedNetwork::open("/tmp", {}).error().message, "/tmp: is no file");
  const std::string path = path_of("short");
  const Bytes file = tiny().file();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(file.data()), 1000);
  EXPECT_EQ(LoadedNetwork::open(path, {}).error().message,
            path + ": the network file ends early: it has 1000 of " + std::to_string(file.size()) +
                " bytes");
  ::unlink(path.c_str());
}

// Weights that only packing reads do not stay in memory beside the packed ones.
TEST_F(Network, ConstantsOfPrepareLaunchesAreForgotten) {
  TinyNetwork network;
  network.inputs = 4096;
  network.hidden = 4096;  // 64 MiB of weights
  network.make();
  const std::string path = path_of("large");
  network.write(path);
  network.contents.clear();
  const long before = status_kb("RssFile:");
  auto loaded = LoadedNetwork::open(path, {});
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_LT(status_kb("RssFile:") - before, 8 << 10);
  EXPECT_GT(status_kb("RssAnon:"), 64 << 10);
  ::unlink(path.c_str());
}

// 10,000 damaged files: loaded, and run if they load, they are refused or run to their end.
TEST_F(Network, DamagedFilesAreRefusedOrHarmless) {
  const TinyNetwork network = tiny();
  const Bytes file = network.file();
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  NetworkOptions options;
  options.threads = 1;
  int loaded_files = 0;
  for (int i = 0; i < 10'000; ++i) {
    Bytes damaged = file;
    for (std::uint32_t n = 1 + random() % 4; n > 0; --n) {
      switch (random() % 4) {
        case 0:
          damaged.resize(random() % damaged.size() + 1);
          break;
        case 1:
          damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
          break;
        default:
          damaged[random() % damaged.size()] ^= static_cast<std::uint8_t>(1u << random() % 8);
      }
    }
    auto loaded = LoadedNetwork::load(damaged, options);
    if (!loaded) {
      EXPECT_FALSE(loaded.error().message.empty());
      continue;
    }
    ++loaded_files;
    EXPECT_TRUE((*loaded)->run().ok());
  }
  EXPECT_GT(loaded_files, 0) << "of damaged weights";
}

}  // namespace
}  // namespace fettle::runtime

// The C interface: options and structs of other ages, threads, errors in words.
#include <gtest/gtest.h>

#include <sched.h>
#include <cstring>
#include <thread>

#include "runtime/c_api/fettle_rt.h"
#include "tests/support/tiny_network.h"

namespace fettle {
namespace {

class FettleRt : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_tiny_network()) GTEST_SKIP() << "no kernels for this machine";
    tiny.make();
    file = tiny.file();
  }
  fettle_network* load(const fettle_options* options = nullptr) {
    fettle_network* network = nullptr;
    EXPECT_EQ(fettle_load_memory(file.data(), file.size(), options, &network), FETTLE_OK)
        << fettle_error();
    return network;
  }
  test::TinyNetwork tiny;
  Bytes file;
};

TEST_F(FettleRt, TellsItsTensorsLayersAndMemory) {
  fettle_network* network = load();
  EXPECT_STREQ(fettle_name(network), "tiny");
  EXPECT_EQ(fettle_input_count(network), 1u);
  EXPECT_EQ(fettle_output_count(network), 1u);
  fettle_tensor tensor{};
  tensor.size = sizeof tensor;
  ASSERT_EQ(fettle_input(network, 0, &tensor), FETTLE_OK);
  EXPECT_STREQ(tensor.name, "image");
  EXPECT_EQ(tensor.dtype, FETTLE_FLOAT32);
  ASSERT_EQ(tensor.rank, 2u);
  EXPECT_EQ(tensor.shape[1], 48);
  EXPECT_EQ(tensor.bytes, 48u * 4);
  EXPECT_EQ(fettle_output(network, 1, &tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_STREQ(fettle_error(), "no output 1");
  fettle_layer layer{};
  layer.size = sizeof layer;
  ASSERT_EQ(fettle_layer_count(network), 2u);
  ASSERT_EQ(fettle_get_layer(network, 1, &layer), FETTLE_OK);
  EXPECT_STREQ(layer.title, "dense");
  EXPECT_EQ(layer.operations, 2.0 * 32 * 10);
  fettle_memory memory{};
  memory.size = sizeof memory;
  ASSERT_EQ(fettle_get_memory(network, &memory), FETTLE_OK);
  EXPECT_EQ(memory.file, file.size());
  EXPECT_EQ(memory.arena, 32u * 4);
  EXPECT_GE(memory.own, (48u * 32 + 32 * 10) * 4);
  EXPECT_EQ(fettle_check(network), FETTLE_OK);
  fettle_free(network);
  fettle_free(nullptr);
}

TEST_F(FettleRt, RunsByPointersAndInPlace) {
  fettle_network* network = load();
  std::vector<float> image(48, 0.5f), scores(10);
  const std::vector<float> right = tiny.answer(image);
  const void* inputs[] = {image.data()};
  void* outputs[] = {scores.data()};
  std::vector<std::uint64_t> layer_ns(2);
  ASSERT_EQ(fettle_run(network, inputs, outputs, layer_ns.data()), FETTLE_OK);
  EXPECT_EQ(scores, right);
  EXPECT_GT(layer_ns[0], 0u);
  fettle_tensor in{}, out{};
  in.size = out.size = sizeof in;
  ASSERT_EQ(fettle_input(network, 0, &in), FETTLE_OK);
  ASSERT_EQ(fettle_output(network, 0, &out), FETTLE_OK);
  image[3] = -0.25f;
  std::memcpy(in.data, image.data(), in.bytes);
  ASSERT_EQ(fettle_run(network, nullptr, nullptr, nullptr), FETTLE_OK);
  std::memcpy(scores.data(), out.data, out.bytes);
  EXPECT_EQ(scores, tiny.answer(image));
  fettle_free(network);
}

TEST_F(FettleRt, StructsOfOtherAges) {
  // An older program's tensor ends before `data`, and what is behind it stays as it was.
  fettle_network* network = load();
  fettle_tensor tensor{};
  tensor.size = offsetof(fettle_tensor, data);
  tensor.data = &tensor;
  ASSERT_EQ(fettle_input(network, 0, &tensor), FETTLE_OK);
  EXPECT_EQ(tensor.bytes, 48u * 4);
  EXPECT_EQ(tensor.data, &tensor);
  tensor.size = 0;
  EXPECT_EQ(fettle_input(network, 0, &tensor), FETTLE_INVALID_ARGUMENT);
  EXPECT_STREQ(fettle_error(), "fettle_tensor without its size");
  fettle_free(network);
  // A newer program's options: known where they ask for nothing new.
  struct {
    fettle_options options;
    std::uint64_t newer;
  } options{};
  options.options.size = sizeof options;
  options.options.threads = 1;
  network = load(&options.options);
  EXPECT_EQ(fettle_threads(network), 1u);
  fettle_free(network);
  options.newer = 1;
  EXPECT_EQ(fettle_load_memory(file.data(), file.size(), &options.options, &network),
            FETTLE_UNSUPPORTED);
  EXPECT_EQ(network, nullptr);
}

// Where the calling thread may run.
cpu_set_t affinity() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST_F(FettleRt, TheThreadThatLoadedIsGivenBackItsCores) {
  const cpu_set_t before = affinity();
  if (CPU_COUNT(&before) < 2) GTEST_SKIP() << "one core: a thread is always pinned";
  std::uint32_t core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  fettle_options options{};
  options.size = sizeof options;
  options.core_count = 1;
  options.cores = &core;
  fettle_network* network = load(&options);
  const cpu_set_t pinned = affinity();
  EXPECT_EQ(CPU_COUNT(&pinned), 1);
  EXPECT_TRUE(CPU_ISSET(core, &pinned));
  fettle_free(network);
  const cpu_set_t after = affinity();
  EXPECT_TRUE(CPU_EQUAL(&after, &before));
  // Another thread, which frees it, is not moved, nor is the one that loaded it.
  network = load(&options);
  std::thread([&] {
    sched_setaffinity(0, sizeof before, &before);
    fettle_free(network);
    const cpu_set_t others = affinity();
    EXPECT_TRUE(CPU_EQUAL(&others, &before));
  }).join();
  const cpu_set_t still = affinity();
  EXPECT_TRUE(CPU_EQUAL(&still, &pinned));
  sched_setaffinity(0, sizeof before, &before);
  // Nor is one whose program has placed it anew.
  network = load(&options);
  sched_setaffinity(0, sizeof before, &before);
  fettle_free(network);
  const cpu_set_t anew = affinity();
  EXPECT_TRUE(CPU_EQUAL(&anew, &before));
  // Of two networks the first that goes moves nobody.
  for (const bool first_goes_first : {true, false}) {
    fettle_network* first = load(&options);
    fettle_network* second = load(&options);
    fettle_free(first_goes_first ? first : second);
    const cpu_set_t one_left = affinity();
    EXPECT_TRUE(CPU_EQUAL(&one_left, &pinned));
    fettle_free(first_goes_first ? second : first);
    const cpu_set_t none_left = affinity();
    EXPECT_TRUE(CPU_EQUAL(&none_left, &before));
  }
}

TEST_F(FettleRt, ErrorsHaveAStatusAndWords) {
  fettle_network* network = nullptr;
  EXPECT_EQ(fettle_load("/nowhere.fettle", nullptr, &network), FETTLE_NOT_FOUND);
  EXPECT_STREQ(fettle_error(), "/nowhere.fettle: No such file or directory");
  EXPECT_EQ(fettle_load_memory(file.data(), 100, nullptr, &network), FETTLE_MALFORMED);
  EXPECT_EQ(fettle_load_memory(nullptr, 0, nullptr, &network), FETTLE_MALFORMED);
  EXPECT_EQ(fettle_load(nullptr, nullptr, &network), FETTLE_INVALID_ARGUMENT);
  EXPECT_EQ(fettle_load("/nowhere.fettle", nullptr, nullptr), FETTLE_INVALID_ARGUMENT);
  fettle_options options{};
  options.size = sizeof options;
  options.memory_limit = 1000;
  EXPECT_EQ(fettle_load_memory(file.data(), file.size(), &options, &network), FETTLE_OUT_OF_MEMORY);
  file[8] = 9;
  EXPECT_EQ(fettle_load_memory(file.data(), file.size(), nullptr, &network),
            FETTLE_VERSION_MISMATCH);
  EXPECT_STREQ(fettle_error(), "the network file is of version 9, this program reads version 1");
  // Another thread's error is its own.
  std::thread([] { EXPECT_STREQ(fettle_error(), ""); }).join();
}

TEST_F(FettleRt, ANetworkThatIsNotThereIsAnError) {
  fettle_tensor tensor{};
  tensor.size = sizeof tensor;
  fettle_layer layer{};
  layer.size = sizeof layer;
  fettle_memory memory{};
  memory.size = sizeof memory;
  for (const int status :
       {fettle_check(nullptr), fettle_run(nullptr, nullptr, nullptr, nullptr),
        fettle_input(nullptr, 0, &tensor), fettle_output(nullptr, 0, &tensor),
        fettle_get_layer(nullptr, 0, &layer), fettle_get_memory(nullptr, &memory)}) {
    EXPECT_EQ(status, FETTLE_INVALID_ARGUMENT);
    EXPECT_STREQ(fettle_error(), "no network");
  }
  EXPECT_EQ(fettle_input_count(nullptr) + fettle_output_count(nullptr) +
                fettle_layer_count(nullptr) + fettle_threads(nullptr),
            0u);
  EXPECT_STREQ(fettle_name(nullptr), "");
  EXPECT_STREQ(fettle_target(nullptr), "");
}

TEST_F(FettleRt, ThreadsAndCoresThatCannotBeHadAreRefused) {
  const auto told = [&](std::uint32_t threads, std::vector<std::uint32_t> cores) {
    fettle_options options{};
    options.size = sizeof options;
    options.threads = threads;
    options.cores = cores.data(), options.core_count = cores.size();
    fettle_network* network = nullptr;
    EXPECT_EQ(fettle_load_memory(file.data(), file.size(), &options, &network),
              FETTLE_INVALID_ARGUMENT);
    EXPECT_EQ(network, nullptr);
    return std::string(fettle_error());
  };
  EXPECT_NE(told(4294967295u, {}).find("4294967295 threads wanted"), std::string::npos);
  EXPECT_NE(told(1, {9999}).find("core 9999 is none that this process may use"), std::string::npos);
}

TEST_F(FettleRt, ThreadsTakeTurns) {
  fettle_options options{};
  options.size = sizeof options;
  options.threads = 2;
  fettle_network* network = load(&options);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      const std::vector<float> image(48, 0.125f * static_cast<float>(t));
      const std::vector<float> right = tiny.answer(image);
      std::vector<float> scores(10);
      const void* inputs[] = {image.data()};
      void* outputs[] = {scores.data()};
      for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(fettle_run(network, inputs, outputs, nullptr), FETTLE_OK);
        ASSERT_EQ(scores, right);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  fettle_free(network);
}

}  // namespace
}  // namespace fettle

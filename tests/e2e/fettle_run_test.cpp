// fettle-run: its answers, what it tells, and one clear line for each mistake; the static ones for
// boards under qemu-user.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "runtime/tensor_files/npy.h"
#include "runtime/tensor_files/zip.h"
#include "tests/support/emulator.h"
#include "tests/support/running_program.h"
#include "tests/support/tiny_network.h"

namespace fettle::testing {
namespace {

using test::TinyNetwork;

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::vector<float> floats_of(const std::string& npy) {
  const auto array = parse_npy(npy);
  EXPECT_TRUE(array.ok());
  if (!array) return {};
  std::vector<float> values(array->bytes.size() / sizeof(float));
  std::memcpy(values.data(), array->bytes.data(), array->bytes.size());
  return values;
}

class FettleRun : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!test::have_tiny_network()) GTEST_SKIP() << "no kernels for this machine";
    tiny.make();
    tiny.write(folder.file("net.fettle"));
    for (std::size_t i = 0; i < 48; ++i) image[i] = static_cast<float>(i % 5) / 8;
    write_npy("image.npy", {1, 48}, image);
  }
  void write_npy(const std::string& name, std::vector<std::int64_t> shape,
                 const std::vector<float>& values) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
    std::ofstream(folder.file(name), std::ios::binary)
        << npy_file(wire::ScalarType::Float32, shape, {bytes, values.size() * sizeof(float)});
  }
  ProgramResult run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {FETTLE_RUN_PROGRAM, folder.file("net.fettle")});
    return run_program(arguments);
  }
  // The one line that it ends with.
  std::string complaint(const std::vector<std::string>& arguments) {
    const auto result = run(arguments);
    EXPECT_NE(result.status, 0) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    return result.err;
  }
  ScratchFolder folder;
  TinyNetwork tiny;
  std::vector<float> image = std::vector<float>(48);
};

TEST_F(FettleRun, AnswersAndTells) {
  const auto result =
      run({"--input", "image=" + folder.file("image.npy"), "--output", folder.file("out"), "--runs",
           "20", "--threads", "1", "--profile", "--check"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(floats_of(contents_of(folder.file("out/scores.npy"))), tiny.answer(image));
  for (const char* words :
       {"tiny, 1 thread\n", "ms (median of 20 runs; p10 ", "first result after ",
        "involuntary switches", "MiB at its peak", "  dense and relu\n", "GFLOP/s"}) {
    EXPECT_NE(result.out.find(words), std::string::npos) << words << "\n" << result.out;
  }
}

TEST_F(FettleRun, JsonHoldsAllOfIt) {
  const std::string labels = folder.file("labels.txt");
  std::ofstream(labels) << "zero\none\ntwo\n\nfour\nfive\nsix\nseven\neight\nnine\n";
  const auto result = run({"--input", folder.file("image.npy"), "--output", folder.file("out.npz"),
                           "--json", "--profile", "--top", "10", "--labels", labels});
  ASSERT_EQ(result.status, 0) << result.err;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["network"], "tiny");
  EXPECT_GE(json["runs"].get<int>(), 10);
  EXPECT_LE(json["p10_ms"].get<double>(), json["latency_ms"].get<double>());
  EXPECT_LE(json["latency_ms"].get<double>(), json["p90_ms"].get<double>());
  EXPECT_GE(json["first_result_ms"].get<double>(), json["load_ms"].get<double>());
  EXPECT_GT(json["peak_bytes"].get<double>(), 100e3);
  EXPECT_EQ(json["memory"]["file"], std::filesystem::file_size(folder.file("net.fettle")));
  ASSERT_EQ(json["layers"].size(), 2u);
  EXPECT_GT(json["layers"][0]["ms"].get<double>(), 0);
  const auto answer = tiny.answer(image);
  ASSERT_EQ(json["classes"].size(), 10u);
  const auto best = std::max_element(answer.begin(), answer.end()) - answer.begin();
  EXPECT_EQ(json["classes"][0]["index"], best);
  EXPECT_EQ(json["classes"][0]["score"], answer[static_cast<std::size_t>(best)]);
  for (const auto& one : json["classes"]) {
    const std::size_t index = one["index"];
    const char* names[] = {"zero", "one", "two",   "",      "four",
                           "five", "six", "seven", "eight", "nine"};
    EXPECT_EQ(one["label"], names[index]);
  }
  const auto archive = parse_zip(contents_of(folder.file("out.npz")));
  ASSERT_TRUE(archive.ok());
  EXPECT_EQ(archive->front().name, "scores.npy");
  EXPECT_EQ(floats_of(archive->front().contents), answer);
}

TEST_F(FettleRun, RandomInputsGoByTheirSeed) {
  std::string outputs[3];
  const char* seeds[] = {"1", "1", "2"};
  for (int i = 0; i < 3; ++i) {
    const auto result = run({"--random", seeds[i], "--output", folder.file("out"), "--runs", "1"});
    ASSERT_EQ(result.status, 0) << result.err;
    outputs[i] = contents_of(folder.file("out/scores.npy"));
  }
  EXPECT_EQ(outputs[0], outputs[1]);
  EXPECT_NE(outputs[0], outputs[2]);
}

TEST_F(FettleRun, EachMistakeIsOneLine) {
  write_npy("wrong.npy", {3, 16}, image);
  const std::string wrong = folder.file("wrong.npy");
  EXPECT_EQ(
      complaint({"--input", wrong}),
      "fettle-run: " + wrong + ": the array is float32 3x16, the input image is float32 1x48\n");
  EXPECT_EQ(complaint({"--input", "picture=" + wrong}),
            "fettle-run: no input picture; the network has image\n");
  EXPECT_EQ(complaint({"--input", "/nowhere.npy"}),
            "fettle-run: cannot read /nowhere.npy: No such file or directory\n");
  EXPECT_NE(complaint({"--size", "12"}).find("--size takes HxW, as in 256x256, not '12'"),
            std::string::npos);
  EXPECT_NE(complaint({"--mean", "1,2"}).find("--mean takes three numbers"), std::string::npos);
  EXPECT_NE(complaint({"--cores", "x"}).find("--cores takes cores"), std::string::npos);
  EXPECT_NE(complaint({"--threads", "0"}).find("--threads"), std::string::npos);
  EXPECT_NE(complaint({"--frob"}).find("--frob"), std::string::npos);
  EXPECT_NE(complaint({"--labels", "/nowhere.txt"}).find("/nowhere.txt"), std::string::npos);
  const std::string few = folder.file("few.txt");
  std::ofstream(few) << "zero\none\ntwo\n";
  EXPECT_NE(complaint({"--labels", few}).find("names 3 classes, the network has 10"),
            std::string::npos);
  const std::string network = folder.file("net.fettle");
  std::filesystem::resize_file(network, 5000);
  EXPECT_EQ(complaint({}).find("fettle-run: " + network +
                               ": the network file ends early: it has 5000 of "),
            0u);
}

// Else the threads would run wherever, or several on one core.
TEST_F(FettleRun, CoresAreThoseThereAreEachOnce) {
  for (const std::string program : {FETTLE_RUN_PROGRAM, FETTLE_PROGRAM " run"}) {
    const auto refused = [&](const std::string& cores) {
      const auto result = run_program(
          {"/bin/sh", "-c", program + " " + folder.file("net.fettle") + " --cores " + cores});
      EXPECT_EQ(result.status, 2) << result.err;
      return result.err;
    };
    EXPECT_NE(refused("4095").find("--cores names core 4095, which this process may not use"),
              std::string::npos);
    EXPECT_NE(refused("0-4095").find("which this process may not use"), std::string::npos);
    EXPECT_NE(refused("0,0").find("--cores names core 0 twice"), std::string::npos);
  }
}

TEST_F(FettleRun, NotEnoughMemoryHasBothNumbers) {
  tiny.hidden = 1 << 16;
  tiny.make();
  tiny.write(folder.file("net.fettle"));
  const std::string told = complaint({"--memory", "4"});
  EXPECT_NE(told.find("the network needs 14."), std::string::npos) << told;
  EXPECT_NE(told.find(" MiB of memory, 4.0 MiB can be had here"), std::string::npos) << told;
}

TEST_F(FettleRun, DamagedWeightsAreFoundByCheck) {
  const std::string network = folder.file("net.fettle");
  std::string bytes = contents_of(network);
  bytes[bytes.size() - 1000] ^= 1;  // not in the code, which is checked at all times
  std::ofstream(network, std::ios::binary) << bytes;
  const auto unchecked = run({"--runs", "1"});
  if (unchecked.status == 0) {
    EXPECT_NE(complaint({"--check", "--runs", "1"}).find("has another hash"), std::string::npos);
  } else {
    EXPECT_NE(unchecked.err.find("image 0 has another hash"), std::string::npos);
  }
}

TEST_F(FettleRun, HelpAndVersion) {
  const auto help = run_program({FETTLE_RUN_PROGRAM, "--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* option :
       {"--input", "--random", "--output", "--threads", "--cores", "--runs", "--profile", "--json",
        "--top", "--labels", "--mean", "--std", "--size", "--check"}) {
    EXPECT_NE(help.out.find(option), std::string::npos) << option;
  }
  EXPECT_EQ(run_program({FETTLE_RUN_PROGRAM, "--version"}).status, 0);
  EXPECT_EQ(run_program({FETTLE_RUN_PROGRAM}).status, 2);
}

// The host's command takes the same options.
TEST_F(FettleRun, AsACommandOfFettle) {
  const auto result = run_program({FETTLE_PROGRAM, "run", folder.file("net.fettle"), "--input",
                                   "image=" + folder.file("image.npy"), "--output",
                                   folder.file("out"), "--runs", "5", "--json"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(nlohmann::json::parse(result.out)["runs"], 5);
  EXPECT_EQ(floats_of(contents_of(folder.file("out/scores.npy"))), tiny.answer(image));
  const auto refused = run_program({FETTLE_PROGRAM, "run", folder.file("image.npy")});
  EXPECT_EQ(refused.status, 1);
  EXPECT_NE(refused.err.find("does not begin with FETTLNET"), std::string::npos) << refused.err;
}

// The programs that boards get, here or under an emulator.
class StaticFettleRun : public ::testing::TestWithParam<const char*> {};

TEST_P(StaticFettleRun, AnswersAsWell) {
  const std::string arch = GetParam();
  const std::string program = std::string(FETTLE_AGENTS_FOLDER) + "/" + arch + "/fettle-run";
  if (!std::filesystem::exists(program)) GTEST_SKIP() << "no " << program << ": ./dev agents";
  if (!test::have_tiny_network(arch)) GTEST_SKIP() << "no kernels for " << arch;
  std::vector<std::string> argv;
  if (arch != native_arch()) {
    const std::string emulator = emulator_of(arch);
    if (emulator.empty()) GTEST_SKIP() << "no qemu-user for " << arch << ": ./dev setup";
    argv = {emulator};
  }
  ScratchFolder folder;
  TinyNetwork tiny;
  tiny.arch = arch;
  tiny.make();
  tiny.write(folder.file("net.fettle"));
  const std::vector<float> image(48, 0.5f);
  std::ofstream(folder.file("x.npy"), std::ios::binary) << npy_file(
      wire::ScalarType::Float32, std::vector<std::int64_t>{1, 48},
      {reinterpret_cast<const std::uint8_t*>(image.data()), image.size() * sizeof(float)});
  argv.insert(argv.end(),
              {program, folder.file("net.fettle"), "--input", folder.file("x.npy"), "--output",
               folder.file("out"), "--runs", "5", "--threads", "2", "--profile"});
  const auto result = run_program(argv, std::chrono::seconds(120));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(floats_of(contents_of(folder.file("out/scores.npy"))), tiny.answer(image));
}

INSTANTIATE_TEST_SUITE_P(Archs, StaticFettleRun, ::testing::Values("x86_64", "aarch64", "armv7"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace fettle::testing

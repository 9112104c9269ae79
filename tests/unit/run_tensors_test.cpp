// A network's inputs out of files, its outputs into files, and its best classes.
#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "runtime/run/tensors.h"
#include "runtime/tensor_files/tensor_file.h"
#include "runtime/tensor_files/zip.h"
#include "schemas/wire/bounded_read.h"
#include "tests/support/tensor_samples.h"

namespace fettle {
namespace {

using test::floats;
using test::npy_of;
using test::tensor_of;
using wire::ScalarType;

wire::NetworkT of_two_inputs() {
  wire::NetworkT network;
  for (const char* name : {"a", "b"}) {
    network.inputs.push_back(std::make_unique<wire::NetworkTensorT>());
    *network.inputs.back() = tensor_of(ScalarType::Float32, {2});
    network.inputs.back()->name = name;
  }
  return network;
}

TEST(Inputs, AreFilledByTheirOwnNames) {
  const auto network = of_two_inputs();
  const std::string folder = ::testing::TempDir() + "fettle-inputs-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const std::string file = folder + "/a.npz", array = folder + "/a.npy";
  const auto write = [](const std::string& path, const std::string& contents) {
    std::ofstream(path, std::ios::binary) << contents;
  };
  const std::string a = npy_of<float>(ScalarType::Float32, {2}, {4, 5});
  write(file, *zip_archive({{"a.npy", a}})), write(array, a);
  std::vector<std::uint8_t> first(8), second(8);
  const std::vector<std::span<std::uint8_t>> to = {first, second};
  const auto said = [&](const std::vector<std::pair<std::string, std::string>>& inputs,
                        float mean = 0) {
    run::RunOptions options;
    options.inputs.assign(inputs.begin(), inputs.end());
    options.image.mean[0] = mean;
    const auto filled = run::fill_inputs(network, options, to);
    return filled ? "" : filled.error().message;
  };
  EXPECT_EQ(said({{"", file}}), file + ": no array b.npy in it, but a.npy");
  EXPECT_EQ(said({{"a", file}, {"b", file}}), "") << "under another name where that is said";
  EXPECT_EQ(floats(second), (std::vector<float>{4, 5}));
  EXPECT_EQ(said({{"a", array}, {"a", array}}), "--input a is given twice");
  EXPECT_EQ(said({{"", file}, {"", file}}), "two --input without a name: give NAME=FILE");
  EXPECT_EQ(said({{"a", array}, {"b", array}}, 0.5),
            "--mean, --std and --size are of images, and no --input is one");
  std::filesystem::remove_all(folder);
}

TEST(Outputs, BestClassesOfEachRow) {
  wire::NetworkT network;
  network.outputs.push_back(std::make_unique<wire::NetworkTensorT>());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores = {1, 3, 3, nan, nan, 0, nan, 2};
  const std::vector<ByteView> outputs = {
      {reinterpret_cast<const std::uint8_t*>(scores.data()), scores.size() * sizeof(float)}};
  run::RunOptions options;
  options.top = 3;
  const auto places = [&](std::vector<std::int64_t> shape) {
    *network.outputs[0] = tensor_of(ScalarType::Float32, std::move(shape));
    const auto classes = run::deliver_outputs(network, outputs, options);
    std::vector<std::size_t> out;
    if (!classes) return out;
    for (const run::Class& one : *classes) out.push_back(one.row * 10 + one.index);
    return out;
  };
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(places({2, 4}), (Places{1, 2, 0, 13, 11, 10})) << "what is no number comes last";
  EXPECT_EQ(places({2, 4, 1, 1}), (Places{1, 2, 0, 13, 11, 10}));
  EXPECT_EQ(places({1, 8}), (Places{1, 2, 7}));
  EXPECT_EQ(places({8, 1, 1, 1}), (Places{0, 10, 20, 30, 40, 50, 60, 70})) << "one class";
  EXPECT_EQ(places({2, 2, 2}), Places()) << "no row of scores";
}

TEST(Outputs, LongAndHiddenNamesAreFilesToo) {
  wire::NetworkT network;
  const float value = 1;
  std::vector<ByteView> outputs;
  for (const std::string& name : {std::string(300, 'n'), std::string("../y")}) {
    network.outputs.push_back(std::make_unique<wire::NetworkTensorT>());
    *network.outputs.back() = tensor_of(ScalarType::Float32, {1});
    network.outputs.back()->name = name;
    outputs.emplace_back(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
  }
  run::RunOptions options;
  options.output = ::testing::TempDir() + "fettle-long-" + std::to_string(::getpid());
  const auto delivered = run::deliver_outputs(network, outputs, options);
  ASSERT_TRUE(delivered.ok()) << delivered.error().text();
  EXPECT_TRUE(std::filesystem::exists(options.output + "/" + std::string(200, 'n') + ".npy"));
  EXPECT_TRUE(std::filesystem::exists(options.output + "/_._y.npy"));
  std::filesystem::remove_all(options.output);
}

TEST(Outputs, OfNamesThatLookAlikeAreFilesOfTheirOwn) {
  wire::NetworkT network;
  for (const char* name : {"y:0", "y_0", "y/0", "z"}) {
    network.outputs.push_back(std::make_unique<wire::NetworkTensorT>());
    network.outputs.back()->name = name;
    network.outputs.back()->dtype = ScalarType::Float32;
    network.outputs.back()->shape = {1};
  }
  std::vector<float> values = {1, 2, 3, 4};
  std::vector<ByteView> outputs;
  for (const float& value : values) {
    outputs.emplace_back(reinterpret_cast<const std::uint8_t*>(&value), sizeof value);
  }
  run::RunOptions options;
  options.output = ::testing::TempDir() + "fettle-outputs-" + std::to_string(::getpid());
  const auto delivered = run::deliver_outputs(network, outputs, options);
  ASSERT_TRUE(delivered.ok()) << delivered.error().text();
  std::size_t next = 0;
  for (const char* file : {"y_0.npy", "y_0_2.npy", "y_0_3.npy", "z.npy"}) {
    auto contents = read_whole(options.output + "/" + file, 4096);
    ASSERT_TRUE(contents.ok()) << contents.error().text();
    const auto array = parse_npy(*contents);
    ASSERT_TRUE(array.ok()) << file;
    EXPECT_EQ(floats(array->bytes), std::vector<float>{values[next++]});
  }
  std::filesystem::remove_all(options.output);
}

}  // namespace
}  // namespace fettle

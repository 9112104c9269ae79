// `fettle quantize`: files in, a quantised file and its report out, and one clear line for each
// mistake.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/tensor_files/npy.h"
#include "runtime/tensor_files/zip.h"
#include "tests/support/quantized_network.h"

namespace fettle::testing {
namespace {

using std::chrono::seconds;

std::string npy(std::vector<std::int64_t> shape, const std::vector<float>& values) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(values.data());
  return npy_file(wire::ScalarType::Float32, shape, {bytes, values.size() * sizeof(float)});
}

class Quantize : public ::testing::Test {
 protected:
  void SetUp() override { write("net.onnx", small_network().text()); }
  std::string write(const std::string& name, const std::string& contents) {
    std::ofstream(folder.file(name), std::ios::binary) << contents;
    return folder.file(name);
  }
  std::string sample(const std::string& name, std::uint64_t seed) {
    numbers.push_back(random_numbers(8 * 144, seed, 2));
    return write(name, npy({1, 8, 12, 12}, numbers.back()));
  }
  ProgramResult quantize(std::vector<std::string> words) {
    words.insert(words.begin(), {FETTLE_PROGRAM, "quantize"});
    return run_program(words, seconds(300));
  }
  static std::vector<nlohmann::json> lines_of(const ProgramResult& result) {
    EXPECT_EQ(result.status, 0) << result.err;
    std::vector<nlohmann::json> lines;
    std::istringstream text(result.out);
    for (std::string line; std::getline(text, line);) {
      lines.push_back(nlohmann::json::parse(line, nullptr, false));
      EXPECT_TRUE(lines.back().is_object()) << line;
    }
    return lines;
  }
  // Of one mistake.
  std::string complaint(std::vector<std::string> words) {
    words.insert(words.end(), {"-o", folder.file("none.onnx")});
    const auto result = quantize(std::move(words));
    EXPECT_NE(result.status, 0) << result.out;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder.file("none.onnx")));
    return result.err;
  }
  ScratchFolder folder;
  std::vector<std::vector<float>> numbers;  // of the samples
};

// The command computes by code for this CPU, this test by the reference.
TEST_F(Quantize, TheReportIsTrueOfTheFile) {
  const std::string a = sample("a.npy", 5), b = sample("b.npy", 6), q = folder.file("q.onnx");
  for (const bool power_of_two : {false, true}) {
    std::vector<std::string> words = {
        folder.file("net.onnx"), "--samples", a, b, "--json", "-o", q};
    if (power_of_two) words.push_back("--power-of-two");
    const auto lines = lines_of(quantize(words));
    ASSERT_GT(lines.size(), 6u);
    const auto whole = model::import_onnx(folder.file("net.onnx")), other = model::import_onnx(q);
    ASSERT_TRUE(whole) << whole.error().text();
    ASSERT_TRUE(other) << other.error().text();
    double signal = 0, noise = 0;
    for (const auto& list : numbers) {
      const auto x = model::evaluate_graph(*whole, {bytes_of(list)}),
                 y = model::evaluate_graph(*other, {bytes_of(list)});
      ASSERT_TRUE(x && y);
      const auto exact = list_of<float>(x->front()), rounded = list_of<float>(y->front());
      ASSERT_EQ(exact.size(), rounded.size());
      for (std::size_t i = 0; i < exact.size(); ++i) {
        signal += std::pow(double(exact[i]), 2);
        noise += std::pow(double(exact[i]) - rounded[i], 2);
      }
    }
    const auto& output = lines[lines.size() - 2];
    EXPECT_EQ(output["event"], "output");
    EXPECT_EQ(output["output"], "y");
    // A number next to a half may be rounded the other way.
    EXPECT_NEAR(output["sqnr_db"].get<double>(), 10 * std::log10(signal / noise), 0.5);
    EXPECT_GT(output["sqnr_db"], 20);
    EXPECT_EQ(lines.back()["event"], "summary");
    EXPECT_EQ(lines.back()["samples"], 2);
    EXPECT_EQ(lines.back()["int8_products"], 4);
    EXPECT_EQ(lines.back()["products"], 4);
    EXPECT_EQ(lines.front()["value"], "x");
    std::size_t quantizations = 0;
    for (const model::Node& node : other->nodes) quantizations += node.op == "QuantizeLinear";
    EXPECT_EQ(quantizations + 2, lines.size());
    for (std::size_t i = 0; i < quantizations; ++i) {
      const double scale = lines[i]["scale"];
      EXPECT_GT(scale, 0);
      if (power_of_two) {
        EXPECT_EQ(std::exp2(std::round(std::log2(scale))), scale);
      }
      EXPECT_GT(lines[i]["sqnr_db"], 20) << lines[i];
    }
  }
}

TEST_F(Quantize, TheTableEndsWithTheOutput) {
  const auto result = quantize(
      {folder.file("net.onnx"), "--samples", sample("a.npy", 5), "-o", folder.file("q.onnx")});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.find("layer"), 0u) << result.out;
  EXPECT_NE(result.out.find("SQNR dB"), std::string::npos);
  EXPECT_NE(result.out.find("Conv Relu"), std::string::npos);
  const std::size_t last = result.out.rfind('\n', result.out.size() - 2);
  EXPECT_EQ(result.out.substr(last + 1, 13), "y      output") << result.out;
  EXPECT_NE(result.err.find("4 of 4 convolutions and products"), std::string::npos) << result.err;
}

// Two inputs, by name or in an archive; an image with its mean.
TEST_F(Quantize, TakesWhatFettleRunTakes) {
  OnnxModel two;
  two.input("a", {1, 3, 8, 8});
  two.input("b", {1, 3, 8, 8});
  two.weights("w", {4, 3, 3, 3});
  two.weights("v", {4, 3, 3, 3});
  two.node("Conv", {"a", "w"}, "p");
  two.node("Conv", {"b", "v"}, "r");
  two.node("Add", {"p", "r"}, "y");
  two.output("y");
  const std::string model = write("two.onnx", two.text());
  const std::string a = npy({1, 3, 8, 8}, random_numbers(192, 1, 1)),
                    b = npy({1, 3, 8, 8}, random_numbers(192, 2, 4));
  const auto archive = zip_archive({{"a.npy", a}, {"b.npy", b}});
  ASSERT_TRUE(archive);
  const std::string both = write("both.npz", *archive);
  write("a.npy", a), write("b.npy", b);
  const auto report = [&](std::vector<std::string> samples) {
    std::vector<std::string> words = {model, "--json", "-o", folder.file("q.onnx"), "--samples"};
    words.insert(words.end(), samples.begin(), samples.end());
    auto lines = lines_of(quantize(words));
    if (!lines.empty()) lines.pop_back();  // its seconds differ
    return lines;
  };
  const auto named = report({"b=" + folder.file("b.npy"), "a=" + folder.file("a.npy")});
  ASSERT_FALSE(named.empty());
  EXPECT_EQ(named, report({both}));
  EXPECT_NE(complaint({model, "--samples", folder.file("a.npy")}).find("names no input"),
            std::string::npos);
  EXPECT_NE(
      complaint({model, "--samples", "a=" + folder.file("a.npy")}).find("1 files of a, but 0"),
      std::string::npos);
  EXPECT_NE(complaint({model, "--samples", "c=" + folder.file("a.npy")}).find("no input c"),
            std::string::npos);

  OnnxModel image;
  image.input("x", {1, 3, 8, 8});
  image.weights("w", {4, 3, 3, 3});
  image.node("Conv", {"x", "w"}, "y");
  image.output("y");
  const std::string pixels(8 * 8 * 3, '\x80');
  const auto lines = lines_of(quantize(
      {write("image.onnx", image.text()), "--samples", write("grey.ppm", "P6 8 8 255\n" + pixels),
       "--mean", "0,0,0", "--std", "0.25,0.25,0.25", "--json", "-o", folder.file("q.onnx")}));
  ASSERT_FALSE(lines.empty());
  EXPECT_NEAR(lines[0]["scale"].get<double>(), 128 / 255.0 / 0.25 / 127, 1e-5);
}

TEST_F(Quantize, MistakesAreOneLineEach) {
  const std::string model = folder.file("net.onnx"), good = sample("a.npy", 5);
  const auto says = [&](const std::vector<std::string>& words, const std::string& what) {
    const std::string said = complaint(words);
    EXPECT_NE(said.find(what), std::string::npos) << said;
  };
  says({model}, "--samples");
  says({model, "--samples", folder.file("no.npy")}, "no.npy");
  const std::string small = write("small.npy", npy({1, 8, 6, 6}, random_numbers(288, 1, 1)));
  says({model, "--samples", good, small}, "1x8x6x6");
  says({model, "--samples", good, small}, "1x8x12x12");
  std::vector<float> list = random_numbers(8 * 144, 5, 2);
  list[17] = std::nanf("");
  const std::string nan = write("nan.npy", npy({1, 8, 12, 12}, list));
  says({model, "--samples", good, nan}, "nan.npy: element 17 of the input x is not a number");
  says({"resnet-18", "--samples", good}, "is no ONNX file");

  ASSERT_EQ(quantize({model, "--samples", good, "-o", folder.file("q.onnx")}).status, 0);
  says({folder.file("q.onnx"), "--samples", good}, "is quantised already");

  OnnxModel unknown;
  unknown.input("x", {1, 8, 12, 12});
  unknown.weights("w", {8, 8, 1, 1});
  unknown.whole_numbers("lo", {}, {-3}), unknown.whole_numbers("hi", {}, {3});
  unknown.node("Conv", {"x", "w"}, "c");
  for (const char* name : {"h", "i"}) {
    const bool half = *name == 'h';
    OnnxModel::integer(unknown.node("Cast", {half ? "c" : "q"}, name), "to",
                       half ? onnx::TensorProto::FLOAT16 : onnx::TensorProto::INT32);
    unknown.node(half ? "Gelu" : "Clip",
                 half ? std::vector<std::string>{name} : std::vector<std::string>{name, "lo", "hi"},
                 half ? "e" : "j");
    OnnxModel::integer(unknown.node("Cast", {half ? "e" : "j"}, half ? "q" : "y"), "to",
                       onnx::TensorProto::FLOAT);
  }
  unknown.output("y");
  const std::string odd = write("odd.onnx", unknown.text());
  says({odd, "--samples", good}, "Clip (j), Gelu (e)");

  OnnxModel nothing;
  nothing.input("x", {1, 8, 12, 12});
  nothing.node("Sigmoid", {"x"}, "y");
  nothing.output("y");
  says({write("nothing.onnx", nothing.text()), "--samples", good}, "nothing that can be quantised");

  const auto same = quantize({model, "--samples", good, "-o", model});
  EXPECT_EQ(same.status, 1);
  EXPECT_NE(same.err.find("names the model itself"), std::string::npos) << same.err;
}

TEST_F(Quantize, CtrlCLeavesNothing) {
  const std::string model = folder.file("resnet.onnx"), q = folder.file("q.onnx");
  ASSERT_EQ(run_program({FETTLE_PROGRAM, "zoo", "resnet-18", "-o", model}).status, 0);
  write("x.npy", npy({1, 3, 224, 224}, random_numbers(3 * 224 * 224, 1, 2)));
  std::vector<std::string> words = {FETTLE_PROGRAM, "quantize", model, "-o", q};
  // So many that no machine is done in two seconds.
  for (int i = 0; i < 200; ++i) words.insert(words.end(), {"--samples", folder.file("x.npy")});
  RunningProgram program(words);
  std::this_thread::sleep_for(seconds(2));
  program.signal(SIGINT);
  EXPECT_EQ(program.wait(seconds(60)), 130) << program.err();
  EXPECT_FALSE(std::filesystem::exists(q));
  EXPECT_EQ(program.err(), "");
}

}  // namespace
}  // namespace fettle::testing

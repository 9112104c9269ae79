// Fourier transforms, and the windows and filters around them.
#include <complex>
#include <cstring>
#include <numbers>

#include "host/model/graph/node_stages.h"
#include "tests/support/network_agrees.h"

namespace fettle::network {
namespace {

using Model = testing::OnnxModel;
using Shape = std::vector<std::int64_t>;
using Numbers = std::vector<float>;

class NetworkSignal : public testing::NetworkAgrees {
 protected:
  Numbers values(const Model& model, const Numbers& x) {
    auto graph = imported(model.text());
    EXPECT_TRUE(graph) << graph.error().text();
    if (!graph) return {};
    const auto* begin = reinterpret_cast<const std::uint8_t*>(x.data());
    std::vector<model::TensorBytes> given;
    if (!x.empty()) {
      given.push_back(std::make_shared<const std::vector<std::uint8_t>>(
          begin, begin + x.size() * sizeof(float)));
    }
    const auto made = model::evaluate_graph(*graph, given);
    EXPECT_TRUE(made) << made.error().text();
    if (!made) return {};
    Numbers out(made->front()->size() / sizeof(float));
    std::memcpy(out.data(), made->front()->data(), made->front()->size());
    return out;
  }
  // By its definition; `x` as pairs.
  static std::vector<std::complex<double>> transform(std::vector<std::complex<double>> x,
                                                     std::size_t points, bool inverse) {
    x.resize(points);
    std::vector<std::complex<double>> y(points);
    for (std::size_t k = 0; k < points; ++k) {
      for (std::size_t n = 0; n < points; ++n) {
        const double angle = 2 * std::numbers::pi * double(n) * double(k) / double(points);
        y[k] += x[n] * std::polar(inverse ? 1 / double(points) : 1., inverse ? angle : -angle);
      }
    }
    return y;
  }
  static Numbers sample(std::size_t count) {
    Numbers x;
    for (std::size_t i = 0; i < count; ++i) x.push_back(std::sin(float(i * i) + 1));
    return x;
  }
};

TEST_F(NetworkSignal, TransformsOfRealAndComplexSignals) {
  const struct {
    std::int64_t parts, length;
    bool inverse, onesided;
  } rows[] = {{1, 0, false, false}, {1, 0, false, true},  {2, 0, false, false},
              {2, 0, true, false},  {1, 16, false, true}, {2, 7, false, false}};
  constexpr std::size_t kGiven = 10;
  for (const auto& row : rows) {
    Model model;
    model.opset(17);
    model.input("x", {2, std::int64_t(kGiven), row.parts});
    std::vector<std::string> inputs = {"x"};
    if (row.length > 0) {
      model.whole_numbers("length", {}, {row.length});
      inputs.push_back("length");
    }
    auto& node = model.node("DFT", inputs, "y");
    Model::integer(node, "inverse", row.inverse), Model::integer(node, "onesided", row.onesided);
    model.output("y");
    SCOPED_TRACE(std::to_string(row.parts) + " " + std::to_string(row.length));
    agrees(model);
    const Numbers x = sample(2 * kGiven * std::size_t(row.parts));
    const Numbers ours = values(model, x);
    const std::size_t points = row.length > 0 ? std::size_t(row.length) : kGiven,
                      kept = row.onesided ? points / 2 + 1 : points;
    ASSERT_EQ(ours.size(), 2 * kept * 2);
    for (std::size_t batch = 0; batch < 2; ++batch) {
      std::vector<std::complex<double>> signal;
      for (std::size_t n = 0; n < kGiven; ++n) {
        const float* at = &x[(batch * kGiven + n) * std::size_t(row.parts)];
        signal.emplace_back(at[0], row.parts == 2 ? at[1] : 0);
      }
      const auto right = transform(signal, points, row.inverse);
      for (std::size_t k = 0; k < kept; ++k) {
        EXPECT_NEAR(ours[(batch * kept + k) * 2], right[k].real(), 1e-5) << k;
        EXPECT_NEAR(ours[(batch * kept + k) * 2 + 1], right[k].imag(), 1e-5) << k;
      }
    }
  }
}

TEST_F(NetworkSignal, TransformsAlongAnotherAxis) {
  Model model;
  model.opset(17);
  model.input("x", {2, 3, 4, 1});
  Model::integer(model.node("DFT", {"x"}, "y"), "axis", 2);
  model.output("y");
  agrees(model);
  const Numbers x = sample(24), ours = values(model, x);
  ASSERT_EQ(ours.size(), 48u);
  for (std::size_t row = 0; row < 6; ++row) {
    const auto right = transform(
        {x.begin() + std::ptrdiff_t(row * 4), x.begin() + std::ptrdiff_t(row * 4 + 4)}, 4, false);
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(ours[(row * 4 + k) * 2], right[k].real(), 1e-5);
  }
}

// As torch.stft() is exported.
TEST_F(NetworkSignal, TransformsOfFrames) {
  constexpr std::size_t kLength = 8, kStep = 3, kFrames = 5;  // of 20 + 1 points
  for (const bool windowed : {false, true}) {
    Model model;
    model.opset(17);
    model.input("x", {1, 21, 1});
    model.whole_numbers("step", {}, {std::int64_t(kStep)});
    model.whole_numbers("length", {}, {std::int64_t(kLength)});
    model.node("HannWindow", {"length"}, "window");
    model.node("STFT", {"x", "step", windowed ? "window" : "", "length"}, "y");
    model.output("y");
    agrees(model);
    const Numbers x = sample(21), ours = values(model, x);
    ASSERT_EQ(ours.size(), kFrames * (kLength / 2 + 1) * 2);
    for (std::size_t frame = 0; frame < kFrames; ++frame) {
      std::vector<std::complex<double>> signal;
      for (std::size_t n = 0; n < kLength; ++n) {
        const double turn = 2 * std::numbers::pi * double(n) / double(kLength);
        signal.emplace_back(x[frame * kStep + n] * (windowed ? 0.5 - 0.5 * std::cos(turn) : 1), 0);
      }
      const auto right = transform(signal, kLength, false);
      for (std::size_t k = 0; k <= kLength / 2; ++k) {
        EXPECT_NEAR(ours[(frame * 5 + k) * 2], right[k].real(), 1e-5);
        EXPECT_NEAR(ours[(frame * 5 + k) * 2 + 1], right[k].imag(), 1e-5);
      }
    }
  }
}

TEST_F(NetworkSignal, WindowsEndAtZeroOrBeginAnew) {
  for (const bool periodic : {false, true}) {
    for (const auto& [op, first] :
         {std::pair{"HannWindow", 0.f}, {"HammingWindow", 4.f / 46}, {"BlackmanWindow", 0.f}}) {
      Model model;
      model.opset(17);
      model.input("x", {9});
      model.whole_numbers("size", {}, {9});
      Model::integer(model.node(op, {"size"}, "w"), "periodic", periodic);
      model.node("Mul", {"x", "w"}, "y");
      model.output("y");
      const Numbers w = values(model, Numbers(9, 1));
      ASSERT_EQ(w.size(), 9u);
      EXPECT_NEAR(w[0], first, 1e-6) << op;
      EXPECT_NEAR(w[8], periodic ? w[1] : w[0], 1e-6) << op;
      if (!periodic) {
        EXPECT_NEAR(w[4], 1, 1e-6) << op;
      }
    }
  }
}

// Each band rises to 1 where the one before has ended.
TEST_F(NetworkSignal, MelBandsFollowOneAnother) {
  Model model;
  model.opset(17);
  model.input("x", {1, 129});
  model.whole_numbers("bands", {}, {8}), model.whole_numbers("points", {}, {256});
  model.whole_numbers("rate", {}, {8192});
  model.numbers("low", {}, 0), model.numbers("high", {}, 4096);
  model.node("MelWeightMatrix", {"bands", "points", "rate", "low", "high"}, "m");
  model.node("MatMul", {"x", "m"}, "y");
  model.output("y");
  agrees(model);
  Numbers peaks;
  for (int f = 0; f < 129; ++f) {
    Numbers x(129, 0);
    x[std::size_t(f)] = 1;
    const Numbers y = values(model, x);
    ASSERT_EQ(y.size(), 8u);
    float sum = 0;
    for (const float weight : y) sum += weight;
    EXPECT_LE(sum, 1.0001f) << f;
    for (std::size_t band = 0; band < 8; ++band) {
      if (y[band] == 1) peaks.push_back(float(band));
    }
  }
  EXPECT_EQ(peaks, (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST_F(NetworkSignal, WhatCannotBeIsTold) {
  const auto said = [&](const std::function<void(Model&)>& add) {
    Model model;
    model.opset(17);
    model.input("x", {1, 8, 1}), model.input("w", {8});
    model.whole_numbers("step", {}, {2}), model.whole_numbers("none", {}, {0});
    model.whole_numbers("many", {}, {1000000});
    add(model);
    model.output("y");
    const auto graph = imported(model.text());
    return graph ? "" : graph.error().text();
  };
  const std::pair<std::function<void(Model&)>, const char*> rows[] = {
      {[](Model& m) { m.node("STFT", {"x", "step", "w"}, "y"); }, "a window that is not known"},
      {[](Model& m) { m.node("STFT", {"x", "none", "", "step"}, "y"); }, "without a length"},
      {[](Model& m) { m.node("STFT", {"x", "step", "", "many"}, "y"); }, "so many points"},
      {[](Model& m) { m.node("DFT", {"x", "none"}, "y"); }, "no points"},
      {[](Model& m) { m.node("DFT", {"x", "many"}, "y"); }, "so many points"},
      {[](Model& m) { Model::integer(m.node("DFT", {"x"}, "y"), "axis", 2); }, "no such axis"},
      {[](Model& m) { m.node("DFT", {"w"}, "y"); }, "no axes of points"},
      {[](Model& m) { m.node("HannWindow", {"none"}, "y"); }, "a window of that size"},
      {[](Model& m) { m.node("MelWeightMatrix", {"step", "step"}, "y"); }, "has no sample_rate"},
  };
  for (const auto& [add, words] : rows) {
    const std::string text = said(add);
    EXPECT_NE(text.find(words), std::string::npos) << words << ": " << text;
  }
}

}  // namespace
}  // namespace fettle::network

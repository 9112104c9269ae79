// Winograd's matrices against the sum that they stand for, and the form of
// convolution that the algorithm takes.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "host/space/algorithms/window.h"
#include "host/space/algorithms/winograd.h"
#include "host/space/algorithms/winograd_convolution.h"
#include "host/space/tolerance.h"
#include "host/space/workload.h"
#include "schemas/half/half.h"

namespace fettle::space {
namespace {

template <typename Real>
std::vector<Real> times(const Matrix& matrix, const std::vector<Real>& values) {
  std::vector<Real> out;
  for (const auto& row : matrix) {
    Real sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i) sum += static_cast<Real>(row[i]) * values[i];
    out.push_back(sum);
  }
  return out;
}

// value of an expression of loads from one buffer at constant places
double value(const ir::Expr& e, const std::vector<double>& of) {
  if (const auto* imm = std::get_if<ir::FloatImm>(&e->node)) return imm->value;
  if (const auto* load = std::get_if<ir::Load>(&e->node)) {
    return of[std::size_t(*ir::as_int(load->indices[0]))];
  }
  const auto& op = std::get<ir::Binary>(e->node);
  const double a = value(op.a, of), b = value(op.b, of);
  return op.op == ir::BinaryOp::Add ? a + b : op.op == ir::BinaryOp::Sub ? a - b : a * b;
}

TEST(Winograd, ProductsGiveTheDirectSums) {
  for (const int outputs : {2, 4, 6}) {
    const Winograd& w = winograd(outputs);
    const std::vector<double> window{0.5, -1.25, 2};
    std::vector<double> data;
    for (int i = 0; i < w.inputs; ++i) data.push_back(0.75 * i * i - i + 0.5);
    std::vector<double> products = times(w.input, data);
    const std::vector<double> weights = times(w.weight, window);
    for (std::size_t i = 0; i < products.size(); ++i) products[i] *= weights[i];
    const std::vector<double> sums = times(w.output, products);
    for (int a = 0; a < outputs; ++a) {
      const double direct = data[a] * window[0] + data[a + 1] * window[1] + data[a + 2] * window[2];
      EXPECT_NEAR(sums[a], direct, 1e-12 * std::fabs(direct)) << outputs << " outputs, " << a;
    }
  }
}

TEST(Winograd, ExpressionsAreTheMatrixProduct) {
  const auto buffer =
      std::make_shared<const ir::BufferDecl>(ir::BufferDecl{"d", ir::kFloat32, {8}});
  const std::vector<double> data{3, -1, 4, 1.5, -5, 9, -2.5, 6};
  for (const int outputs : {2, 4, 6}) {
    for (const Matrix* matrix : {&winograd(outputs).input, &winograd(outputs).output}) {
      std::vector<ir::Expr> values;
      std::vector<double> numbers;
      for (std::size_t i = 0; i < matrix->front().size(); ++i) {
        values.push_back(ir::load(buffer, {ir::int_imm(std::int64_t(i))}));
        numbers.push_back(data[i]);
      }
      const std::vector<double> wanted = times(*matrix, numbers);
      const std::vector<ir::Expr> rows = product(*matrix, values);
      ASSERT_EQ(rows.size(), wanted.size());
      for (std::size_t r = 0; r < rows.size(); ++r)
        EXPECT_NEAR(value(rows[r], data), wanted[r], 1e-5);
    }
  }
}

ComputeDag dag_of(const char* json) { return Workload::parse(std::string(json)).value().dag(); }

using Grid = std::vector<std::vector<float>>;

// Each value of a matrix * values * its transpose.
Grid both(const Matrix& matrix, const Grid& values) {
  Grid half, out(matrix.size(), std::vector<float>(matrix.size()));
  for (const auto& row : values) half.push_back(times(matrix, row));
  for (std::size_t j = 0; j < matrix.size(); ++j) {
    std::vector<float> column;
    for (const auto& row : half) column.push_back(row[j]);
    const auto made = times(matrix, column);
    for (std::size_t i = 0; i < matrix.size(); ++i) out[i][j] = made[i];
  }
  return out;
}

// Two-dimensional sums over 64 channels in single precision, against double: their
// errors relative to those of the direct sum are what error_growth promises.
TEST(Winograd, ErrorsGrowAsStated) {
  std::mt19937 rng(5);
  std::uniform_real_distribution<double> real(-1, 1);
  constexpr int kChannels = 64, kTiles = 200;
  for (const int outputs : {2, 4, 6}) {
    const Winograd& w = winograd(outputs);
    const int n = w.inputs;
    double direct_error = 0, winograd_error = 0;  // sums of squares, of the worst output
    for (int tile = 0; tile < kTiles; ++tile) {
      double exact = 0;
      float direct = 0;
      std::vector<std::vector<float>> sums(n, std::vector<float>(n, 0));
      const int a = outputs - 1;
      for (int c = 0; c < kChannels; ++c) {
        std::vector<std::vector<float>> d(n, std::vector<float>(n)), g(3, std::vector<float>(3));
        for (auto& row : d)
          for (float& v : row) v = float(real(rng));
        for (auto& row : g)
          for (float& v : row) v = float(real(rng));
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 3; ++x) {
            exact += double(d[a + y][a + x]) * g[y][x];
            direct += d[a + y][a + x] * g[y][x];
          }
        const auto u = both(w.weight, g), v = both(w.input, d);
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) sums[i][j] += u[i][j] * v[i][j];
      }
      std::vector<float> rows;
      for (int j = 0; j < n; ++j) {
        std::vector<float> column;
        for (int i = 0; i < n; ++i) column.push_back(sums[i][j]);
        rows.push_back(times(w.output, column)[a]);
      }
      const double got = times(w.output, rows)[a];
      direct_error += (direct - exact) * (direct - exact);
      winograd_error += (got - exact) * (got - exact);
    }
    const double growth = std::sqrt(winograd_error / direct_error);
    EXPECT_LT(growth, 1.3 * w.error_growth) << outputs;
    EXPECT_GT(growth, 0.3 * w.error_growth) << outputs;  // the figure is no blank cheque
  }
}

// What is transformed and what is summed stored as float16, of 64 channels with the fills of a
// convolution: errors of the worst output relative to what the tolerance leaves room for 8 of.
TEST(Winograd, ErrorsOfFloat16AreAsStated) {
  constexpr int kChannels = 64, kTiles = 200;
  const auto stored = [](Grid grid) {
    for (auto& row : grid)
      for (float& v : row) v = float_of_half(half_of(v));
    return grid;
  };
  const ComputeDag dag = dag_of(
      R"({"op":"conv2d","height":9,"width":9,"in_channels":64,"out_channels":8,"kernel":3,"dtype":"float16"})");
  std::mt19937 rng(6);
  std::uniform_real_distribution<float> magnitude(0.25f, 1);
  const auto filled = [&](int n, float scale) {
    Grid grid(n, std::vector<float>(n));
    for (auto& row : grid)
      for (float& v : row) v = scale * magnitude(rng) * (rng() & 1 ? 1 : -1);
    return stored(grid);
  };
  for (const int outputs : {2, 4, 6}) {
    const Winograd& w = winograd(outputs);
    const int n = w.inputs, a = outputs - 1;
    double error = 0;
    for (int tile = 0; tile < kTiles; ++tile) {
      double exact = 0;
      Grid sums(n, std::vector<float>(n, 0));
      for (int c = 0; c < kChannels; ++c) {
        const Grid d = filled(n, 1), g = filled(3, 1 / std::sqrt(9.0f * kChannels));
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 3; ++x) exact += double(d[a + y][a + x]) * g[y][x];
        const Grid u = stored(both(w.weight, g)), v = stored(both(w.input, d));
        for (int i = 0; i < n; ++i)
          for (int j = 0; j < n; ++j) sums[i][j] += u[i][j] * v[i][j];
      }
      const double got = both(w.output, stored(sums))[a][a];
      error += (got - exact) * (got - exact) / kTiles;
    }
    const double stated =
        tolerance_of(dag).absolute * error_growth_of(dag, Rounding{w.error_growth, true}) / 8;
    EXPECT_LT(std::sqrt(error), 1.3 * stated) << outputs;
    EXPECT_GT(std::sqrt(error), 0.5 * stated) << outputs;
  }
}

TEST(Winograd, TakesWindowsOfThreeWithoutStridesOnly) {
  const auto window = [](const char* json) {
    const ComputeDag dag = dag_of(json);
    return winograd_window(dag, *dag.find("conv")).has_value();
  };
  EXPECT_TRUE(window(
      R"({"op":"conv2d","height":9,"width":9,"in_channels":8,"out_channels":8,"kernel":[3,3],"pad":[1,1]})"));
  EXPECT_FALSE(window(
      R"({"op":"conv2d","height":9,"width":9,"in_channels":8,"out_channels":8,"kernel":[3,3],"stride":[2,1]})"));
  EXPECT_FALSE(window(
      R"({"op":"conv2d","height":9,"width":9,"in_channels":8,"out_channels":8,"kernel":[3,3],"dilation":[1,2]})"));
  EXPECT_FALSE(window(
      R"({"op":"conv2d","height":9,"width":9,"in_channels":8,"out_channels":8,"kernel":[3,1]})"));

  const auto refused = with_winograd(
      dag_of(
          R"({"op":"conv2d","height":9,"width":9,"in_channels":8,"out_channels":8,"kernel":[3,3],"stride":[2,2],"tail":["bias"]})"),
      2, 2);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace fettle::space

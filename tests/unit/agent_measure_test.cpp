// Statistics and output check, against closed forms.
#include <gtest/gtest.h>
#include <cmath>
#include <cstring>
#include <vector>

#include "agent/measure/output_check.h"
#include "agent/measure/statistics.h"

namespace fettle::agent {
namespace {

TEST(MedianInterval, SixValuesGiveTheirRange) {
  // P(all six on one side of the median) = 2 / 64 < 5 %: the whole range, no less.
  const double values[] = {6, 1, 5, 2, 4, 3};
  const auto out = median_interval(values);
  EXPECT_EQ(out.median, 3.5);
  EXPECT_EQ(out.low, 1);
  EXPECT_EQ(out.high, 6);
}

TEST(MedianInterval, RanksOfTheSignTest) {
  // Published table of the sign test's 95 % interval: n = 10: 2nd and 9th, n = 20: 6th and 15th,
  // n = 50: 18th and 33rd.
  const struct {
    int n, low, high;
  } rows[] = {{10, 2, 9}, {20, 6, 15}, {50, 18, 33}};
  for (const auto& row : rows) {
    std::vector<double> values;
    for (int i = row.n; i >= 1; --i) values.push_back(i);
    const auto out = median_interval(values);
    EXPECT_EQ(out.low, row.low) << row.n;
    EXPECT_EQ(out.high, row.high) << row.n;
  }
}

TEST(MedianInterval, FewValuesUseStudent) {
  const double values[] = {99, 100, 101};
  const auto out = median_interval(values);
  EXPECT_EQ(out.median, 100);
  EXPECT_NEAR(out.high - out.median, 4.303 * 1.2533 / std::sqrt(3.0), 1e-3);
  const double one[] = {7};
  EXPECT_TRUE(std::isinf(median_interval(one).high));
}

wire::ExpectedOutputT tolerance(double absolute, double relative,
                                wire::ScalarType type = wire::ScalarType::Float32) {
  wire::ExpectedOutputT how;
  how.dtype = type;
  how.absolute = absolute;
  how.relative = relative;
  return how;
}

template <typename T>
ByteView bytes_of_values(const std::vector<T>& values) {
  return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size() * sizeof(T)};
}

template <typename T>
ErrorCode verdict(const std::vector<T>& actual, const std::vector<T>& expected,
                  const wire::ExpectedOutputT& how) {
  auto checked = check_output(bytes_of_values(actual), bytes_of_values(expected), how, 0xff, "out");
  return checked.ok() ? ErrorCode::Internal : checked.error().code;  // Internal: right
}
constexpr ErrorCode kRight = ErrorCode::Internal;

TEST(OutputCheck, ToleranceIsAsStated) {
  const std::vector<float> expected(5000, 2.0f);
  auto actual = expected;
  EXPECT_EQ(verdict(actual, expected, tolerance(0, 0)), kRight);
  actual[4999] = 2.25f;
  EXPECT_EQ(verdict(actual, expected, tolerance(0.25, 0)), kRight);
  EXPECT_EQ(verdict(actual, expected, tolerance(0, 0.125)), kRight);
  EXPECT_EQ(verdict(actual, expected, tolerance(0.125, 0.0625)), kRight);
  EXPECT_EQ(verdict(actual, expected, tolerance(0.24, 0)), ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict(actual, expected, tolerance(0, 0.12)), ErrorCode::WrongAnswer);
}

TEST(OutputCheck, NanAndInfinity) {
  const float nan = NAN, inf = INFINITY;
  EXPECT_EQ(verdict<float>({nan}, {1}, tolerance(1e9, 1)), ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<float>({1}, {nan}, tolerance(1e9, 1)), ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<float>({nan}, {-nan}, tolerance(0, 0)), kRight);
  EXPECT_EQ(verdict<float>({inf}, {inf}, tolerance(0, 0)), kRight);
  EXPECT_EQ(verdict<float>({-inf}, {inf}, tolerance(1e9, 1)), ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<float>({3e38f}, {inf}, tolerance(1e9, 1)), ErrorCode::WrongAnswer);
}

TEST(OutputCheck, UnwrittenIsToldFromWrong) {
  std::vector<float> expected(100, 1.0f), actual = expected;
  std::memset(&actual[40], 0xff, 8);
  auto checked = check_output(bytes_of_values(actual), bytes_of_values(expected), tolerance(0, 0),
                              0xff, "out");
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, ErrorCode::UnwrittenOutput);
  EXPECT_NE(checked.error().message.find("2 of 100"), std::string::npos);
  EXPECT_NE(checked.error().message.find("first is 40"), std::string::npos);
}

TEST(OutputCheck, IntegersAreExact) {
  using wire::ScalarType;
  // Doubles do not tell these apart.
  const std::int64_t large = std::int64_t{1} << 60, least = INT64_MIN;
  const auto exact = tolerance(0, 0, ScalarType::Int64);
  EXPECT_EQ(verdict<std::int64_t>({large, least}, {large, least}, exact), kRight);
  EXPECT_EQ(verdict<std::int64_t>({large + 1}, {large}, exact), ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<std::int64_t>({large}, {large + 1}, exact), ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<std::int64_t>({INT64_MAX}, {least}, tolerance(1e18, 0, ScalarType::Int64)),
            ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<std::int64_t>({large + 1}, {large}, tolerance(1, 0, ScalarType::Int64)),
            kRight);
  EXPECT_EQ(verdict<std::int8_t>({1, -128}, {1, -128}, tolerance(0, 0, ScalarType::Int8)), kRight);
  EXPECT_EQ(verdict<std::int8_t>({1, 127}, {1, -128}, tolerance(0, 0, ScalarType::Int8)),
            ErrorCode::WrongAnswer);
  EXPECT_EQ(verdict<std::int32_t>({2147483647}, {2147483646}, tolerance(0, 0, ScalarType::Int32)),
            ErrorCode::WrongAnswer);
}

// 0x3c00: 1, 0x3c01: the next, 0x7c00: infinity, 0xffff: what is unwritten.
TEST(OutputCheck, HalvesByTheirValues) {
  const auto how = [](double absolute) {
    return tolerance(absolute, 0, wire::ScalarType::Float16);
  };
  std::vector<std::uint16_t> expected(5000, 0x3c00), actual = expected;
  EXPECT_EQ(verdict(actual, expected, how(0)), kRight);
  actual[4999] = 0x3c01;
  EXPECT_EQ(verdict(actual, expected, how(0x1p-10)), kRight);
  EXPECT_EQ(verdict(actual, expected, how(0x1p-11)), ErrorCode::WrongAnswer);
  actual[4999] = 0xbc00;
  EXPECT_EQ(verdict(actual, expected, how(1)), ErrorCode::WrongAnswer);
  actual[4999] = 0xffff;
  EXPECT_EQ(verdict(actual, expected, how(1)), ErrorCode::UnwrittenOutput);
  EXPECT_EQ(verdict<std::uint16_t>({0x7c00}, {0x7c00}, how(0)), kRight);
  EXPECT_EQ(verdict<std::uint16_t>({0x7bff}, {0x7c00}, how(1e9)), ErrorCode::WrongAnswer);
}

TEST(OutputCheck, SizesMustAgree) {
  EXPECT_EQ(verdict<float>({1, 2}, {1}, tolerance(0, 0)), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace fettle::agent

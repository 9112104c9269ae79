// Output comparison (output_check.h). Most outputs are right: blocks are judged
// without branches first, and only a wrong one is looked at element by element.
#include "agent/measure/output_check.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "schemas/fill/fill.h"
#include "schemas/half/half.h"

namespace fettle::agent {
namespace {

constexpr std::size_t kBlock = 4096;

// A binary16, read as the float that it is exactly.
struct Half {
  std::uint16_t bits;
  operator float() const { return float_of_half(bits); }
};

// The type that a T is compared in.
template <typename T>
using Real = std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, Half>, float, double>;
template <typename T>
constexpr bool kIsReal = std::is_floating_point_v<T> || std::is_same_v<T, Half>;

// Of whole numbers beyond 2^53, which doubles do not tell apart, too.
template <typename T>
Real<T> distance(T actual, T expected) {
  if constexpr (std::is_same_v<T, std::int64_t>) {
    const auto a = static_cast<std::uint64_t>(actual), e = static_cast<std::uint64_t>(expected);
    return static_cast<double>(actual > expected ? a - e : e - a);
  } else {
    return std::fabs(static_cast<Real<T>>(actual) - static_cast<Real<T>>(expected));
  }
}

template <typename T>
bool within(T actual, T expected, double absolute, double relative) {
  if (std::memcmp(&actual, &expected, sizeof actual) == 0) return true;
  if constexpr (kIsReal<T>) {
    const Real<T> a = actual, e = expected;
    if (std::isnan(a) || std::isnan(e)) return std::isnan(a) && std::isnan(e);
    if (std::isinf(a) || std::isinf(e)) return a == e;
  }
  return static_cast<double>(distance(actual, expected)) <=
         absolute + relative * std::fabs(static_cast<double>(expected));
}

// True when every element of the block is surely right; false asks for a closer look
// (NaN and infinities always do). float rounds the bound, so the closer look decides.
template <typename T>
bool block_is_right(const T* actual, const T* expected, std::size_t n, double absolute,
                    double relative) {
  const Real<T> bound = static_cast<Real<T>>(absolute), slope = static_cast<Real<T>>(relative);
  constexpr Real<T> kLargest = std::numeric_limits<Real<T>>::max();
  unsigned right = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Real<T> difference = distance(actual[i], expected[i]);
    const Real<T> size = std::fabs(static_cast<Real<T>>(expected[i]));
    // An expected infinity would make any bound infinite.
    right += unsigned(difference <= bound + slope * size) & unsigned(size <= kLargest);
  }
  return right == n;
}

template <typename T>
Result<void> compare(ByteView actual_bytes, ByteView expected_bytes,
                     const wire::ExpectedOutputT& how, std::uint8_t unwritten_byte,
                     const std::string& name) {
  const auto* actual = reinterpret_cast<const T*>(actual_bytes.data());
  const auto* expected = reinterpret_cast<const T*>(expected_bytes.data());
  const std::size_t count = actual_bytes.size() / sizeof(T);
  T pattern;
  std::memset(&pattern, unwritten_byte, sizeof pattern);
  std::size_t wrong = 0, unwritten = 0, first_wrong = 0, first_unwritten = 0;
  double largest = 0;
  for (std::size_t at = 0; at < count; at += kBlock) {
    const std::size_t n = count - at < kBlock ? count - at : kBlock;
    if (block_is_right(actual + at, expected + at, n, how.absolute, how.relative)) continue;
    for (std::size_t i = at; i < at + n; ++i) {
      if (within(actual[i], expected[i], how.absolute, how.relative)) continue;
      if (std::memcmp(&actual[i], &pattern, sizeof pattern) == 0) {
        if (unwritten++ == 0) first_unwritten = i;
      }
      if (wrong++ == 0) first_wrong = i;
      const auto off = static_cast<double>(distance(actual[i], expected[i]));
      if (off > largest) largest = off;
    }
  }
  if (wrong == 0) return {};
  char text[256];
  if (unwritten > 0) {
    std::snprintf(text, sizeof text, "%zu of %zu elements were never written, the first is %zu",
                  unwritten, count, first_unwritten);
    return Error{ErrorCode::UnwrittenOutput, name + ": " + text};
  }
  std::snprintf(text, sizeof text,
                "%zu of %zu elements are wrong; element %zu is %.9g, expected %.9g (allowed "
                "difference %.3g); largest difference %.3g",
                wrong, count, first_wrong, static_cast<double>(actual[first_wrong]),
                static_cast<double>(expected[first_wrong]),
                how.absolute + how.relative * std::fabs(static_cast<double>(expected[first_wrong])),
                largest);
  return Error{ErrorCode::WrongAnswer, name + ": " + text};
}

}  // namespace

Result<void> check_output(ByteView actual, ByteView expected, const wire::ExpectedOutputT& how,
                          std::uint8_t unwritten_byte, const std::string& name) {
  using wire::ScalarType;
  if (actual.size() != expected.size() || actual.size() % bytes_of(how.dtype) != 0) {
    return Error{ErrorCode::InvalidArgument, name + " has " + std::to_string(actual.size()) +
                                                 " bytes, the expected output " +
                                                 std::to_string(expected.size())};
  }
  switch (how.dtype) {
    case ScalarType::Float32:
      return compare<float>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Float64:
      return compare<double>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Int8:
      return compare<std::int8_t>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Bool:
    case ScalarType::UInt8:
      return compare<std::uint8_t>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Int16:
      return compare<std::int16_t>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Int32:
      return compare<std::int32_t>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Int64:
      return compare<std::int64_t>(actual, expected, how, unwritten_byte, name);
    case ScalarType::Float16:
      return compare<Half>(actual, expected, how, unwritten_byte, name);
  }
  return Error{ErrorCode::Unsupported, "an output of a type that this agent does not know"};
}

}  // namespace fettle::agent

// Philox4x32-10 and the meaning of fills (fill.h).
#include "schemas/fill/fill.h"

#include <cstring>
#include <string>

#include "schemas/half/half.h"
#include "schemas/wire/content_hash.h"

namespace fettle {

PhiloxBlock philox(std::uint64_t counter, std::uint64_t key) {
  std::uint32_t c0 = std::uint32_t(counter), c1 = std::uint32_t(counter >> 32), c2 = 0, c3 = 0;
  std::uint32_t k0 = std::uint32_t(key), k1 = std::uint32_t(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * c0;
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * c2;
    const std::uint32_t n0 = std::uint32_t(p1 >> 32) ^ c1 ^ k0;
    const std::uint32_t n2 = std::uint32_t(p0 >> 32) ^ c3 ^ k1;
    c0 = n0;
    c1 = std::uint32_t(p1);
    c2 = n2;
    c3 = std::uint32_t(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

std::size_t bytes_of(wire::ScalarType type) {
  switch (type) {
    case wire::ScalarType::Bool:
    case wire::ScalarType::Int8:
    case wire::ScalarType::UInt8:
      return 1;
    case wire::ScalarType::Int16:
    case wire::ScalarType::Float16:
      return 2;
    case wire::ScalarType::Int32:
    case wire::ScalarType::Float32:
      return 4;
    case wire::ScalarType::Int64:
    case wire::ScalarType::Float64:
      return 8;
  }
  return 1;
}

namespace {

// Calls make(word) for each element and stores what it returns.
template <typename T, typename Make>
void fill_elements(std::uint64_t stream, std::span<std::uint8_t> out, Make make) {
  const std::size_t count = out.size() / sizeof(T);
  std::uint8_t* at = out.data();
  for (std::size_t i = 0; i < count; i += 4) {
    const PhiloxBlock block = philox(i / 4, stream);
    for (std::size_t j = 0; j < 4 && i + j < count; ++j, at += sizeof(T)) {
      const T value = make(block.word[j]);
      std::memcpy(at, &value, sizeof value);
    }
  }
  std::memset(at, 0, out.size() - count * sizeof(T));
}

// round: from double to T.
template <typename T, typename Round>
void fill_real(const wire::FillT& fill, std::span<std::uint8_t> out, Round round) {
  const double low = fill.low, span = (fill.high - fill.low) * 0x1p-24;
  fill_elements<T>(fill.stream, out, [=](std::uint32_t w) {
    const double magnitude = low + span * double(w >> 8);
    return round(w & 1 ? -magnitude : magnitude);
  });
}

template <typename T>
void fill_int(const wire::FillT& fill, std::span<std::uint8_t> out) {
  const auto low = static_cast<std::int64_t>(fill.low);
  const auto count = static_cast<std::uint64_t>(static_cast<std::int64_t>(fill.high) - low + 1);
  fill_elements<T>(fill.stream, out, [=](std::uint32_t w) {
    return static_cast<T>(low + static_cast<std::int64_t>((std::uint64_t{w} * count) >> 32));
  });
}

}  // namespace

Result<void> fill_bytes(const wire::FillT& fill, std::span<std::uint8_t> out) {
  using wire::FillKind;
  using wire::ScalarType;
  const Error unsupported{ErrorCode::Unsupported, std::string("fill ") +
                                                      wire::EnumNameFillKind(fill.kind) + " of " +
                                                      wire::EnumNameScalarType(fill.dtype)};
  if (fill.kind == FillKind::Zero) {
    std::memset(out.data(), 0, out.size());
    return {};
  }
  if (fill.kind == FillKind::UniformReal) {
    switch (fill.dtype) {
      case ScalarType::Float16:
        fill_real<std::uint16_t>(fill, out, half_of);
        return {};
      case ScalarType::Float32:
        fill_real<float>(fill, out, [](double x) { return static_cast<float>(x); });
        return {};
      case ScalarType::Float64:
        fill_real<double>(fill, out, [](double x) { return x; });
        return {};
      default:
        return unsupported;
    }
  }
  if (fill.kind == FillKind::UniformInt) {
    if (!(fill.low >= -2147483648.0 && fill.high <= 2147483647.0)) {
      return Error{ErrorCode::InvalidArgument, "integer fill outside the range of 32 bits"};
    }
    switch (fill.dtype) {
      case ScalarType::Int8:
        return fill_int<std::int8_t>(fill, out), Result<void>{};
      case ScalarType::UInt8:
        return fill_int<std::uint8_t>(fill, out), Result<void>{};
      case ScalarType::Int16:
        return fill_int<std::int16_t>(fill, out), Result<void>{};
      case ScalarType::Int32:
        return fill_int<std::int32_t>(fill, out), Result<void>{};
      case ScalarType::Int64:
        return fill_int<std::int64_t>(fill, out), Result<void>{};
      case ScalarType::Float32:
        return fill_int<float>(fill, out), Result<void>{};
      default:
        return unsupported;
    }
  }
  return unsupported;
}

bool same_fill(const wire::FillT& a, const wire::FillT& b) {
  if (a.kind != b.kind) return false;
  if (a.kind == wire::FillKind::Zero) return true;
  if (a.kind == wire::FillKind::Blob) {
    return a.bytes == b.bytes && !a.blob == !b.blob &&
           (!a.blob || std::memcmp(a.blob.get(), b.blob.get(), 32) == 0);
  }
  return a.dtype == b.dtype && a.low == b.low && a.high == b.high && a.stream == b.stream;
}

Result<void> fill_buffer(const wire::FillT& fill, const BlobLookup& blobs,
                         std::span<std::uint8_t> out) {
  if (fill.kind != wire::FillKind::Blob) return fill_bytes(fill, out);
  const ByteView blob = fill.bytes.empty() ? blobs(*fill.blob) : ByteView(fill.bytes);
  if (blob.empty()) {
    return Error{ErrorCode::MissingBlob, "no blob " + to_hex(*fill.blob).substr(0, 16)};
  }
  if (blob.size() != out.size()) {
    return Error{ErrorCode::InvalidArgument, "a blob of " + std::to_string(blob.size()) +
                                                 " bytes for a buffer of " +
                                                 std::to_string(out.size())};
  }
  std::memcpy(out.data(), blob.data(), out.size());
  return {};
}

}  // namespace fettle

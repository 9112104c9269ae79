// The header of an .npy, a Python literal, and what follows (npy.h).
#include "runtime/tensor_files/npy.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace fettle {
namespace {

constexpr std::size_t kMagicBytes = 6, kVersionBytes = 2, kMostAxes = 64;

struct TypeRow {
  const char* code;
  wire::ScalarType type;
  std::size_t bytes;
};
constexpr TypeRow kTypes[] = {
    {"b1", wire::ScalarType::Bool, 1},    {"i1", wire::ScalarType::Int8, 1},
    {"u1", wire::ScalarType::UInt8, 1},   {"i2", wire::ScalarType::Int16, 2},
    {"i4", wire::ScalarType::Int32, 4},   {"i8", wire::ScalarType::Int64, 8},
    {"f2", wire::ScalarType::Float16, 2}, {"f4", wire::ScalarType::Float32, 4},
    {"f8", wire::ScalarType::Float64, 8},
};

Error bad(const std::string& what) { return {ErrorCode::Malformed, "no .npy: " + what}; }

// What follows 'key': in the header, up to the next comma or bracket that ends it.
std::optional<std::string> value_of(const std::string& header, const std::string& key) {
  std::size_t at = header.find("'" + key + "'");
  if (at == std::string::npos || (at = header.find(':', at)) == std::string::npos) return {};
  const std::size_t begin = header.find_first_not_of(' ', at + 1);
  if (begin == std::string::npos) return {};
  const bool tuple = header[begin] == '(';
  const std::size_t end = header.find_first_of(tuple ? ")" : ",}", begin);
  if (end == std::string::npos) return {};
  return header.substr(begin, end - begin + (tuple ? 1 : 0));
}

Result<const TypeRow*> type_of(const std::string& text) {
  // '<f4', '|i1'
  const std::string code = text.size() >= 5 ? text.substr(2, 2) : "";
  if (text.size() == 5) {
    for (const TypeRow& row : kTypes) {
      if (code == row.code) return &row;
    }
  }
  return Error{ErrorCode::Unsupported, "an .npy of type " + text};
}

Result<std::vector<std::int64_t>> shape_of(const std::string& text) {
  std::vector<std::int64_t> shape;
  for (std::size_t at = 0; (at = text.find_first_of("0123456789", at)) != std::string::npos;) {
    std::int64_t extent = 0;
    const auto read = std::from_chars(&text[at], text.data() + text.size(), extent);
    if (read.ec != std::errc()) return bad("an axis without end");
    shape.push_back(extent);
    at = std::size_t(read.ptr - text.data());
  }
  return shape;
}

void turn_bytes(std::size_t element, Bytes& bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += element) {
    std::reverse(&bytes[at], &bytes[at] + element);
  }
}

// Of an array whose first axis is the innermost one.
Bytes last_axis_innermost(std::size_t element, const std::vector<std::int64_t>& shape,
                          const Bytes& from) {
  Bytes to(from.size());
  std::vector<std::int64_t> at(shape.size(), 0);
  for (std::size_t done = 0; done < from.size(); done += element) {
    std::size_t place = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
      place = place * std::size_t(shape[d]) + std::size_t(at[d]);
    }
    std::copy_n(&from[place * element], element, &to[done]);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
  return to;
}

}  // namespace

Result<NpyArray> parse_npy(const std::string& contents) {
  if (!contents.starts_with("\x93NUMPY") || contents.size() < kMagicBytes + kVersionBytes + 4) {
    return bad("it does not begin as one");
  }
  const int version = contents[kMagicBytes];
  const std::size_t length_bytes = version == 1 ? 2 : 4;
  std::size_t length = 0, at = kMagicBytes + kVersionBytes;
  for (std::size_t i = 0; i < length_bytes; ++i) {
    length |= std::size_t(std::uint8_t(contents[at + i])) << (8 * i);
  }
  at += length_bytes;
  if (version < 1 || version > 3 || length > contents.size() - at) return bad("its header");
  const std::string header = contents.substr(at, length);
  at += length;
  const auto type = value_of(header, "descr"), order = value_of(header, "fortran_order"),
             shape = value_of(header, "shape");
  if (!type || !order || !shape) return bad("its header says too little");
  if (*order != "False" && *order != "True") return bad("its order " + *order);
  NpyArray array;
  auto element = type_of(*type);
  if (!element) return std::move(element).error();
  array.type = (*element)->type;
  auto extents = shape_of(*shape);
  if (!extents) return std::move(extents).error();
  array.shape = std::move(*extents);
  if (array.shape.size() > kMostAxes) return bad("more axes than numpy has");
  std::size_t bytes = (*element)->bytes;
  for (const std::int64_t extent : array.shape) {
    if (extent > 0 && bytes > contents.size() / std::size_t(extent)) return bad("it ends early");
    bytes *= std::size_t(extent);
  }
  if (contents.size() - at != bytes) return bad("it has not as many bytes as its header says");
  array.bytes.assign(contents.begin() + std::ptrdiff_t(at), contents.end());
  if ((*type)[1] == '>') turn_bytes((*element)->bytes, array.bytes);
  if (*order == "True") {
    array.bytes = last_axis_innermost((*element)->bytes, array.shape, array.bytes);
  }
  return array;
}

std::string npy_file(wire::ScalarType type, std::span<const std::int64_t> shape, ByteView bytes) {
  const TypeRow* row = std::find_if(std::begin(kTypes), std::end(kTypes),
                                    [&](const TypeRow& each) { return each.type == type; });
  std::string header = std::string("{'descr': '") + (row->bytes == 1 ? '|' : '<') + row->code +
                       "', 'fortran_order': False, 'shape': (";
  for (const std::int64_t extent : shape) header += std::to_string(extent) + ", ";
  if (!shape.empty())
    header.resize(header.size() - (shape.size() > 1 ? 2 : 1));  // "(3,)", "(2, 3)"
  header += "), }";
  constexpr std::size_t kAlignment = 64, kPrefix = kMagicBytes + kVersionBytes + 2;
  header.append((kAlignment - (kPrefix + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string file("\x93NUMPY\x01\x00", kMagicBytes + kVersionBytes);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  file += header;
  file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return file;
}

}  // namespace fettle

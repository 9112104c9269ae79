// A walk over a verified buffer along its type table (flatc --reflect-types).
#include "schemas/wire/unpack_guard.h"

#include <algorithm>

namespace fettle {
namespace {

using flatbuffers::TypeTable;

std::size_t scalar_bytes(flatbuffers::ElementaryType type) {
  switch (type) {
    case flatbuffers::ET_UTYPE:
    case flatbuffers::ET_BOOL:
    case flatbuffers::ET_CHAR:
    case flatbuffers::ET_UCHAR:
      return 1;
    case flatbuffers::ET_SHORT:
    case flatbuffers::ET_USHORT:
      return 2;
    case flatbuffers::ET_INT:
    case flatbuffers::ET_UINT:
    case flatbuffers::ET_FLOAT:
      return 4;
    default:
      return 8;
  }
}

// Of a struct: that of its widest field.
std::size_t alignment_of(const TypeTable* type) {
  std::size_t widest = 1;
  for (std::size_t i = 0; i < type->num_elems; ++i) {
    const auto code = type->type_codes[i];
    const std::size_t field =
        code.sequence_ref >= 0 && code.base_type == flatbuffers::ET_SEQUENCE
            ? alignment_of(type->type_refs[code.sequence_ref]())
            : scalar_bytes(static_cast<flatbuffers::ElementaryType>(code.base_type));
    widest = std::max(widest, field);
  }
  return widest;
}

// Where the offset at `at` points to.
const std::uint8_t* follow(const std::uint8_t* at) {
  return at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
}

class Walk {
 public:
  explicit Walk(std::size_t bytes) : left_(bytes) {}

  // Depth is bounded: the verifier has passed the same path.
  bool table(const std::uint8_t* at, const TypeTable* type) {
    if (!take(8)) return false;            // its own head and the offset that led here
    const std::uint8_t* before = nullptr;  // of a union: its type's field
    for (std::size_t i = 0; i < type->num_elems; ++i) {
      const auto code = type->type_codes[i];
      const TypeTable* of = code.sequence_ref >= 0 ? type->type_refs[code.sequence_ref]() : nullptr;
      const std::uint8_t* value = reinterpret_cast<const flatbuffers::Table*>(at)->GetAddressOf(
          flatbuffers::FieldIndexToOffset(static_cast<flatbuffers::voffset_t>(i)));
      const auto kind = static_cast<flatbuffers::ElementaryType>(code.base_type);
      if (value && !(code.is_repeating ? vector(follow(value), kind, of)
                                       : single(value, kind, of, before))) {
        return false;
      }
      before = value;
    }
    return true;
  }
  bool misaligned() const { return misaligned_; }

 private:
  bool take(std::size_t bytes) {
    if (bytes > left_) return false;
    left_ -= bytes;
    return true;
  }

  bool text(const std::uint8_t* at) {
    return take(4 + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at));
  }

  bool single(const std::uint8_t* value, flatbuffers::ElementaryType kind, const TypeTable* of,
              const std::uint8_t* before) {
    if (kind == flatbuffers::ET_STRING) return text(follow(value));
    if (kind != flatbuffers::ET_SEQUENCE) return true;  // lies inside its table
    if (of->st == flatbuffers::ST_TABLE) return table(follow(value), of);
    if (of->st != flatbuffers::ST_UNION || before == nullptr) return true;
    const std::uint8_t chosen = *before;
    if (chosen >= of->num_elems || of->type_codes[chosen].sequence_ref < 0) return true;
    return table(follow(value), of->type_refs[of->type_codes[chosen].sequence_ref]());
  }

  bool vector(const std::uint8_t* at, flatbuffers::ElementaryType kind, const TypeTable* of) {
    const std::size_t count = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at);
    const bool sequence = kind == flatbuffers::ET_SEQUENCE && of != nullptr;
    const std::uint8_t* element = at + sizeof(flatbuffers::uoffset_t);
    if (sequence && of->st == flatbuffers::ST_TABLE) {
      for (std::size_t i = 0; i < count; ++i, element += 4) {
        if (!table(follow(element), of)) return false;
      }
      return true;
    }
    if (kind == flatbuffers::ET_STRING) {
      for (std::size_t i = 0; i < count; ++i, element += 4) {
        if (!text(follow(element))) return false;
      }
      return true;
    }
    const bool structs = sequence && of->st == flatbuffers::ST_STRUCT;
    const std::size_t alignment = structs ? alignment_of(of) : scalar_bytes(kind);
    if (count > 0 && reinterpret_cast<std::uintptr_t>(element) % alignment != 0) {
      misaligned_ = true;
      return false;
    }
    // A struct's type table ends with its size.
    return take(count * (structs ? static_cast<std::size_t>(of->values[of->num_elems])
                                 : scalar_bytes(kind)));
  }

  std::size_t left_;
  bool misaligned_ = false;
};

}  // namespace

Result<void> guard_unpacking(const flatbuffers::Table* table, const TypeTable* type,
                             std::size_t bytes) {
  Walk walk(bytes);
  if (walk.table(reinterpret_cast<const std::uint8_t*>(table), type)) return {};
  if (walk.misaligned()) {
    return Error{ErrorCode::Malformed, "holds a vector whose elements are not aligned"};
  }
  return Error{ErrorCode::TooLarge,
               "refers to its parts many times over: it would unpack into more than its own size"};
}

}  // namespace fettle

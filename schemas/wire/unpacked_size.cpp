// A walk over a verified buffer along its type table (flatc --reflect-types).
#include "schemas/wire/unpacked_size.h"

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
    // A struct's type table ends with its size.
    const std::size_t each = sequence && of->st == flatbuffers::ST_STRUCT
                                 ? static_cast<std::size_t>(of->values[of->num_elems])
                                 : scalar_bytes(kind);
    return take(count * each);
  }

  std::size_t left_;
};

}  // namespace

bool unpacks_within(const flatbuffers::Table* table, const TypeTable* type, std::size_t bytes) {
  return Walk(bytes).table(reinterpret_cast<const std::uint8_t*>(table), type);
}

}  // namespace fettle

// The one way from bytes to tables and back, for codec.h and for files that hold a FlatBuffer: the
// verifier, what it leaves unchecked (unpack_guard.h), then plain structs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "schemas/wire/codec.h"
#include "schemas/wire/limits.h"
#include "schemas/wire/unpack_guard.h"

namespace fettle {

template <typename Table, typename Native>
Bytes pack(const Native& native, const char* identifier) {
  flatbuffers::FlatBufferBuilder builder(4096);
  builder.Finish(Table::Pack(builder, &native), identifier);
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// Verifies `bytes` as a Table with that identifier (null: it has none); never reads outside.
template <typename Table>
Result<const Table*> verified(ByteView bytes, const char* identifier, const char* what) {
  if (bytes.size() > limits::kMessageBytes) {
    return Error{ErrorCode::TooLarge, std::string(what) + " of " + std::to_string(bytes.size()) +
                                          " bytes is over the limit of " +
                                          std::to_string(limits::kMessageBytes)};
  }
  if (identifier && bytes.size() >= 8 &&
      !flatbuffers::BufferHasIdentifier(bytes.data(), identifier)) {
    return Error{ErrorCode::VersionMismatch,
                 std::string(what) + " does not carry the identifier " + identifier};
  }
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), limits::kTableDepth, limits::kTables);
  if (!verifier.VerifyBuffer<Table>(identifier)) {
    return Error{ErrorCode::Malformed, std::string(what) + " of " + std::to_string(bytes.size()) +
                                           " bytes does not verify"};
  }
  const auto* root = flatbuffers::GetRoot<Table>(bytes.data());
  if (auto guarded = guard_unpacking(reinterpret_cast<const flatbuffers::Table*>(root),
                                     Table::MiniReflectTypeTable(), bytes.size());
      !guarded) {
    return std::move(guarded).error().in(what);
  }
  return root;
}

// Bytes of a peer may lie anywhere in a receive buffer; flatbuffers reads its
// scalars in place and wants them aligned. Copies only what is not.
class Aligned {
 public:
  explicit Aligned(ByteView bytes) : bytes_(bytes) {
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::max_align_t) == 0) return;
    copy_.assign(bytes.begin(), bytes.end());
    bytes_ = copy_;
  }
  ByteView view() const { return bytes_; }

 private:
  Bytes copy_;
  ByteView bytes_;
};

template <typename Native, typename Table>
Native unpack(const Table* table) {
  Native native;
  table->UnPackTo(&native);
  return native;
}

}  // namespace fettle

// Buffers in an accelerator's memory (vta_memory.h).
#include "runtime/vta/vta_memory.h"

#include <algorithm>
#include <cstring>

#include "runtime/guard.h"

namespace fettle::runtime {
namespace {

std::string name_of_buffer(const wire::BufferT& buffer) {
  std::string name = wire::EnumNameBufferRole(buffer.role);
  name[0] = static_cast<char>(name[0] + ('a' - 'A'));
  return name + " buffer" + (buffer.name.empty() ? "" : " '" + buffer.name + "'");
}

}  // namespace

VtaBuffer::VtaBuffer(const wire::BufferT& buffer, Arena::Piece piece)
    : piece_(std::move(piece)),
      data_(piece_.bytes().subspan(kGuardBytes, static_cast<std::size_t>(buffer.bytes))),
      name_(name_of_buffer(buffer)),
      role_(buffer.role),
      read_only_(buffer.role == wire::BufferRole::Input ||
                 buffer.role == wire::BufferRole::Constant) {
  mend();
}

std::uint64_t VtaBuffer::address() const { return piece_.address() + kGuardBytes; }

std::span<std::uint8_t> VtaBuffer::before() const { return piece_.bytes().first(kGuardBytes); }
std::span<std::uint8_t> VtaBuffer::behind() const {
  return piece_.bytes().subspan(kGuardBytes + data_.size());
}

AddressRange VtaBuffer::reserved() const {
  const auto begin = reinterpret_cast<std::uintptr_t>(piece_.bytes().data());
  return {begin, begin + piece_.bytes().size()};
}

Result<std::string> VtaBuffer::damage() const {
  const std::string behind_it = guard_damage(behind(), guard_byte(role_), true);
  return behind_it.empty() ? guard_damage(before(), guard_byte(role_), false) : behind_it;
}

void VtaBuffer::mend() {
  for (const std::span<std::uint8_t> guard : {before(), behind()}) {
    std::memset(guard.data(), guard_byte(role_), guard.size());
  }
}

Result<std::unique_ptr<BufferMemory>> VtaMemory::take(const wire::BufferT& buffer,
                                                      const BlobLookup& blobs) {
  auto piece =
      arena_.take(buffer.bytes + 2 * kGuardBytes,
                  std::max<std::uint64_t>(buffer.alignment, kVtaBufferAlignment), kGuardBytes);
  if (!piece) return std::move(piece).error();
  auto made = std::make_unique<VtaBuffer>(buffer, std::move(*piece));
  if (made->read_only() || (buffer.role == wire::BufferRole::Scratch && buffer.fill)) {
    const wire::FillT fill = buffer.fill ? *buffer.fill : wire::FillT();
    if (auto filled = fill_buffer(fill, blobs, made->data()); !filled) {
      return std::move(filled).error();
    }
  } else {
    std::memset(made->data().data(), unwritten_byte(buffer), made->data().size());
  }
  return std::unique_ptr<BufferMemory>(std::move(made));
}

}  // namespace fettle::runtime

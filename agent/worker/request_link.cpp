// Passing requests and blobs (request_link.h).
#include "agent/worker/request_link.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "schemas/wire/limits.h"

namespace fettle::agent {
namespace {

struct Header {
  std::uint32_t magic;
  std::uint32_t blob_count;
  std::uint64_t ticket;
  std::uint64_t request_bytes;
};
constexpr std::uint32_t kMagic = 0x54544546;

struct BlobRow {
  wire::Hash hash;
  std::uint64_t bytes;
};
static_assert(sizeof(BlobRow) == 40);

Error io_error(const char* doing) {
  const bool gone = errno == EPIPE || errno == ECONNRESET;
  return {gone ? ErrorCode::Unreachable : ErrorCode::Io,
          std::string(doing) + ": " + std::strerror(errno)};
}

}  // namespace

Result<OwnedFd> make_sealed_memory(const char* name, std::span<const ByteView> pieces) {
  OwnedFd fd(static_cast<int>(syscall(__NR_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (!fd) return io_error("making a memory file");
  for (ByteView piece : pieces) {
    while (!piece.empty()) {
      const ssize_t n = ::write(fd.get(), piece.data(), piece.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return io_error("filling a memory file");
      piece = piece.subspan(static_cast<std::size_t>(n));
    }
  }
  if (fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return io_error("sealing a memory file");
  }
  return fd;
}

Result<void> send_request(int socket, std::uint64_t ticket, ByteView request,
                          std::span<const PassedBlob> blobs) {
  if (blobs.size() > kMostPassedBlobs) {
    return Error{ErrorCode::TooLarge, "a request names " + std::to_string(blobs.size()) +
                                          " blobs, at most " + std::to_string(kMostPassedBlobs) +
                                          " can be passed"};
  }
  std::vector<BlobRow> rows;
  for (const PassedBlob& blob : blobs) rows.push_back({blob.hash, blob.bytes});
  const ByteView pieces[] = {
      {reinterpret_cast<const std::uint8_t*>(rows.data()), rows.size() * sizeof(BlobRow)}, request};
  auto memory = make_sealed_memory("fettle-request", pieces);
  if (!memory) return std::move(memory).error();

  Header header{kMagic, static_cast<std::uint32_t>(blobs.size()), ticket, request.size()};
  iovec part{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE((kMostPassedBlobs + 1) * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE((blobs.size() + 1) * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN((blobs.size() + 1) * sizeof(int));
  std::vector<int> fds = {memory->get()};
  for (const PassedBlob& blob : blobs) fds.push_back(blob.fd);
  std::memcpy(CMSG_DATA(rights), fds.data(), fds.size() * sizeof(int));
  ssize_t sent;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(sizeof header))
    return io_error("passing a request to the worker");
  return {};
}

Result<ReceivedRequest> receive_request(int socket) {
  Header header;
  iovec part{&header, sizeof header};
  alignas(cmsghdr) char control[CMSG_SPACE((kMostPassedBlobs + 1) * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t got;
  do got = recvmsg(socket, &message, MSG_WAITALL | MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  std::vector<OwnedFd> fds;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); got >= 0 && at; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (at->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(at) + i * sizeof(int), sizeof fd);
      fds.emplace_back(fd);
    }
  }
  if (got == 0) return Error{ErrorCode::Unreachable, "the supervisor is gone"};
  if (got < 0) return io_error("receiving a request");
  if (got != static_cast<ssize_t>(sizeof header) || header.magic != kMagic ||
      fds.size() != std::size_t{header.blob_count} + 1 ||
      header.request_bytes > limits::kMessageBytes) {
    return Error{ErrorCode::Malformed, "a request that the supervisor cannot have sent"};
  }
  ReceivedRequest out;
  out.ticket = header.ticket;
  const std::size_t table = header.blob_count * sizeof(BlobRow);
  Bytes bytes(table + static_cast<std::size_t>(header.request_bytes));
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t n =
        pread(fds[0].get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return io_error("reading a request");
    at += static_cast<std::size_t>(n);
  }
  for (std::uint32_t i = 0; i < header.blob_count; ++i) {
    BlobRow row;
    std::memcpy(&row, bytes.data() + i * sizeof row, sizeof row);
    out.blobs.push_back({row.hash, std::move(fds[i + 1]), row.bytes});
  }
  out.request.assign(bytes.begin() + static_cast<std::ptrdiff_t>(table), bytes.end());
  return out;
}

Bytes encode_ready(const wire::DeviceInfoT& info, const std::string& note) {
  const Bytes encoded = encode(info);
  Bytes frame = {static_cast<std::uint8_t>(ReplyKind::Ready)};
  for (int i = 0; i < 4; ++i) frame.push_back(static_cast<std::uint8_t>(encoded.size() >> (8 * i)));
  frame.insert(frame.end(), encoded.begin(), encoded.end());
  frame.insert(frame.end(), note.begin(), note.end());
  return frame;
}

Bytes encode_outcome_reply(std::uint64_t ticket, const Bytes& outcome) {
  Bytes frame = {static_cast<std::uint8_t>(ReplyKind::Outcome)};
  for (int i = 0; i < 8; ++i) frame.push_back(static_cast<std::uint8_t>(ticket >> (8 * i)));
  frame.insert(frame.end(), outcome.begin(), outcome.end());
  return frame;
}

Bytes encode_refusal(const std::string& why) {
  Bytes frame(1 + why.size(), static_cast<std::uint8_t>(ReplyKind::Refusal));
  std::copy(why.begin(), why.end(), frame.begin() + 1);
  return frame;
}

Result<Reply> decode_reply(ByteView frame) {
  Reply reply;
  if (!frame.empty() && frame[0] == static_cast<std::uint8_t>(ReplyKind::Refusal)) {
    reply.kind = ReplyKind::Refusal;
    reply.note.assign(frame.begin() + 1, frame.end());
    return reply;
  }
  if (frame.size() >= 5 && frame[0] == static_cast<std::uint8_t>(ReplyKind::Ready)) {
    std::size_t size = 0;
    for (int i = 0; i < 4; ++i) size |= std::size_t{frame[1 + i]} << (8 * i);
    if (size <= frame.size() - 5) {
      auto info = decode_device_info(frame.subspan(5, size));
      if (!info) return std::move(info).error();
      reply.info = std::move(*info);
      reply.note.assign(frame.begin() + 5 + static_cast<std::ptrdiff_t>(size), frame.end());
      return reply;
    }
  }
  if (frame.size() >= 9 && frame[0] == static_cast<std::uint8_t>(ReplyKind::Outcome)) {
    reply.kind = ReplyKind::Outcome;
    for (int i = 0; i < 8; ++i) reply.ticket |= std::uint64_t{frame[1 + i]} << (8 * i);
    reply.outcome.assign(frame.begin() + 9, frame.end());
    return reply;
  }
  return Error{ErrorCode::Malformed, "a frame that no worker of ours sends"};
}

}  // namespace fettle::agent

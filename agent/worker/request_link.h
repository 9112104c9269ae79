// Supervisor to worker: one request with the blobs it names, as sealed memory
// files passed over the socket, and a ticket that the reply must bear. The supervisor never blocks
// on a busy worker: what is sent is 24 bytes and descriptors.
#pragma once

#include <vector>

#include "agent/platform/owned_fd.h"
#include "schemas/wire/codec.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

// A memory file that nobody can change any more: a reader's mapping stays valid.
Result<OwnedFd> make_sealed_memory(const char* name, std::span<const ByteView> pieces);

struct PassedBlob {
  wire::Hash hash;
  int fd;
  std::uint64_t bytes;
};
inline constexpr std::size_t kMostPassedBlobs = 250;  // SCM_MAX_FD is 253

Result<void> send_request(int socket, std::uint64_t ticket, ByteView request,
                          std::span<const PassedBlob> blobs);

struct ReceivedBlob {
  wire::Hash hash;
  OwnedFd fd;
  std::uint64_t bytes;
};
struct ReceivedRequest {
  std::uint64_t ticket = 0;
  Bytes request;
  std::vector<ReceivedBlob> blobs;
};
// Blocks. Unreachable when the supervisor has closed its end.
Result<ReceivedRequest> receive_request(int socket);

// Worker to supervisor, one frame (write_frame) each: a kind, then its body.
enum class ReplyKind : std::uint8_t { Ready, Outcome, Refusal };
// Ready says what the device is, as the worker sees it, and in `sandbox` what holds the worker.
Bytes encode_ready(const wire::DeviceInfoT& info, const std::string& note);
Bytes encode_outcome_reply(std::uint64_t ticket, const Bytes& outcome);
// Instead of Ready: why there is no such device here. The process ends.
Bytes encode_refusal(const std::string& why);
struct Reply {
  ReplyKind kind = ReplyKind::Ready;
  wire::DeviceInfoT info;
  std::string note;  // Refusal: why
  std::uint64_t ticket = 0;
  Bytes outcome;
};
Result<Reply> decode_reply(ByteView frame);

}  // namespace fettle::agent

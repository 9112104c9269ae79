// What a worker and the FPGA helper (fpga_helper.h) say to each other, over a socket that keeps
// messages apart: a request, and its reply, of fixed sizes and of one machine's byte order. The
// worker names a device of the helper's configuration; never a file, nor an address outside of the
// memory that it was given.
#pragma once

#include <array>
#include <cstring>
#include <string>

#include "agent/platform/owned_fd.h"
#include "schemas/common_generated.h"
#include "schemas/wire/result.h"

namespace fettle::agent {

enum class HelperRequestKind : std::uint32_t {
  Open = 1,  // first and once: the device's bitstream is loaded then; the reply brings memory
  Run        // a stream
};

struct HelperRequest {
  HelperRequestKind kind = HelperRequestKind::Open;
  std::uint32_t count = 0;        // Run: instructions
  std::uint64_t address = 0;      // Run: of the first, physical
  std::uint64_t limit = 0;        // Run: cycles of the design's clock
  std::array<char, 72> key = {};  // Open: the device's, with its NUL
};

inline constexpr std::uint32_t kNoError = ~std::uint32_t{0};

struct HelperReply {
  std::uint32_t error = kNoError;  // or an ErrorCode, and `text` is its message
  std::uint32_t programmings = 0;  // Open: how often that took to load the bitstream: 0 or 1
  std::uint64_t ticks = 0;         // Run: VtaRegisters::run()
  std::uint64_t address = 0;       // Open: of the memory, physical, as those below
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;         // for mmap of the descriptor that comes along
  wire::Hash bitstream = {};        // Open: of what is loaded
  std::array<char, 512> text = {};  // Open: the memory's provider
};

// Unreachable: the peer is gone. Malformed: it sent something else.
Result<void> send_helper_request(int socket, const HelperRequest& request);
Result<HelperRequest> receive_helper_request(int socket);
struct ReceivedReply {
  HelperReply reply;
  OwnedFd fd;
};
Result<void> send_helper_reply(int socket, const HelperReply& reply, int fd);  // fd: -1 for none
Result<ReceivedReply> receive_helper_reply(int socket);

// A text into a field and out of it, cut off where there is no more room.
template <std::size_t n>
void put_text(std::array<char, n>& field, const std::string& text) {
  field.fill(0);
  text.copy(field.data(), n - 1);
}
template <std::size_t n>
std::string get_text(const std::array<char, n>& field) {
  return std::string(field.data(), strnlen(field.data(), n));
}

// "@NAME" is a name in the abstract space, anything else a file.
Result<OwnedFd> connect_to_helper(const std::string& address);
// On a name of the system's choosing, which `address` gets.
Result<OwnedFd> listen_for_workers(std::string& address);

}  // namespace fettle::agent

// Asking the FPGA helper (board_accelerator.h).
#include "agent/device/vta/board_accelerator.h"

#include <sys/mman.h>
#include <cerrno>

namespace fettle::agent {
namespace {

Error error_of(const HelperReply& reply) {
  const bool known = reply.error <= static_cast<std::uint32_t>(ErrorCode::MAX);
  return {known ? static_cast<ErrorCode>(reply.error) : ErrorCode::Internal, get_text(reply.text)};
}

}  // namespace

Result<std::unique_ptr<FpgaAccelerator>> FpgaAccelerator::open(const vta::Design& design,
                                                               const std::string& address,
                                                               const std::string& key) {
  auto socket = connect_to_helper(address);
  if (!socket) return std::move(socket).error();
  std::unique_ptr<FpgaAccelerator> out(new FpgaAccelerator(design, std::move(*socket)));
  HelperRequest request;
  put_text(request.key, key);
  if (auto sent = send_helper_request(out->socket_.get(), request); !sent)
    return std::move(sent).error();
  auto received = receive_helper_reply(out->socket_.get());
  if (!received) return std::move(received).error();
  const HelperReply& reply = received->reply;
  if (reply.error != kNoError) return error_of(reply);
  const auto bytes = static_cast<std::size_t>(reply.bytes);
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, received->fd.get(),
                  static_cast<off_t>(reply.offset));
  if (at == MAP_FAILED) {
    return Error{ErrorCode::OutOfMemory,
                 "mapping " + get_text(reply.text) + ": " + std::strerror(errno)};
  }
  out->memory_ = {reply.address, {static_cast<std::uint8_t*>(at), bytes}};
  out->bitstream_ = reply.bitstream;
  return out;
}

FpgaAccelerator::~FpgaAccelerator() {
  if (!memory_.bytes.empty()) munmap(memory_.bytes.data(), memory_.bytes.size());
}

Result<std::uint64_t> FpgaAccelerator::run(std::uint64_t address, std::uint32_t count,
                                           std::uint64_t limit) {
  HelperRequest request;
  request.kind = HelperRequestKind::Run;
  request.address = address;
  request.count = count;
  request.limit = limit;
  const auto sent = send_helper_request(socket_.get(), request);
  auto received = sent ? receive_helper_reply(socket_.get()) : Result<ReceivedReply>(sent.error());
  if (!received) {
    lost_ = true;
    return std::move(received).error();
  }
  if (received->reply.error != kNoError) return error_of(received->reply);
  return received->reply.ticks;
}

}  // namespace fettle::agent

// Messages and sockets (helper_protocol.h).
#include "agent/fpga/helper_protocol.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace fettle::agent {
namespace {

static_assert(std::is_trivially_copyable_v<HelperRequest>);
static_assert(std::is_trivially_copyable_v<HelperReply>);

Error failed(const char* what) {
  return {ErrorCode::Unreachable, std::string(what) + ": " + std::strerror(errno)};
}

Result<OwnedFd> receive_message(int socket, void* data, std::size_t bytes) {
  iovec part{data, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n;
  do n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n < 0) return failed("reading from the FPGA helper's socket");
  if (n == 0) return Error{ErrorCode::Unreachable, "the FPGA helper's socket was closed"};
  // There is room for two where the padding is as long as one: all are taken, so that none stays.
  std::vector<OwnedFd> fds;
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    for (std::size_t i = 0; i < (at->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int passed = -1;
      std::memcpy(&passed, CMSG_DATA(at) + i * sizeof passed, sizeof passed);
      fds.emplace_back(passed);
    }
  }
  if (fds.size() > 1 || (message.msg_flags & MSG_CTRUNC)) {
    return Error{ErrorCode::Malformed, "a message with more files than the FPGA helper's have"};
  }
  if (n != static_cast<ssize_t>(bytes) || (message.msg_flags & MSG_TRUNC)) {
    return Error{ErrorCode::Malformed, "a message of another size than the FPGA helper's have"};
  }
  return fds.empty() ? OwnedFd() : std::move(fds[0]);
}

// Its length; 0: the name is too long.
socklen_t fill(sockaddr_un& to, const std::string& address) {
  to = {};
  to.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof to.sun_path) return 0;
  address.copy(to.sun_path, address.size());
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  if (address[0] != '@') return bytes + 1;
  to.sun_path[0] = 0;
  return bytes;
}

}  // namespace

// By write(2), which a worker's sandbox has.
Result<void> send_helper_request(int socket, const HelperRequest& request) {
  ssize_t n;
  do n = ::write(socket, &request, sizeof request);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof request)) {
    return failed("writing to the FPGA helper's socket");
  }
  return {};
}

Result<HelperRequest> receive_helper_request(int socket) {
  HelperRequest request;
  // A descriptor that came along is closed.
  auto received = receive_message(socket, &request, sizeof request);
  if (!received) return std::move(received).error();
  return request;
}

Result<void> send_helper_reply(int socket, const HelperReply& reply, int fd) {
  iovec part{const_cast<HelperReply*>(&reply), sizeof reply};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  ssize_t n;
  do n = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n != static_cast<ssize_t>(sizeof reply)) return failed("answering a worker");
  return {};
}

Result<ReceivedReply> receive_helper_reply(int socket) {
  ReceivedReply out;
  auto received = receive_message(socket, &out.reply, sizeof out.reply);
  if (!received) return std::move(received).error();
  out.fd = std::move(*received);
  return out;
}

Result<OwnedFd> connect_to_helper(const std::string& address) {
  sockaddr_un name;
  const socklen_t bytes = fill(name, address);
  OwnedFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (bytes == 0 || !socket ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0) {
    return failed(("the FPGA helper at " + address).c_str());
  }
  return socket;
}

Result<OwnedFd> listen_for_workers(std::string& address) {
  OwnedFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  socklen_t bytes = sizeof name.sun_family;  // no name: the kernel makes an abstract one
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), bytes) != 0 ||
      ::listen(socket.get(), 8) != 0) {
    return failed("making the FPGA helper's socket");
  }
  bytes = sizeof name;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &bytes) != 0) {
    return failed("the name of the FPGA helper's socket");
  }
  address = "@" + std::string(name.sun_path + 1, bytes - offsetof(sockaddr_un, sun_path) - 1);
  return socket;
}

}  // namespace fettle::agent

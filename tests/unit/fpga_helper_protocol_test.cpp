// Messages of the FPGA helper, which runs as root and is asked by processes that do not.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstring>
#include <filesystem>

#include "agent/fpga/helper_protocol.h"

namespace fettle::agent {
namespace {

std::ptrdiff_t open_files() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

// `count` files with one request, as no client of ours sends it.
void send_with_files(int socket, int count) {
  const HelperRequest request{};
  iovec part{const_cast<HelperRequest*>(&request), sizeof request};
  const int files[2] = {0, 0};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof files)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = CMSG_SPACE(static_cast<std::size_t>(count) * sizeof(int));
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(static_cast<std::size_t>(count) * sizeof(int));
  std::memcpy(CMSG_DATA(rights), files, static_cast<std::size_t>(count) * sizeof(int));
  ASSERT_EQ(sendmsg(socket, &message, 0), static_cast<ssize_t>(sizeof request));
}

TEST(FpgaHelperProtocol, FilesThatComeAlongAreClosed) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const std::ptrdiff_t before = open_files();
  for (int i = 0; i < 20; ++i) {
    send_with_files(ends[0], 1);
    EXPECT_TRUE(receive_helper_request(ends[1]).ok());
    send_with_files(ends[0], 2);
    EXPECT_EQ(receive_helper_request(ends[1]).error().code, ErrorCode::Malformed);
  }
  EXPECT_EQ(open_files(), before);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace fettle::agent

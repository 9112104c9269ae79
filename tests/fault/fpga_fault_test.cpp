// What goes wrong with a board's programmable logic, by name: files that are refused before it is
// touched, a PL that is not what was programmed, and workers that ask the FPGA helper for what they
// may not have.
#include <gtest/gtest.h>

#include <sys/socket.h>
#include <algorithm>
#include <cstring>

#include "agent/device/vta/board_accelerator.h"
#include "fpga/qemu/emulated_bitstream.h"
#include "tests/support/played_helper.h"

namespace fettle::agent {
namespace {

using test::PlayedBoard;
using test::PlayedHelper;

void expect_words(const Error& error, ErrorCode code, const std::string& words) {
  EXPECT_EQ(name_of(error.code), std::string(name_of(code))) << error.text();
  EXPECT_NE(error.text().find(words), std::string::npos) << error.text();
}

class BitstreamFault : public ::testing::Test {
 protected:
  Bytes good(const char* design = "pynq") const {
    return vta::make_emulated_bitstream(*vta::find_design(design));
  }
  // That nothing was touched, and why.
  Error refusal(const Bytes& file, const char* design = "pynq") {
    board.put("/w.bit", file);
    const auto logic = board.open({*vta::find_design(design), "/w.bit"});
    EXPECT_FALSE(logic.ok());
    EXPECT_EQ(board.root().text(std::string(PlayedBoard::kManager) + "/firmware"), "");
    EXPECT_EQ(board.programmings(), 0u);
    return logic ? Error{} : logic.error();
  }
  // With one thing in place of another of its length, the first of them.
  static Bytes changed(Bytes file, const Bytes& from, const Bytes& to) {
    const auto at = std::search(file.begin(), file.end(), from.begin(), from.end());
    EXPECT_NE(at, file.end());
    std::copy(to.begin(), to.end(), at);
    return file;
  }
  PlayedBoard board;
};

TEST_F(BitstreamFault, Corrupt) {
  // The packet behind the sync word: no packet any more.
  expect_words(
      refusal(changed(good(), {0xaa, 0x99, 0x55, 0x66, 0x20}, {0xaa, 0x99, 0x55, 0x66, 0xe0})),
      ErrorCode::Malformed, "/w.bit: configuration data: no packet at byte");
  expect_words(refusal(Bytes(100'000, 0x5a)), ErrorCode::Malformed,
               "neither .bit, .bin nor .xclbin");
  expect_words(refusal({}), ErrorCode::Malformed, "neither .bit, .bin nor .xclbin");
}

TEST_F(BitstreamFault, Truncated) {
  Bytes file = good();
  file.resize(file.size() - 4);
  expect_words(refusal(file), ErrorCode::Malformed, "its header promises");
  file.resize(40);
  expect_words(refusal(file), ErrorCode::Malformed, "");
}

TEST_F(BitstreamFault, AnotherDie) {
  const Bytes idcode = {0x03, 0x72, 0x70, 0x93}, smaller = {0x03, 0x72, 0x20, 0x93};
  expect_words(refusal(changed(good(), idcode, smaller)), ErrorCode::WrongConfiguration,
               "the IDCODE 0x03722093 (xc7z010), and here is an xc7z020");
  expect_words(refusal(changed(good(), {'7', 'z', '0', '2', '0'}, {'7', 'z', '0', '1', '0'})),
               ErrorCode::WrongConfiguration, "for the part");
}

TEST_F(BitstreamFault, AnotherDesign) {
  expect_words(refusal(good("vta-stock")), ErrorCode::WrongConfiguration,
               "the bitstream is of the design vta-stock, and here pynq is wanted");
  // Nobody knows it; and a stock core could not say later what it is.
  const std::uint32_t word = vta::user_access_of(*vta::find_design("vta-stock"));
  Bytes known, unknown;
  for (int shift = 24; shift >= 0; shift -= 8)
    known.push_back(static_cast<std::uint8_t>(word >> shift));
  unknown.assign(4, 0x11);
  expect_words(refusal(changed(good("vta-stock"), known, unknown), "vta-stock"),
               ErrorCode::WrongConfiguration, "is not the one of the design vta-stock");
}

TEST_F(BitstreamFault, NoFile) {
  const auto none = board.open({*vta::find_design("pynq"), "/none.bit"});
  ASSERT_FALSE(none.ok());
  expect_words(none.error(), ErrorCode::NotFound, "/none.bit: No such file or directory");
}

TEST_F(BitstreamFault, NoManager) {
  board.remove(PlayedBoard::kManager);
  const auto none = board.open(board.wanted("pynq"));
  ASSERT_FALSE(none.ok());
  expect_words(none.error(), ErrorCode::NotFound, "/sys/class/fpga_manager has no manager");
}

// Registers of a PL that is not operating are never looked at.
TEST_F(BitstreamFault, NotOperating) {
  board.put(std::string(PlayedBoard::kManager) + "/state", "write error");
  const auto failed = board.open(
      board.wanted("pynq"),
      [](const SystemRoot&, std::uint64_t, std::uint32_t) -> Result<std::unique_ptr<Registers>> {
        ADD_FAILURE() << "touched";
        return Error{};
      });
  ASSERT_FALSE(failed.ok());
  expect_words(failed.error(), ErrorCode::Io, "its state is 'write error', not 'operating'");
}

TEST_F(BitstreamFault, ClockOff) {
  board.put("/sys/class/fclkcfg/fclk0/enable", "0\n");
  const auto off = board.open(board.wanted("pynq"));
  ASSERT_FALSE(off.ok());
  expect_words(off.error(), ErrorCode::Io, "FCLK0 is off");
}

// A core of ours with 0 in each register but its identification, as one that was built wrong.
class WrongCore final : public Registers {
 public:
  explicit WrongCore(std::uint32_t identification) : identification_(identification) {}
  std::uint32_t read(std::uint32_t offset) override { return offset == 0x3c ? identification_ : 0; }
  void write(std::uint32_t, std::uint32_t) override { ADD_FAILURE() << "started"; }

 private:
  std::uint32_t identification_;
};

TEST_F(BitstreamFault, AnotherIdentity) {
  const auto open = [&](std::uint32_t identification) {
    return board
        .open(board.wanted("pynq"),
              [=](const SystemRoot&, std::uint64_t,
                  std::uint32_t) -> Result<std::unique_ptr<Registers>> {
                return std::unique_ptr<Registers>(new WrongCore(identification));
              })
        .error();
  };
  expect_words(open(0x46544c31), ErrorCode::WrongConfiguration, "another design");
  expect_words(open(0), ErrorCode::WrongConfiguration,
               "the programmed logic is no core of fettle's: its register 0x0000003c reads");
}

class HelperFault : public ::testing::Test {
 protected:
  HelperFault() : helper(board, {{"a", board.wanted("pynq"), PlayedBoard::kBytes, false}}) {
    helper.start();
  }
  OwnedFd connect() {
    auto socket = connect_to_helper(helper.address());
    EXPECT_TRUE(socket.ok());
    return std::move(*socket);
  }
  static HelperReply ask(const OwnedFd& socket, const HelperRequest& request) {
    EXPECT_TRUE(send_helper_request(socket.get(), request).ok());
    auto reply = receive_helper_reply(socket.get());
    EXPECT_TRUE(reply.ok()) << reply.error().text();
    return reply ? reply->reply : HelperReply();
  }
  static HelperRequest open_request(const std::string& key = "a") {
    HelperRequest request;
    put_text(request.key, key);
    return request;
  }
  static HelperRequest run_request(std::uint64_t address, std::uint32_t count) {
    HelperRequest request;
    request.kind = HelperRequestKind::Run;
    request.address = address;
    request.count = count;
    request.limit = 5'000'000;
    return request;
  }
  static void expect_refused(const HelperReply& reply, ErrorCode code, const std::string& words) {
    expect_words({static_cast<ErrorCode>(reply.error), get_text(reply.text)}, code, words);
  }
  PlayedBoard board;
  PlayedHelper helper;
};

TEST_F(HelperFault, AWorkerNamesOnlyWhatIsConfigured) {
  const OwnedFd worker = connect();
  expect_refused(ask(worker, open_request("/etc/passwd")), ErrorCode::NotFound,
                 "has no accelerator '/etc/passwd'");
  HelperRequest unterminated = open_request();
  unterminated.key.fill('a');
  expect_refused(ask(worker, unterminated), ErrorCode::NotFound, "has no accelerator");
  EXPECT_EQ(board.programmings(), 0u);
}

TEST_F(HelperFault, AWorkerRunsOnlyWhatLiesInItsMemory) {
  const OwnedFd worker = connect();
  expect_refused(ask(worker, run_request(PlayedBoard::kAddress, 2)), ErrorCode::InvalidArgument,
                 "no accelerator was opened");
  ASSERT_EQ(ask(worker, open_request()).error, kNoError);
  const std::uint64_t end = PlayedBoard::kAddress + PlayedBoard::kBytes;
  const std::pair<std::uint64_t, std::uint32_t> outside[] = {
      {0, 1},
      {PlayedBoard::kAddress - 16, 1},
      {PlayedBoard::kAddress + 8, 1},
      {PlayedBoard::kAddress, 0},
      {end, 1},
      {end - 16, 2},
      {PlayedBoard::kAddress, ~0u},
      {~std::uint64_t{15}, 1},
      {(std::uint64_t{1} << 32) + PlayedBoard::kAddress, 1}};
  for (const auto& [address, count] : outside) {
    expect_refused(ask(worker, run_request(address, count)), ErrorCode::Malformed,
                   "outside of the accelerator's memory");
  }
  test::put_short_stream(board.memory(), *vta::find_design("pynq"));
  EXPECT_EQ(ask(worker, run_request(PlayedBoard::kAddress, 2)).error, kNoError);
}

TEST_F(HelperFault, OneWorkerHasTheLogic) {
  OwnedFd first = connect();
  ASSERT_EQ(ask(first, open_request()).error, kNoError);
  const OwnedFd second = connect();
  expect_refused(ask(second, open_request()), ErrorCode::Unsupported, "in use already");
  expect_refused(ask(first, open_request()), ErrorCode::Unsupported, "in use already");
  first = OwnedFd();
  EXPECT_EQ(ask(second, open_request()).error, kNoError) << "its end counts at once";
  EXPECT_EQ(board.programmings(), 1u);
}

TEST_F(HelperFault, AMessageOfAnotherSizeEndsTheConnection) {
  const OwnedFd worker = connect();
  ASSERT_EQ(::send(worker.get(), "hello", 5, 0), 5);
  EXPECT_FALSE(receive_helper_reply(worker.get()).ok());
  const OwnedFd other = connect();
  EXPECT_EQ(ask(other, open_request()).error, kNoError) << "the helper lives";
}

// Killed by its deadline, say: what it ran would go on writing to memory.
TEST_F(HelperFault, WhatADeadWorkerRanIsStopped) {
  board.pl().hang(true);
  {
    const OwnedFd worker = connect();
    ASSERT_EQ(ask(worker, open_request()).error, kNoError);
    const std::uint32_t count = test::put_short_stream(board.memory(), *vta::find_design("pynq"));
    HelperRequest request = run_request(PlayedBoard::kAddress, count);
    request.limit = 100'000'000'000;  // 1000 s
    ASSERT_TRUE(send_helper_request(worker.get(), request).ok());
  }
  const OwnedFd next = connect();
  ASSERT_EQ(ask(next, open_request()).error, kNoError);
  EXPECT_EQ(board.pl().read(0) & 1, 0u) << "it runs no more";
  board.pl().hang(false);
  const std::uint32_t count = test::put_short_stream(board.memory(), *vta::find_design("pynq"));
  EXPECT_EQ(ask(next, run_request(PlayedBoard::kAddress, count)).error, kNoError);
  EXPECT_EQ(board.programmings(), 1u);
}

TEST_F(HelperFault, MemoryPastTheCachesIsForEmulatorsOnly) {
  board.remove("/sys/class/u-dma-buf");
  board.put("/sys/class/uio/uio0/maps/map0/addr", "0x43c00000\n");
  board.put("/sys/class/uio/uio0/maps/map0/size", "0x4000\n");
  board.put("/sys/class/uio/uio0/maps/map1/addr", "0x1c000000\n");
  board.put("/sys/class/uio/uio0/maps/map1/size", "0x4000000\n");
  board.put("/dev/uio0", std::string(8 << 20, 0));
  expect_refused(ask(connect(), open_request()), ErrorCode::Unsupported,
                 "u-dma-buf or zocl is needed");
  PlayedHelper emulated(board, {{"a", board.wanted("pynq"), 4 << 20, true}});
  emulated.start();
  auto socket = connect_to_helper(emulated.address());
  ASSERT_TRUE(socket.ok());
  EXPECT_EQ(ask(*socket, open_request()).bytes, std::uint64_t{4} << 20);
}

TEST_F(HelperFault, AHelperThatIsGoneIsSaid) {
  auto opened = FpgaAccelerator::open(*vta::find_design("pynq"), helper.address(), "a");
  ASSERT_TRUE(opened.ok()) << opened.error().text();
  helper.end();
  const auto ran = (*opened)->run(PlayedBoard::kAddress, 2, 1000);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, ErrorCode::Unreachable);
  EXPECT_TRUE((*opened)->lost());
  const auto again = FpgaAccelerator::open(*vta::find_design("pynq"), helper.address(), "a");
  ASSERT_FALSE(again.ok());
  expect_words(again.error(), ErrorCode::Unreachable, "the FPGA helper at @");
}

}  // namespace
}  // namespace fettle::agent

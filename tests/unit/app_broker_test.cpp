// `fettle broker` and who asks it, by the command line.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/raw_http.h"
#include "tests/unit/command_line.h"

namespace fettle::testing {
namespace {

TEST_F(CommandLine, AnUnreachableBrokerIsNamed) {
  ASSERT_EQ(fettle({"keys", "new", "client"}).status, 0);
  const auto key = fettle({"keys", "new", "third"}).out.substr(0, 40);
  expect_error(fettle({"tune", small_dense(), "--broker", "tcp://127.0.0.1:9", "--broker-key", key,
                       "--db", folder.file("t.db")}),
               1, {"no broker at tcp://127.0.0.1:9", "connection refused, nothing listens there"});
  expect_error(
      fettle({"tune", small_dense(), "--broker", "tcp://127.0.0.1:9", "--db", folder.file("t.db")}),
      1, {"--broker-key"});
}

TEST_F(CommandLine, ABoardThatHasNoModelIsToldByItsId) {
  const auto devices = fettle({"devices"});
  EXPECT_EQ(devices.status, 0) << devices.err;
  EXPECT_NE(devices.out.find("id "), std::string::npos) << devices.out;
  EXPECT_EQ(devices.out.find("  board      ,"), std::string::npos) << devices.out;
}

TEST_F(CommandLine, AKeyThatIsNotLetInIsToldApart) {
  RunningProgram broker({FETTLE_PROGRAM, "broker", "--listen", "tcp://127.0.0.1:*"},
                        {{"FETTLE_HOME", folder.file("home")}});
  const std::string url = url_of(broker);
  const auto result = fettle({"devices", "--broker", url});
  EXPECT_EQ(result.status, 1);
  EXPECT_NE(result.err.find("fettle keys allow NAME '" + public_key("client") + "' --role client"),
            std::string::npos)
      << result.err;
  // Let in, the same call works.
  ASSERT_EQ(fettle({"keys", "allow", "me", public_key("client")}).status, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  const auto again = fettle({"devices", "--broker", url});
  EXPECT_EQ(again.status, 0) << again.err;
  broker.signal(SIGTERM);
  EXPECT_EQ(broker.wait(std::chrono::seconds(10)), 0);
}

TEST_F(CommandLine, ABrokerSaysHowItIsAndWhoDidWhat) {
  const std::string audit = folder.file("audit.jsonl");
  RunningProgram broker({FETTLE_PROGRAM, "broker", "--listen", "tcp://127.0.0.1:*", "--metrics",
                         "127.0.0.1:0", "--audit", audit, "--json"},
                        {{"FETTLE_HOME", folder.file("home")}});
  ASSERT_TRUE(broker.wait_for_out("metrics_port", std::chrono::seconds(10))) << broker.err();
  const auto said = nlohmann::json::parse(broker.out());
  const std::string port = std::to_string(said["metrics_port"].get<int>());
  const std::string url = said["endpoint"];
  EXPECT_EQ(fettle({"devices", "--broker", url}).status, 1) << "not let in yet";
  ASSERT_EQ(fettle({"keys", "allow", "me", public_key("client")}).status, 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_EQ(fettle({"devices", "--broker", url}).status, 0);
  const auto status = fettle({"broker", "--status", "--metrics", port, "--json"});
  EXPECT_EQ(status.status, 0) << status.err;
  const auto numbers = nlohmann::json::parse(status.out);
  EXPECT_EQ(numbers["endpoint"], url);
  EXPECT_EQ(numbers["agents"], 0);
  EXPECT_NE(fettle({"broker", "--status", "--metrics", port}).out.find("endpoint"),
            std::string::npos);
  for (const char* host : {"evil.example", "127.evil.example", "[::1].evil.example:80"}) {
    EXPECT_EQ(test::http_answer(std::stoi(port), host).substr(9, 3), "421") << host;
  }
  EXPECT_EQ(test::http_answer(std::stoi(port), "[::1]:80").substr(9, 3), "200");
  const std::string ranges =
      test::http_answer(std::stoi(port), "localhost", "Range: " + test::many_ranges(2600) + "\r\n");
  EXPECT_EQ(ranges.substr(9, 3), "416");
  EXPECT_TRUE(ranges.ends_with("\r\n\r\n")) << "without a body";
  EXPECT_EQ(test::http_answer(std::stoi(port), "localhost:1").substr(9, 3), "200") << "a tunnel's";
  // A request that never ends does not keep it.
  const test::Drip drip(std::stoi(port));
  broker.signal(SIGTERM);
  EXPECT_EQ(broker.wait(std::chrono::seconds(10)), 0);
  std::ifstream file(audit);
  const std::string lines(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(lines.find("\"event\":\"key-unknown\",\"key\":\"" + public_key("client").substr(0, 4)),
            std::string::npos)
      << lines;
  expect_error(fettle({"broker", "--status", "--metrics", port}), 1, {"no broker answers", port});
  expect_error(fettle({"broker"}), 2, {"--listen"});
}

// Another program may listen at that port.
TEST_F(CommandLine, WhatIsNoBrokersStatusIsToldAsSuch) {
  const auto ask = [&](const std::string& body) {
    const test::OneAnswer other(body);
    return fettle({"broker", "--status", "--metrics", other.port()});
  };
  const std::string deep(3'000'000, '[');
  expect_error(ask(deep), 1, {"no fettle broker"});
  expect_error(ask("{\"a\":" + deep + std::string(deep.size(), ']') + "}"), 1,
               {"no fettle broker"});
  expect_error(ask("[]"), 1, {"no fettle broker"});
  const auto odd = ask(R"({"clients":[7,{"name":"me","request_bytes":5000000000,"trials":"x"}],
    "sessions":{"name":1}})");
  EXPECT_EQ(odd.status, 0) << odd.err;
  EXPECT_EQ(odd.out,
            "client me: 0 connections, 0 sessions, 0 trials, 5000000000 bytes of requests, 0 of "
            "outcomes, 0 of blobs\n");
}

// They may have the same port, at other addresses.
TEST_F(CommandLine, TheMonitorEndsNoConnectionOfThePage) {
  const int port = test::free_port();
  const std::string number = std::to_string(port), page = "127.0.0.3:" + number;
  RunningProgram broker({FETTLE_PROGRAM, "broker", "--listen", "tcp://127.0.0.2:" + number,
                         "--metrics", number, "--web", page, "--json"},
                        {{"FETTLE_HOME", folder.file("home")}});
  ASSERT_TRUE(broker.wait_for_out("metrics_port", std::chrono::seconds(10))) << broker.err();
  const test::Talk stream("127.0.0.3", port, "GET /events HTTP/1.1\r\nHost: " + page + "\r\n\r\n");
  EXPECT_FALSE(stream.ended_within(std::chrono::seconds(8)));
}

TEST_F(CommandLine, ABrokersNumbersWantATokenWhereOtherMachinesReachThem) {
  const std::vector<std::string> start = {"broker",    "--listen",  "tcp://127.0.0.1:*",
                                          "--metrics", "0.0.0.0:0", "--json"};
  expect_error(fettle(start), 1, {"other machines reach 0.0.0.0:0", "--metrics-token-file"});
  const std::string mine = folder.file("token"), other = folder.file("other");
  for (const auto& [file, word] :
       {std::pair{mine, "0123456789abcdef"}, {other, "fedcba9876543210"}}) {
    std::ofstream(file) << word;
    std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  }
  std::vector<std::string> with_token = {FETTLE_PROGRAM};
  with_token.insert(with_token.end(), start.begin(), start.end());
  with_token.insert(with_token.end(), {"--metrics-token-file", mine});
  RunningProgram broker(with_token, {{"FETTLE_HOME", folder.file("home")}});
  ASSERT_TRUE(broker.wait_for_out("metrics_port", std::chrono::seconds(10))) << broker.err();
  const std::string port =
      std::to_string(nlohmann::json::parse(broker.out())["metrics_port"].get<int>());
  const auto ask = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"broker", "--status", "--metrics", port});
    return fettle(more);
  };
  EXPECT_EQ(ask({"--metrics-token-file", mine}).status, 0);
  expect_error(ask({"--metrics-token-file", other}), 1, {"another token"});
  expect_error(ask({}), 1, {"another token"});
}

}  // namespace
}  // namespace fettle::testing

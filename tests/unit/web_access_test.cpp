// Who may look at a live page, and where it is served.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "host/web/access.h"
#include "host/web/live_server.h"

namespace fettle::web {
namespace {

const std::string kToken = "0123456789abcdefXYZ";

Asked get(const std::string& host) { return {"GET", host, "", "", ""}; }

TEST(WebAddress, IsReadAsPeopleWriteIt) {
  const auto text = [](const std::string& from) {
    const auto address = web_address(from);
    return address ? text_of(*address) : "no: " + address.error().message;
  };
  EXPECT_EQ(text(""), "127.0.0.1:0");
  EXPECT_EQ(text("8080"), "127.0.0.1:8080");
  EXPECT_EQ(text("192.168.1.4:80"), "192.168.1.4:80");
  EXPECT_EQ(text("[::1]:8080"), "[::1]:8080");
  for (const char* wrong :
       {"resnet18", "::1:80", "host:", ":80", "host:70000", "host:-1", "[]:1"}) {
    EXPECT_EQ(text(wrong).rfind("no: ", 0), 0u) << wrong << " is " << text(wrong);
  }
}

TEST(WebAddress, LoopbackIsWhatNoOtherMachineReaches) {
  for (const char* own : {"127.0.0.1", "127.9.9.9", "::1", "localhost"}) {
    EXPECT_TRUE((WebAddress{own, 1}.loopback())) << own;
  }
  for (const char* other : {"0.0.0.0", "::", "192.168.1.4", "127.0.0.1.example.org", "board"}) {
    EXPECT_FALSE((WebAddress{other, 1}.loopback())) << other;
  }
}

TEST(WebAccess, ANameOfAnotherSiteIsRefusedOnLoopback) {
  const Access access({"127.0.0.1", 8080}, "");
  for (const char* own : {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"}) {
    EXPECT_EQ(access.may_ask(get(own)), 200) << own;
  }
  for (const char* other : {"", "evil.example", "evil.example:8080", "127.0.0.1", "127.0.0.1:81",
                            "127.0.0.1:8080.evil.example", "localhost:8080@evil.example"}) {
    EXPECT_EQ(access.may_ask(get(other)), 421) << other;
  }
}

TEST(WebAccess, OnlyGetAndNoOtherSitesPage) {
  const Access access({"127.0.0.1", 8080}, "");
  Asked asked = get("127.0.0.1:8080");
  for (const char* method : {"POST", "HEAD", "PUT", "OPTIONS", "get"}) {
    asked.method = method;
    EXPECT_EQ(access.may_ask(asked), 405) << method;
  }
  asked.method = "GET";
  for (const char* site : {"cross-site", "same-site"}) {
    asked.fetch_site = site;
    EXPECT_EQ(access.may_ask(asked), 403) << site;
  }
  asked.fetch_site = "same-origin";
  EXPECT_EQ(access.may_ask(asked), 200);
}

TEST(WebAccess, TheTokenIsTheAddressesOrTheHeaders) {
  const Access access({"0.0.0.0", 8080}, kToken);
  Asked asked = get("broker.example:8080");
  EXPECT_EQ(access.may_ask(asked), 200) << "a token is nothing that a foreign page knows";
  EXPECT_EQ(access.may_see(asked), 401);
  for (const std::string& wrong :
       {kToken + "x", kToken.substr(1), std::string("x"), std::string(19, 'a')}) {
    asked.token = wrong;
    EXPECT_EQ(access.may_see(asked), 401) << wrong;
  }
  asked.token = kToken;
  EXPECT_EQ(access.may_see(asked), 200);
  asked.token = "";
  asked.authorization = "Bearer " + kToken;
  EXPECT_EQ(access.may_see(asked), 200);
  asked.authorization = kToken;
  EXPECT_EQ(access.may_see(asked), 401);
}

TEST(WebAccess, BeyondLoopbackNothingIsServedWithoutAToken) {
  for (const char* host : {"0.0.0.0", "::", "192.0.2.1"}) {
    LiveServerOptions options;
    options.address.host = host;
    const auto started = LiveServer::start(std::move(options));
    ASSERT_FALSE(started.ok()) << host;
    EXPECT_EQ(started.error().code, ErrorCode::InvalidArgument) << host;
    EXPECT_NE(started.error().message.find("--web-token-file"), std::string::npos);
  }
}

TEST(WebAccess, ATokenFileHoldsOneLongWordThatOthersCannotRead) {
  const auto file =
      std::filesystem::temp_directory_path() / ("fettle_token_" + std::to_string(getpid()));
  const auto read = [&](const std::string& text, unsigned mode = 0600) {
    std::ofstream(file) << text;
    std::filesystem::permissions(file, std::filesystem::perms(mode));
    return read_token(file);
  };
  const auto token = read(kToken + "\n");
  ASSERT_TRUE(token.ok()) << token.error().text();
  EXPECT_EQ(*token, kToken);
  for (const std::string& wrong :
       {std::string(), std::string("\n"), std::string("short"), kToken + " and more",
        std::string(300, 'a'), std::string("sixteen&letters!!")}) {
    EXPECT_EQ(read(wrong).error().code, ErrorCode::InvalidArgument) << wrong;
  }
  EXPECT_EQ(read(kToken, 0644).error().code, ErrorCode::Unauthorized);
  std::filesystem::remove(file);
  EXPECT_EQ(read_token(file).error().code, ErrorCode::Io);
}

// It would wait for whoever writes to it, for ever.
TEST(WebAccess, ATokenFileIsNoPipe) {
  const auto pipe =
      std::filesystem::temp_directory_path() / ("fettle_pipe_" + std::to_string(getpid()));
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_token(pipe).error().code, ErrorCode::Io);
  std::filesystem::remove(pipe);
}

TEST(WebAccess, BrowsersLeaveOutPort80) {
  const Access access({"127.0.0.1", 80}, "");
  for (const char* own : {"127.0.0.1", "localhost", "[::1]", "127.0.0.1:80", "localhost:80"}) {
    EXPECT_EQ(access.may_ask(get(own)), 200) << own;
  }
  for (const char* other : {"", "evil.example", "evil.example:80", "localhost:8080", "[::1]:81"}) {
    EXPECT_EQ(access.may_ask(get(other)), 421) << other;
  }
}

}  // namespace
}  // namespace fettle::web

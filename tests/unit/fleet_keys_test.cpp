// Keys and allow lists on a real file system.
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "host/fleet/allow_list.h"
#include "host/fleet/keys.h"

namespace fettle::fleet {
namespace {

class Keys : public ::testing::Test {
 protected:
  std::filesystem::path home =
      std::filesystem::path(::testing::TempDir()) / ("fettle-keys-" + std::to_string(::getpid()));
  KeyFolder folder{home};
  void TearDown() override { std::filesystem::remove_all(home); }
};

TEST_F(Keys, AreMadeStoredAndReadBack) {
  auto made = folder.create("board-7");
  ASSERT_TRUE(made.ok()) << made.error().text();
  auto loaded = folder.load("board-7");
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  EXPECT_EQ(made->public_key, loaded->public_key);
  EXPECT_EQ(made->secret_key, loaded->secret_key);
  EXPECT_EQ(*public_key_of(made->secret_key), made->public_key);
  struct stat status{};
  ASSERT_EQ(::stat(folder.key_file("board-7").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(home.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  auto again = folder.create("board-7");
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::InvalidArgument);
  EXPECT_NE(again.error().message.find(allow_command(made->public_key)), std::string::npos)
      << again.error().message;
  EXPECT_EQ(again.error().message.find(made->secret_key), std::string::npos);
  std::ofstream(folder.key_file("cut")) << "public ";
  ::chmod(folder.key_file("cut").c_str(), 0600);
  auto cut = folder.create("cut");
  ASSERT_FALSE(cut.ok()) << "it could be a key that is in use";
  EXPECT_NE(cut.error().message.find("holds no valid key pair"), std::string::npos);
  const auto both = folder.list();
  ASSERT_TRUE(both.ok());
  ASSERT_EQ(both->size(), 2u) << "the others are there all the same";
  EXPECT_EQ(both->at(0).public_key, made->public_key);
  EXPECT_NE(both->at(1).fault.find("holds no valid key pair"), std::string::npos);
  std::filesystem::remove(folder.key_file("cut"));
  const auto all = folder.list();
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 1u);
  EXPECT_EQ(all->at(0).public_key, made->public_key);
}

TEST_F(Keys, TellWhatIsWrongWithoutTellingTheSecret) {
  auto absent = folder.load("client");
  ASSERT_FALSE(absent.ok());
  EXPECT_EQ(absent.error().code, ErrorCode::NotFound);
  EXPECT_NE(absent.error().message.find("fettle keys new client"), std::string::npos);
  EXPECT_FALSE(folder.create("../escape").ok());
  EXPECT_FALSE(folder.create("").ok());
  auto made = folder.create("client");
  ASSERT_TRUE(made.ok());
  ::chmod(folder.key_file("client").c_str(), 0644);
  auto open = folder.load("client");
  ASSERT_FALSE(open.ok());
  EXPECT_EQ(open.error().code, ErrorCode::Unauthorized);
  EXPECT_NE(open.error().message.find("chmod 600"), std::string::npos);
  ::chmod(folder.key_file("client").c_str(), 0600);
  std::ofstream(folder.key_file("client"))
      << "public " << make_key_pair()->public_key << "\nsecret " << made->secret_key << "\n";
  auto mixed = folder.load("client");
  ASSERT_FALSE(mixed.ok());
  EXPECT_EQ(mixed.error().code, ErrorCode::Malformed);
  EXPECT_EQ(mixed.error().text().find(made->secret_key), std::string::npos);
  for (const char* text : {"", "short", "not z85 not z85 not z85 not z85 not z85 "}) {
    EXPECT_FALSE(check_public_key(text).ok()) << text;
    EXPECT_FALSE(public_key_of(text).ok()) << text;
  }
}

TEST_F(Keys, TheAllowListIsEditedByName) {
  const auto file = folder.allow_file();
  const auto one = make_key_pair()->public_key, two = make_key_pair()->public_key;
  EXPECT_TRUE(load_allow_list(file)->empty());
  ASSERT_TRUE(allow_key(file, {"laptop", wire::Role::Client, one}).ok());
  ASSERT_TRUE(allow_key(file, {"pynq-1", wire::Role::Agent, two}).ok());
  EXPECT_FALSE(allow_key(file, {"again", wire::Role::Client, one}).ok());
  const auto taken = allow_key(file, {"pynq-1", wire::Role::Agent, make_key_pair()->public_key});
  ASSERT_FALSE(taken.ok()) << "another board would be locked out";
  EXPECT_NE(taken.error().message.find("fettle keys revoke pynq-1"), std::string::npos);
  EXPECT_TRUE(allow_key(file, {"pynq-1", wire::Role::Agent, two}).ok()) << "as it is there";
  EXPECT_FALSE(allow_key(file, {"bad", wire::Role::Client, "zzz"}).ok());
  EXPECT_FALSE(allow_key(file, {"a b", wire::Role::Client, make_key_pair()->public_key}).ok());
  AllowList list;
  ASSERT_TRUE(list.reload(file).ok());
  const auto first = list.version();
  EXPECT_GT(first, 0u);
  ASSERT_TRUE(list.reload(file).ok());
  EXPECT_EQ(list.version(), first) << "unchanged";
  EXPECT_EQ(list.find(two)->role, wire::Role::Agent);
  auto unknown = revoke_key(file, "pynq-2");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("laptop, pynq-1"), std::string::npos);
  ASSERT_TRUE(revoke_key(file, "pynq-1").ok());
  ASSERT_TRUE(list.reload(file).ok());
  EXPECT_NE(list.version(), first);
  EXPECT_FALSE(list.find(two));
  EXPECT_TRUE(list.find(one));
  // A wrong file changes nothing, and is tried again until it is right.
  std::ofstream(file) << "client laptop\n";
  EXPECT_FALSE(list.reload(file).ok());
  EXPECT_TRUE(list.find(one));
  EXPECT_FALSE(list.reload(file).ok());
  std::ofstream(file) << "";
  EXPECT_TRUE(list.reload(file).ok());
  EXPECT_FALSE(list.find(one));
}

TEST_F(Keys, ARoleChangesOnlyWhenOneIsNamed) {
  const auto file = folder.allow_file();
  const auto key = make_key_pair()->public_key, other = make_key_pair()->public_key;
  const auto role = [&] { return load_allow_list(file)->at(0).role; };
  const auto fresh = allow_key(file, "pynq-1", key, std::nullopt);
  ASSERT_TRUE(fresh.ok()) << fresh.error().text();
  EXPECT_EQ(fresh->role, wire::Role::Client);
  EXPECT_FALSE(fresh->before);
  const auto changed = allow_key(file, "pynq-1", key, wire::Role::Agent);
  ASSERT_TRUE(changed.ok()) << changed.error().text();
  EXPECT_EQ(changed->role, wire::Role::Agent);
  EXPECT_EQ(changed->before, wire::Role::Client);
  EXPECT_EQ(role(), wire::Role::Agent);
  const auto kept = allow_key(file, "pynq-1", key, std::nullopt);
  ASSERT_TRUE(kept.ok()) << kept.error().text();
  EXPECT_EQ(kept->role, wire::Role::Agent) << "a running board would be locked out";
  EXPECT_EQ(kept->before, wire::Role::Agent);
  EXPECT_EQ(role(), wire::Role::Agent);
  EXPECT_FALSE(allow_key(file, "pynq-1", other, std::nullopt).ok());
  EXPECT_FALSE(allow_key(file, "pynq-2", key, std::nullopt).ok());
  EXPECT_EQ(load_allow_list(file)->size(), 1u);
}

TEST_F(Keys, AnAgentsKeyIsBoundToDeviceKeysAndBoards) {
  const auto file = folder.allow_file();
  const auto key = make_key_pair()->public_key, other = make_key_pair()->public_key;
  const auto entry = [&] { return load_allow_list(file)->at(0); };
  Bindings bindings{{{"pynq", "pynq-z2"}}, {{"0123abcd"}}};
  ASSERT_TRUE(allow_key(file, "pynq-1", key, wire::Role::Agent, bindings).ok());
  EXPECT_EQ(entry().device_keys, (std::vector<std::string>{"pynq", "pynq-z2"}));
  EXPECT_EQ(entry().boards, (std::vector<std::string>{"0123abcd"}));
  EXPECT_EQ(parse_allow_list(format_allow_list({entry()}))->at(0), entry());
  ASSERT_TRUE(allow_key(file, "pynq-1", key, std::nullopt, {{}, {{"*"}}}).ok());
  EXPECT_EQ(entry().device_keys.size(), 2u) << "what is left out stays";
  EXPECT_EQ(entry().boards, (std::vector<std::string>{"*"}));
  for (const char* bad : {"", "a b", "a\tb"}) {
    EXPECT_FALSE(allow_key(file, "pynq-1", key, std::nullopt, {{{bad}}, {}}).ok()) << bad;
  }
  EXPECT_FALSE(allow_key(file, "me", other, wire::Role::Client, bindings).ok());
  EXPECT_FALSE(parse_allow_list("agent pynq-1 " + key + " bord=1\n").ok());
  EXPECT_FALSE(parse_allow_list("client me " + other + " board=1\n").ok());
  ASSERT_TRUE(allow_key(file, "pynq-1", key, wire::Role::Client).ok());
  EXPECT_TRUE(entry().device_keys.empty() && entry().boards.empty()) << "a client is no board";
}

// Boards are often let in by a script, several at once.
TEST_F(Keys, ChangesAtTheSameTimeAllCount) {
  const auto file = folder.allow_file();
  std::vector<std::thread> all;
  for (int i = 0; i < 16; ++i) {
    all.emplace_back([&, key = make_key_pair()->public_key, name = "board-" + std::to_string(i)] {
      EXPECT_TRUE(allow_key(file, {name, wire::Role::Agent, key}).ok());
    });
  }
  for (std::thread& one : all) one.join();
  EXPECT_EQ(load_allow_list(file)->size(), 16u);
  all.clear();
  std::mutex mutex;
  std::vector<std::string> made;
  for (int i = 0; i < 16; ++i) {
    all.emplace_back([&] {
      auto pair = folder.load_or_create("client");
      std::lock_guard lock(mutex);
      made.push_back(pair.ok() ? pair->public_key : pair.error().text());
    });
  }
  for (std::thread& one : all) one.join();
  for (const std::string& key : made) EXPECT_EQ(key, folder.load("client")->public_key);
}

// Files of this process that grow beyond `bytes` fail while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit low{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &low);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_{};
};

TEST_F(Keys, AFailedWriteLeavesTheOldFile) {
  const auto file = folder.allow_file();
  const auto one = make_key_pair()->public_key, two = make_key_pair()->public_key;
  ASSERT_TRUE(allow_key(file, {"one", wire::Role::Client, one}).ok());
  const auto files = [&] {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(home)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  };
  const auto before = files();
  {
    const FileSizeLimit limit(16);  // the list begins to be written, and does not end
    EXPECT_FALSE(allow_key(file, {"two", wire::Role::Client, two}).ok());
  }
  EXPECT_EQ(files(), before) << "nothing half-written stays";
  const auto list = load_allow_list(file);
  ASSERT_TRUE(list.ok()) << list.error().text();
  ASSERT_EQ(list->size(), 1u);
  EXPECT_EQ(list->at(0).public_key, one);
  EXPECT_TRUE(allow_key(file, {"two", wire::Role::Client, two}).ok());
  EXPECT_EQ(load_allow_list(file)->size(), 2u);
}

}  // namespace
}  // namespace fettle::fleet

// What a PostgreSQL server is told: queries, texts of any bytes, URLs without their passwords.
#include <gtest/gtest.h>

#include <random>

#include "host/records/dialect.h"
#include "host/records/postgres_text.h"
#include "host/records/postgres_url.h"
#include "host/records/schema.h"
#include "host/records/tables.h"

namespace fettle::records {
namespace {

TEST(PostgresQuery, ParametersAndJsonAreInItsWords) {
  EXPECT_EQ(postgres_query("SELECT '?1' WHERE a = ?1 AND b = ?12 AND c <> ''"),
            "SELECT '?1' WHERE a = $1 AND b = $12 AND c <> ''");
  EXPECT_EQ(
      postgres_query("json_extract(t.outcome, '$.measurement.median') > ?2"),
      R"((CAST(replace(t.outcome, '\u0000', '\ufffd') AS json) #>> '{measurement,median}') > )"
      "$2");
}

TEST(PostgresQuery, LongTextsAreToldApartByTheirHash) {
  const std::string sqlite = create_tables(Dialect::Sqlite);
  const std::string postgres = create_tables(Dialect::Postgres);
  EXPECT_NE(sqlite.find("UNIQUE (canonical, hash)"), std::string::npos) << sqlite;
  EXPECT_NE(postgres.find("workloads_once ON workloads (md5(canonical), hash)"), std::string::npos)
      << postgres;
  EXPECT_EQ(postgres.find('{'), postgres.find("{}")) << "only the default of options";
  EXPECT_EQ(sqlite.find("BIGINT"), std::string::npos);
  EXPECT_EQ(postgres.find("INTEGER"), std::string::npos);
}

TEST(PostgresText, AnyBytesComeBack) {
  for (const std::string& text :
       {std::string(""), std::string("plain"), std::string("\0a\0", 3), std::string("é 漢 🙂"),
        std::string("\xff\xfe"), std::string("\xc3"), std::string("\xed\xa0\x80"),
        std::string("\xef\xb7\x90\xef\xb7\xa0"), std::string("\xf4\x90\x80\x80"),
        std::string("\xc0\x80"), std::string("\xe2\x82")}) {
    const std::string held = to_postgres_text(text);
    EXPECT_EQ(held.find('\0'), std::string::npos);
    EXPECT_EQ(from_postgres_text(held), text);
  }
  EXPECT_EQ(to_postgres_text("é 漢 🙂 \t\n"), "é 漢 🙂 \t\n") << "what it can hold stays";
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (unsigned left = random() % 12; left > 0; --left) {
      // Half of them from what the escapes are made of.
      constexpr std::string_view kLikely = "\xef\xb7\x90\xa0\xaf\x80\xc3";
      text += random() % 2 == 0 ? static_cast<char>(random()) : kLikely[random() % kLikely.size()];
    }
    ASSERT_EQ(from_postgres_text(to_postgres_text(text)), text);
  }
}

TEST(PostgresUrl, APasswordIsNeverShown) {
  struct Case {
    std::string url, shown;
  };
  for (const Case& one :
       std::vector<Case>{{"postgresql://u:geheim@h:5432/d", "postgresql://u:***@h:5432/d"},
                         {"postgres://u:geheim@h", "postgres://u:***@h"},
                         {"postgresql://u@h/d", "postgresql://u@h/d"},
                         {"postgresql://h:5432/d", "postgresql://h:5432/d"},
                         {"postgresql:///d?host=@abstract", "postgresql:///d?host=@abstract"},
                         {"postgresql://[::1]:5432/d", "postgresql://[::1]:5432/d"},
                         {"postgresql://u:ge@heim@h/d", "postgresql://u:***@h/d"},
                         {"postgresql://u:geh/eim@h/d", "postgresql://u:***@h/d"},
                         {"postgresql://u:geh?eim@h/d", "postgresql://u:***@h/d"},
                         {"postgresql://u:ge%zzheim@h/d", "postgresql://u:***@h/d"},
                         {"postgresql:///d?user=u&password=geheim&host=h",
                          "postgresql:///d?user=u&password=***&host=h"},
                         {"postgresql:///d?password=geheim", "postgresql:///d?password=***"}}) {
    EXPECT_EQ(without_password(one.url), one.shown);
    EXPECT_EQ(shown_database(one.url), one.shown);
  }
  EXPECT_EQ(shown_database("a:b@c.db"), "a:b@c.db") << "a file";
}

TEST(PostgresUrl, WhatCannotBeReadIsRefusedWithoutThePassword) {
  for (const char* url :
       {"postgresql://u:ge@heim@h/d", "postgresql://u:geh/eim@h/d", "postgresql://u:geh?eim@h/d",
        "postgresql://u:ge%zzheim@h/d", "postgresql:///d?pasword=x&password=geheim",
        "postgresql://u:geheim@h:no/d", "postgresql://u@h/d?nonsense=1"}) {
    OpenOptions how;
    how.server_wait = std::chrono::seconds(0);
    const auto opened = open_checked(url, how);
    ASSERT_FALSE(opened.ok()) << url;
    const std::string text = opened.error().text();
    EXPECT_EQ(opened.error().code == ErrorCode::InvalidArgument ||
                  opened.error().code == ErrorCode::Unreachable,
              true)
        << text;
    for (const char* part : {"geheim", "heim", "geh/", "ge@", "ge%"}) {
      EXPECT_EQ(text.find(part), std::string::npos) << text;
    }
  }
  const auto other = open_checked("mysql://u:geheim@h/d", {});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().text(),
            "no database of the kind 'mysql': name a file, or postgresql://USER@HOST/DATABASE");
}

}  // namespace
}  // namespace fettle::records

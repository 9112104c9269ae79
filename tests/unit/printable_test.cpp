// What a terminal would obey is escaped, and nothing else.
#include <gtest/gtest.h>

#include "schemas/wire/printable.h"

namespace fettle {
namespace {

TEST(Printable, TextStaysAsItIs) {
  const std::string text = "Größe 3×3 → 你好 \U0001f600\n\tmore";
  EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersAreEscaped) {
  EXPECT_EQ(printable("\x1b[2J"), "\\u001b[2J");
  EXPECT_EQ(printable(std::string_view("a\0b\r\x7f", 5)), "a\\u0000b\\u000d\\u007f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\u009b") << "CSI in one character";
  EXPECT_EQ(printable("\u202egpj.exe"), "\\u202egpj.exe");
}

TEST(Printable, WhatIsNoUtf8IsReplaced) {
  EXPECT_EQ(printable("\x9b"), "\xef\xbf\xbd") << "CSI to a terminal of 8 bits";
  EXPECT_EQ(printable("a\xe2\x82"), "a\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(printable("\xc0\x9b"), "\xef\xbf\xbd\xef\xbf\xbd") << "overlong";
}

}  // namespace
}  // namespace fettle

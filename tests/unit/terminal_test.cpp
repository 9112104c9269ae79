// Where lines can be written over.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "host/app/text.h"

namespace fettle::app {
namespace {

TEST(Terminal, OnlyOneThatIsNotDumbIsWrittenOver) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  setenv("TERM", "xterm", 1);
  EXPECT_TRUE(is_redrawable(terminal));
  EXPECT_FALSE(is_redrawable(pipe_ends[1]));
  setenv("TERM", "dumb", 1);
  EXPECT_FALSE(is_redrawable(terminal));
  unsetenv("TERM");
  EXPECT_FALSE(is_redrawable(terminal));
  close(pipe_ends[0]), close(pipe_ends[1]), close(terminal);
}

}  // namespace
}  // namespace fettle::app

// Pools and the keys of their records.
#include <gtest/gtest.h>

#include "host/fleet/pool.h"

namespace fettle::fleet {
namespace {

TEST(Pool, ItsNameLeadsToTheKey) {
  for (const std::string& pool : pools_named("rk 3399")) EXPECT_EQ(key_of_pool(pool), "rk 3399");
  EXPECT_EQ(key_of_pool("rk(emulated)"), "rk(emulated)");
  EXPECT_EQ(key_of_pool(" (emulated)"), "");
  EXPECT_EQ(key_of_pool(""), "");
}

}  // namespace
}  // namespace fettle::fleet

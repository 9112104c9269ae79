// CUDA's headers: found where an installed toolkit or `./dev setup cuda` leaves them; a build
// without them says what brings them, and so does whoever asks it for such a device.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <filesystem>
#include <fstream>

#include "tests/support/running_program.h"

namespace fettle {
namespace {

using testing::run_program;

class CudaHeaders : public ::testing::Test {
 protected:
  // A toolkit in the cache, as toolchains/cuda.sh leaves it.
  void cache(const std::string& version, bool header, bool complete = true) {
    const std::filesystem::path at = folder.file("cache/cuda/" + version);
    std::filesystem::create_directories(at / "include");
    if (header) std::ofstream(at / "include" / "cuda.h") << "\n";
    if (complete) std::ofstream(at / "complete") << "\n";
  }
  // What a configured build finds: the folder, or what it says.
  std::string found(const std::string& cuda_home) {
    std::ofstream(folder.file("asks.cmake"))
        << "include(" FETTLE_CUDA_HEADERS ")\nmessage(STATUS \"found ${FETTLE_CUDA_INCLUDE}\")\n";
    const auto ran =
        run_program({FETTLE_CMAKE, "-P", folder.file("asks.cmake")}, std::chrono::seconds(60),
                    {{"CUDA_HOME", cuda_home}, {"FETTLE_CACHE", folder.file("cache")}});
    EXPECT_EQ(ran.status, 0) << ran.err;
    return ran.out;
  }
  std::string in_cache(const std::string& version) {
    return "found " + folder.file("cache/cuda/" + version + "/include") + "\n";
  }
  testing::ScratchFolder folder;
};

TEST_F(CudaHeaders, AreFoundInWhatSetupBrings) {
  cache("12.9", false);
  cache("13.0", true);
  cache("9.2", true);
  cache("14.0", true, false);
  const std::string said = found(folder.file("nowhere"));
  EXPECT_NE(said.find(in_cache("13.0")), std::string::npos) << "the newest, with a header" << said;
  EXPECT_EQ(said.find("Without"), std::string::npos) << said;
}

TEST_F(CudaHeaders, OfAnInstalledToolkitComeFirst) {
  cache("13.0", true);
  const std::filesystem::path own = folder.file("toolkit");
  std::filesystem::create_directories(own / "include");
  std::ofstream(own / "include" / "cuda.h") << "\n";
  const std::string said = found(own);
  EXPECT_NE(said.find("found " + (own / "include").string() + "\n"), std::string::npos) << said;
}

TEST_F(CudaHeaders, AreMissedInOneLine) {
  cache("12.9", false);
  const std::string said = found(folder.file("nowhere"));
  EXPECT_NE(said.find("-- Without CUDA devices: no cuda.h here; ./dev setup cuda brings it"),
            std::string::npos)
      << said;
}

// The agent, and through its words the session, of a build without the headers.
TEST_F(CudaHeaders, AreNamedToWhomeverAsksForADevice) {
  for (const auto& [kind, brings] :
       {std::pair{"cuda", "`./dev setup cuda` brings it"}, {"opencl", "`./dev setup` brings it"}}) {
    const auto tested = run_program({FETTLE_AGENT_PROGRAM, "--self-test", "--device-kind", kind,
                                     "--worker-gpu", FETTLE_WORKER_WITHOUT_HEADERS});
    EXPECT_NE(tested.status, 0);
    EXPECT_NE(tested.out.find(brings), std::string::npos) << tested.out << tested.err;
  }
  const std::string agent = folder.file("agent");
  std::ofstream(agent) << "#!/bin/sh\nexec " FETTLE_AGENT_PROGRAM
                          " --worker-gpu " FETTLE_WORKER_WITHOUT_HEADERS " \"$@\"\n";
  chmod(agent.c_str(), 0755);
  const auto tuned = run_program({FETTLE_PROGRAM, "tune", "resnet-18", "--device", "local-cuda",
                                  "--trials", "1", "--db", folder.file("none.db")},
                                 std::chrono::seconds(60), {{"FETTLE_AGENT", agent}});
  EXPECT_NE(tuned.status, 0);
  EXPECT_NE(tuned.err.find("`./dev setup cuda` brings it"), std::string::npos) << tuned.err;
}

}  // namespace
}  // namespace fettle

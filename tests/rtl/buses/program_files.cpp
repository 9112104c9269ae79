// Random legal programs as files, with the memory that the simulator leaves: for judges of the RTL
// that are not written in C++.   fettle-vta-program-files FOLDER COUNT
//
// FOLDER/N.in and N.out are the memory before and after; programs.json says where it lies.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fpga/sim/simulator.h"
#include "tests/support/vta_random.h"

namespace {

using namespace fettle;

bool write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return static_cast<bool>(file.flush());
}

int fail(const std::string& what) {
  std::fprintf(stderr, "fettle-vta-program-files: %s\n", what.c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return fail("usage: fettle-vta-program-files FOLDER COUNT");
  const std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  const vta::Design design = *vta::find_design("pynq");
  Result<vta::Simulator> simulator = vta::Simulator::create(design);
  if (!simulator) return fail(simulator.error().text());
  std::ofstream list(folder / "programs.json");
  list << "[";
  const int count = std::atoi(argv[2]);
  for (int seed = 1; seed <= count; ++seed) {
    const testing::VtaProgram program = testing::random_vta_program(design, seed);
    Bytes after = program.image;
    vta::DramImage dram(program.base, after);
    const auto words = static_cast<std::uint32_t>(program.words.size());
    if (const auto ran = simulator->run(dram, program.stream, words); !ran) {
      return fail(ran.error().text());
    }
    const std::string name = std::to_string(seed);
    if (!write(folder / (name + ".in"), program.image) || !write(folder / (name + ".out"), after)) {
      return fail("cannot write to " + folder.string());
    }
    list << (seed > 1 ? ",\n" : "\n") << R"({"name": ")" << name << R"(", "base": )" << program.base
         << R"(, "stream": )" << program.stream << R"(, "instructions": )" << words << "}";
  }
  list << "]\n";
  return list.flush() ? 0 : fail("cannot write to " + folder.string());
}

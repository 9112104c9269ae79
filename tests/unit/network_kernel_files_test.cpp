// One tuned kernel as files: what they say is enough to make the program again; and the header of a
// CPU's.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include <nlohmann/json.hpp>

#include "host/backend/backend.h"
#include "host/backend/vta/design_target.h"
#include "host/network/kernel_files.h"
#include "host/space/gpu_target.h"
#include "schemas/wire/codec.h"
#include "tests/support/native_run.h"

namespace fettle::network {
namespace {

using Json = nlohmann::json;
using Files = std::map<std::string, std::vector<std::uint8_t>>;

template <typename Enum>
Enum value_of(const std::string& name, const char* const* names, Enum last) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  ADD_FAILURE() << "no value " << name;
  return {};
}

wire::Dim3 dim(const Json& json) { return wire::Dim3(json[0], json[1], json[2]); }

// As a product would: from the files alone. Fills are what a caller hands over, so absent.
wire::ProgramT read_program(const Files& files, const std::string& name) {
  const auto& text = files.at(name + ".json");
  const Json json = Json::parse(text.begin(), text.end());
  wire::ProgramT program;
  for (const Json& from : json["images"]) {
    auto image = std::make_unique<wire::ImageT>();
    image->kind = value_of(from["kind"], wire::EnumNamesImageKind(), wire::ImageKind::MAX);
    image->bytes = files.at(from["file"]);
    image->build_options = from.value("build_options", "");
    image->configuration = from.value("accelerator", "");
    for (const Json& entry : from["entries"]) {
      image->entries.push_back(std::make_unique<wire::EntryPointT>());
      image->entries.back()->name = entry["name"];
      image->entries.back()->offset = entry["offset"];
    }
    program.images.push_back(std::move(image));
  }
  for (const Json& from : json["buffers"]) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = from["name"];
    buffer->bytes = from["bytes"];
    buffer->alignment = from["alignment"];
    const char* const roles[] = {"input", "output", "constant", "scratch"};
    buffer->role = value_of(from["role"], roles, wire::BufferRole::MAX);
    if (from.contains("file")) {
      buffer->fill = std::make_unique<wire::FillT>();
      buffer->fill->kind = wire::FillKind::Blob;
      buffer->fill->bytes = files.at(from["file"]);
    }
    program.buffers.push_back(std::move(buffer));
  }
  for (const Json& from : json["launches"]) {
    auto launch = std::make_unique<wire::LaunchT>();
    launch->image = from["image"];
    const auto& entries = program.images[launch->image]->entries;
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      if (entries[i]->name == from["entry"]) launch->entry = i;
    }
    launch->phase = from["phase"] == "prepare" ? wire::Phase::Prepare : wire::Phase::Run;
    for (const Json& arg : from["args"]) {
      EXPECT_TRUE(arg.contains("buffer")) << arg;
      launch->args.emplace_back(wire::ArgKind::Buffer, arg["buffer"], arg["offset"], 0, 0);
    }
    if (from.contains("grid")) {
      launch->grid = std::make_unique<wire::Dim3>(dim(from["grid"]));
      launch->block = std::make_unique<wire::Dim3>(dim(from["block"]));
      launch->shared_bytes = from["shared_bytes"];
    }
    for (const Json& one : from.value("relocations", Json::array())) {
      launch->relocations.emplace_back(one[0], one[1], one[2]);
    }
    program.launches.push_back(std::move(launch));
  }
  return program;
}

// What its files cannot say: random contents, which stand for the caller's.
void without_fills(wire::ProgramT& program) {
  program.target.clear();
  program.max_threads = 0;
  for (auto& buffer : program.buffers) {
    if (buffer->fill && buffer->fill->kind == wire::FillKind::Blob) {
      auto kept = std::make_unique<wire::FillT>();
      kept->kind = wire::FillKind::Blob;
      kept->bytes = std::move(buffer->fill->bytes);
      buffer->fill = std::move(kept);
    } else {
      buffer->fill.reset();
    }
  }
}

void expect_whole(const char* workload_json, const space::Target& target,
                  const std::string& code_file) {
  const auto workload = space::Workload::parse(Json::parse(workload_json));
  ASSERT_TRUE(workload) << workload.error().text();
  const auto task = backend::open_task(*workload, target);
  ASSERT_TRUE(task) << task.error().text();
  std::mt19937_64 rng(7);
  for (int i = 0; i < 5; ++i) {
    auto built = (*task)->build((*task)->space().random(rng));
    ASSERT_TRUE(built) << built.error().text();
    const auto made = kernel_files(*built->program, *workload, target, "conv");
    ASSERT_TRUE(made) << made.error().text();
    Files files;
    for (const KernelFile& file : *made) files[file.name] = file.bytes;
    ASSERT_TRUE(files.contains(code_file));
    without_fills(*built->program);
    if (built->program->images[0]->kind == wire::ImageKind::VtaStream) {
      // The accelerator's begin at pages, and the files say so.
      for (auto& buffer : built->program->buffers) {
        EXPECT_LT(buffer->alignment, 4096u);
        buffer->alignment = 4096;
      }
    }
    EXPECT_EQ(encode(read_program(files, "conv")), encode(*built->program));
  }
}

TEST(KernelFiles, OfOpenClSayAllOfTheProgram) {
  space::GpuTarget target;
  target.backend = "opencl_c";
  expect_whole(
      R"({"op":"conv2d","height":8,"width":8,"in_channels":4,"out_channels":16,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})",
      target.target(), "conv.cl");
}

TEST(KernelFiles, OfTheAcceleratorSayAllOfTheProgram) {
  const vta::host::DesignTarget pynq{vta::find_design("pynq").value(), std::int64_t{128} << 20};
  expect_whole(
      R"({"op":"conv2d","layout":"NCHW1n16c","dtype":"int8","height":14,"width":14,"in_channels":32,"out_channels":32,"kernel":[3,3],"pad":[1,1],"tail":["bias","shift_right 8","clip 0 127","cast int8"]})",
      pynq.target(), "conv.vta");
}

TEST(KernelFiles, OfACpuAreALibraryWhoseHeaderSaysEveryTensor) {
  const auto workload = space::Workload::parse(Json::parse(
      R"({"op":"conv2d","height":8,"width":8,"in_channels":4,"out_channels":16,"kernel":[3,3],"pad":[1,1],"tail":["bias","relu"]})"));
  ASSERT_TRUE(workload) << workload.error().text();
  const space::Target target = testing::native_target().target();
  const auto task = backend::open_task(*workload, target);
  ASSERT_TRUE(task) << task.error().text();
  std::mt19937_64 rng(7);
  const auto built = (*task)->build((*task)->space().random(rng));
  ASSERT_TRUE(built) << built.error().text();
  const auto made = kernel_files(*built->program, *workload, target, "conv");
  ASSERT_TRUE(made) << made.error().text();
  ASSERT_EQ(made->size(), 2u);
  EXPECT_EQ(made->at(0).name, "conv.h");
  EXPECT_EQ(made->at(1).name, "libconv.a");
  const std::string header(made->at(0).bytes.begin(), made->at(0).bytes.end());
  for (const char* words : {"float32, shape [3, 3, 4, 16]", "float32, shape [16]", "CONV_ALIGNMENT",
                            "size_t conv_workspace_bytes(void);", "conv2d 8x8x4"}) {
    EXPECT_NE(header.find(words), std::string::npos) << words << "\n" << header;
  }
  const auto again = [&] { return kernel_files(*built->program, *workload, target, "conv"); };
  // Memory behind an image's bytes is zero, in the library too; no code is there.
  wire::ImageT& image = *built->program->images[0];
  image.cpu->text_bytes += 100'000, image.cpu->memory_bytes += 100'000;
  const auto longer = again();
  ASSERT_TRUE(longer) << longer.error().text();
  EXPECT_GE(longer->at(1).bytes.size(), made->at(1).bytes.size() + 100'000);
  image.entries.back()->offset = image.bytes.size();
  const auto behind = again();
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code, ErrorCode::Malformed);
  const auto refused =
      kernel_files(*built->program, *workload,
                   space::Target::parse(R"({"backend":"opencl_c"})").value(), "conv");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace fettle::network

// Everything that travels: round trips, truncation, byte flips, garbage, other
// versions, and the bounds that a verified buffer must still keep.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <set>

#include "schemas/wire/clip_outcome.h"
#include "schemas/wire/limits.h"
#include "tests/protocol/wire_samples.h"

namespace fettle {
namespace {

// Bytes that end right before a page that cannot be read: an over-read crashes
// even without a sanitizer.
class Guarded {
 public:
  explicit Guarded(std::size_t most)
      : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
        size_((most + page_ - 1) / page_ * page_),
        base_(static_cast<std::uint8_t*>(::mmap(nullptr, size_ + page_, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    ::mprotect(base_ + size_, page_, PROT_NONE);
  }
  ~Guarded() { ::munmap(base_, size_ + page_); }
  Guarded(const Guarded&) = delete;
  ByteView put(ByteView bytes) {
    std::uint8_t* to = base_ + size_ - bytes.size();
    std::copy(bytes.begin(), bytes.end(), to);
    return {to, bytes.size()};
  }

 private:
  std::size_t page_, size_;
  std::uint8_t* base_;
};

// Whether it was accepted, which must itself be well-formed then.
bool decode_hostile(const Decoder& decoder, ByteView bytes) {
  auto accepted = decoder.decode_and_encode(bytes);
  if (!accepted) {
    EXPECT_FALSE(accepted.error().message.empty());
    return false;
  }
  auto again = decoder.decode_and_encode(*accepted);
  EXPECT_TRUE(again.ok()) << decoder.name
                          << " accepted what it then refused: " << again.error().text();
  return true;
}

TEST(Wire, EveryMessageHasASample) {
  std::set<wire::Body> seen;
  for (const auto& sample : message_samples()) seen.insert(decode_message(sample.bytes)->body.type);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(wire::Body::MAX));
}

TEST(Wire, RoundTripsKeepEveryByte) {
  for (const auto& decoder : decoders()) {
    for (const auto& sample : decoder.samples) {
      auto again = decoder.decode_and_encode(sample.bytes);
      ASSERT_TRUE(again.ok()) << sample.name << ": " << again.error().text();
      EXPECT_EQ(*again, sample.bytes) << sample.name;
    }
  }
}

TEST(Wire, AnyAlignmentWillDo) {
  for (const auto& decoder : decoders()) {
    for (const auto& sample : decoder.samples) {
      for (std::size_t shift = 0; shift < 16; ++shift) {
        Bytes shifted(shift, 0);
        shifted.insert(shifted.end(), sample.bytes.begin(), sample.bytes.end());
        auto again = decoder.decode_and_encode(ByteView(shifted).subspan(shift));
        ASSERT_TRUE(again.ok()) << sample.name << " at offset " << shift;
        EXPECT_EQ(*again, sample.bytes) << sample.name << " at offset " << shift;
      }
    }
  }
}

TEST(Wire, TruncationIsRefusedOrHarmless) {
  for (const auto& decoder : decoders()) {
    for (const auto& sample : decoder.samples) {
      Guarded guarded(sample.bytes.size());
      for (std::size_t size = 0; size < sample.bytes.size(); ++size) {
        decode_hostile(decoder, guarded.put(ByteView(sample.bytes).first(size)));
      }
      // Without its last half nothing can be whole.
      EXPECT_FALSE(
          decoder.decode_and_encode(ByteView(sample.bytes).first(sample.bytes.size() / 2)).ok())
          << sample.name;
    }
  }
}

TEST(Wire, FlippedBytesAreRefusedOrHarmless) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  for (const auto& decoder : decoders()) {
    for (const auto& sample : decoder.samples) {
      Guarded guarded(sample.bytes.size());
      for (std::size_t at = 0; at < sample.bytes.size(); ++at) {
        for (const std::uint8_t value :
             {std::uint8_t(0), std::uint8_t(0xff), std::uint8_t(0x7f), std::uint8_t(random()),
              std::uint8_t(sample.bytes[at] + 1)}) {
          Bytes mutated = sample.bytes;
          mutated[at] = value;
          decode_hostile(decoder, guarded.put(mutated));
        }
      }
    }
  }
}

TEST(Wire, RandomBytesAreRefused) {
  const std::uint32_t seed = std::random_device{}();
  std::printf("seed %u\n", seed);
  std::mt19937 random(seed);
  Guarded guarded(4096);
  for (const auto& decoder : decoders()) {
    const Bytes& sample = decoder.samples.front().bytes;
    int accepted = 0;
    for (int i = 0; i < 3000; ++i) {
      Bytes bytes(random() % 600);
      for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random());
      // What it looks for first.
      if (bytes.size() >= 8 && i % 3 == 0) std::copy_n(&sample[4], 4, &bytes[4]);
      if (bytes.size() >= 8 && i % 5 == 0) {  // a root offset that lies inside
        const auto root = static_cast<std::uint32_t>(random() % bytes.size());
        for (int b = 0; b < 4; ++b) bytes[b] = static_cast<std::uint8_t>(root >> (8 * b));
      }
      accepted += decode_hostile(decoder, guarded.put(bytes));
    }
    // A table's distance from its vtable is four bytes, of which few values lie inside.
    EXPECT_EQ(accepted, 0) << decoder.name;
    EXPECT_FALSE(decoder.decode_and_encode({}).ok()) << decoder.name;
  }
}

TEST(Wire, AnotherVersionsFileIsCalledThat) {
  Bytes bytes = message_samples().front().bytes;
  bytes[7] = '9';  // "FMS9"
  auto message = decode_message(bytes);
  ASSERT_FALSE(message.ok());
  EXPECT_EQ(message.error().code, ErrorCode::VersionMismatch);
  auto program = decode_program(bytes);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::VersionMismatch);
}

// 100,000 references to one string of 100,000 bytes: half a MiB that verifies and
// would unpack into 10 GB.
TEST(Wire, AMessageThatUnpacksIntoGigabytesIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString(std::string(100'000, 'x'));
  const auto context = builder.CreateVector(std::vector(100'000, text));
  const auto error = wire::CreateError(builder, ErrorCode::Internal, 0, context);
  const auto reject = wire::CreateReject(builder, error);
  wire::FinishMessageBuffer(builder,
                            wire::CreateMessage(builder, wire::Body::Reject, reject.Union()));
  auto message = decode_message({builder.GetBufferPointer(), builder.GetSize()});
  ASSERT_FALSE(message.ok());
  EXPECT_EQ(message.error().code, ErrorCode::TooLarge);
}

TEST(Wire, SharedTablesAndVectorsCountEachTime) {
  flatbuffers::FlatBufferBuilder builder;
  const auto bytes = builder.CreateVector(Bytes(100'000, 1));
  const auto image = wire::CreateImage(builder, wire::ImageKind::Ptx, bytes);
  const auto images = builder.CreateVector(std::vector(50'000, image));
  builder.Finish(wire::CreateProgram(builder, 0, images), "FPRG");
  auto program = decode_program({builder.GetBufferPointer(), builder.GetSize()});
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().code, ErrorCode::TooLarge);
}

// Four 64-bit numbers where only 32-bit ones may lie: the verifier lets them pass.
TEST(Wire, MisalignedElementsAreRefused) {
  int refused = 0;
  for (const std::size_t padding : {0u, 1u}) {
    flatbuffers::FlatBufferBuilder builder;
    builder.CreateVector(std::vector<std::uint32_t>(padding));
    const auto words = builder.CreateVector(std::vector<std::uint32_t>(8));
    auto* length = builder.GetCurrentBufferPointer() + builder.GetSize() - words.o;
    flatbuffers::WriteScalar<std::uint32_t>(length, 4);
    const auto leases = flatbuffers::Offset<flatbuffers::Vector<std::uint64_t>>(words.o);
    const auto beat = wire::CreateHeartbeat(builder, 1, leases);
    wire::FinishMessageBuffer(builder,
                              wire::CreateMessage(builder, wire::Body::Heartbeat, beat.Union()));
    auto message = decode_message({builder.GetBufferPointer(), builder.GetSize()});
    if (message.ok()) continue;
    EXPECT_EQ(message.error().code, ErrorCode::Malformed) << message.error().text();
    EXPECT_NE(message.error().text().find("aligned"), std::string::npos);
    ++refused;
  }
  EXPECT_EQ(refused, 1) << "one of the two lies at a multiple of 8";
}

TEST(Wire, AMessageOfAnUnknownKindIsRefused) {
  flatbuffers::FlatBufferBuilder builder;
  const auto release = wire::CreateRelease(builder, 3);
  wire::FinishMessageBuffer(
      builder, wire::CreateMessage(builder, static_cast<wire::Body>(200), release.Union()));
  auto message = decode_message({builder.GetBufferPointer(), builder.GetSize()});
  ASSERT_FALSE(message.ok());
}

TEST(Wire, ANestedRequestIsVerifiedWithItsMessage) {
  wire::SubmitT submit;
  submit.request = Bytes(64, 0xff);
  EXPECT_FALSE(decode_message(encode(message_of(std::move(submit)))).ok());
  wire::DoneT done;
  done.outcome = Bytes(64, 0xff);
  EXPECT_FALSE(decode_message(encode(message_of(std::move(done)))).ok());
}

// Each breaks one bound of a well-formed request.
TEST(Wire, BoundsHold) {
  using Break = std::function<void(wire::MeasureRequestT&)>;
  const double nan = std::nan("");
  const std::pair<const char*, Break> breaks[] = {
      {"no launch", [](auto& r) { r.program->launches.clear(); }},
      {"empty buffer", [](auto& r) { r.program->buffers[0]->bytes = 0; }},
      {"huge buffer", [](auto& r) { r.program->buffers[0]->bytes = limits::kBufferBytes + 1; }},
      {"sum overflows", [](auto& r) { r.program->buffers[0]->bytes = ~0ull; }},
      {"odd alignment", [](auto& r) { r.program->buffers[0]->alignment = 24; }},
      {"no alignment", [](auto& r) { r.program->buffers[0]->alignment = 0; }},
      {"bytes of another size",
       [](auto& r) {
         r.program->buffers[0]->fill->blob = nullptr;
         r.program->buffers[0]->fill->bytes = {1, 2, 3};
       }},
      {"blob and bytes",
       [](auto& r) {
         auto& buffer = *r.program->buffers[0];
         buffer.fill->bytes.assign(buffer.bytes, 1);
       }},
      {"bytes of a random fill",
       [](auto& r) {
         auto& buffer = *r.program->buffers[1];
         buffer.fill->bytes.assign(buffer.bytes, 1);
       }},
      {"blob fill without a hash", [](auto& r) { r.program->buffers[0]->fill->blob = nullptr; }},
      {"fill from NaN", [nan](auto& r) { r.program->buffers[1]->fill->low = nan; }},
      {"empty fill range", [](auto& r) { r.program->buffers[1]->fill->low = 2; }},
      {"image without bytes", [](auto& r) { r.program->images[0]->bytes.clear(); }},
      {"CPU image without layout", [](auto& r) { r.program->images[0]->cpu = nullptr; }},
      {"text beyond memory", [](auto& r) { r.program->images[0]->cpu->text_bytes = 1 << 20; }},
      {"bytes beyond memory", [](auto& r) { r.program->images[0]->bytes.resize(70'000); }},
      {"data inside text", [](auto& r) { r.program->images[0]->cpu->data_offset = 0; }},
      {"data off its boundary", [](auto& r) { r.program->images[0]->cpu->data_offset = 65'537; }},
      {"code outside text", [](auto& r) { r.program->images[0]->cpu->code = {{0, 1 << 20}}; }},
      {"code backwards", [](auto& r) { r.program->images[0]->cpu->code = {{8, 4}}; }},
      {"code twice", [](auto& r) { r.program->images[0]->cpu->code = {{0, 8}, {4, 8}}; }},
      {"relocation outside", [](auto& r) { r.program->images[0]->cpu->relocations = {65'600}; }},
      {"relocation far outside", [](auto& r) { r.program->images[0]->cpu->relocations = {~0ull}; }},
      {"odd relocation", [](auto& r) { r.program->images[0]->cpu->relocations = {2}; }},
      {"entry outside", [](auto& r) { r.program->images[0]->entries[0]->offset = 256; }},
      {"entry behind the bytes", [](auto& r) { r.program->images[0]->bytes.resize(17); }},
      {"launch of no image", [](auto& r) { r.program->launches[0]->image = 3; }},
      {"launch of no entry", [](auto& r) { r.program->launches[0]->entry = 1; }},
      {"no parallel extent", [](auto& r) { r.program->launches[0]->parallel_extent = 0; }},
      {"argument of no buffer",
       [](auto& r) {
         r.program->launches[0]->args[0] = wire::Arg(wire::ArgKind::Buffer, 2, 0, 0, 0);
       }},
      {"argument outside its buffer",
       [](auto& r) {
         r.program->launches[0]->args[0] = wire::Arg(wire::ArgKind::Buffer, 1, 4096, 0, 0);
       }},
      {"argument of no kind",
       [](auto& r) {
         r.program->launches[0]->args[0] = wire::Arg(static_cast<wire::ArgKind>(99), 0, 0, 0, 0);
       }},
      {"too many arguments",
       [](auto& r) { r.program->launches[0]->args.resize(limits::kArgs + 1); }},
      {"relocation of no buffer",
       [](auto& r) { r.program->launches[2]->relocations[0] = wire::Relocation(0, 7, 0); }},
      {"no repeat", [](auto& r) { r.options->repeat = 0; }},
      {"no threads", [](auto& r) { r.options->threads = 0; }},
      {"no timeout", [](auto& r) { r.options->timeout_ms = 0; }},
      {"endless timeout", [](auto& r) { r.options->timeout_ms = limits::kTimeoutMs + 1; }},
      {"NaN interval", [nan](auto& r) { r.options->relative_interval = nan; }},
      {"negative sample length", [](auto& r) { r.options->min_repeat_ms = -1; }},
      {"infinite bound",
       [](auto& r) { r.options->racing_bound_ns = std::numeric_limits<double>::infinity(); }},
      {"bytes past all", [](auto& r) { r.options->read_buffer = 0, r.options->read_bytes = 8189; }},
      {"expected output of no buffer", [](auto& r) { r.expected[0]->buffer = 2; }},
      {"expected output of no blob", [](auto& r) { r.expected[0]->blob = nullptr; }},
      {"negative tolerance", [](auto& r) { r.expected[0]->absolute = -1; }},
      {"NaN tolerance", [nan](auto& r) { r.expected[0]->relative = nan; }},
  };
  ASSERT_TRUE(decode_request(encode(sample_request())).ok());
  auto both = sample_request();  // of the first buffer, and of the output behind it
  both.options->read_buffer = 0, both.options->read_bytes = 8188;
  EXPECT_TRUE(decode_request(encode(both)).ok());
  for (const auto& [name, spoil] : breaks) {
    auto request = sample_request();
    spoil(request);
    auto decoded = decode_request(encode(request));
    EXPECT_FALSE(decoded.ok()) << name;
    if (!decoded) {
      EXPECT_TRUE(decoded.error().code == ErrorCode::Malformed ||
                  decoded.error().code == ErrorCode::TooLarge)
          << name;
    }
  }
}

TEST(Wire, OutcomesMakeSense) {
  const std::pair<const char*, std::function<void(wire::MeasurementT&)>> breaks[] = {
      {"no samples", [](auto& m) { m.samples.clear(); }},
      {"a sample of no runs", [](auto& m) { m.samples[0] = wire::Sample(5, 0); }},
      {"median 0", [](auto& m) { m.median = 0; }},
      {"median NaN", [](auto& m) { m.median = std::nan(""); }},
      {"median without end", [](auto& m) { m.median = INFINITY; }},
      {"an interval from NaN", [](auto& m) { m.interval_low = std::nan(""); }},
      {"an interval without end", [](auto& m) { m.interval_high = INFINITY; }},
      {"a clock without end", [](auto& m) { m.ticks_per_second = INFINITY; }},
      {"a clock that goes back", [](auto& m) { m.ticks_per_second = -1e9; }},
      {"more borrowed than there are", [](auto& m) { m.borrowed = 3; }},
      {"a launch of no time", [](auto& m) { m.launch_ticks = {std::nan("")}; }},
      {"a launch before its time", [](auto& m) { m.launch_ticks = {-1}; }},
      {"an unknown clock", [](auto& m) { m.clock = static_cast<wire::ClockDomain>(200); }},
  };
  for (const auto& [name, spoil] : breaks) {
    auto outcome = sample_measurement();
    spoil(*outcome.body.AsMeasurement());
    EXPECT_FALSE(decode_outcome(encode(outcome)).ok()) << name;
  }
  for (const bool unknown_code : {true, false}) {
    auto failure = make_failure(wire::Stage::Run, {ErrorCode::Crash, "signal 11", {}});
    if (unknown_code)
      failure.error->code = static_cast<ErrorCode>(200);
    else
      failure.stage = static_cast<wire::Stage>(200);
    wire::OutcomeT outcome;
    outcome.body.Set(std::move(failure));
    const auto decoded = decode_outcome(encode(outcome));
    ASSERT_FALSE(decoded.ok()) << (unknown_code ? "code" : "stage");
    EXPECT_NE(decoded.error().message.find("200"), std::string::npos) << decoded.error().text();
    EXPECT_NE(decoded.error().message.find("signal 11"), std::string::npos);
  }
  flatbuffers::FlatBufferBuilder empty;  // a table without its required body
  empty.Finish(flatbuffers::Offset<wire::Outcome>(empty.EndTable(empty.StartTable())));
  EXPECT_FALSE(decode_outcome({empty.GetBufferPointer(), empty.GetSize()}).ok());
}

// All that each list may have is more than one message takes.
TEST(Wire, OutcomesFitIntoAMessage) {
  auto outcome = sample_measurement();
  auto& measured = *outcome.body.AsMeasurement();
  EXPECT_TRUE(encode_to_send(outcome, limits::kOutcomeBytes).ok());
  measured.samples.assign(limits::kSamples, wire::Sample(5, 1));
  EXPECT_TRUE(encode_to_send(outcome, limits::kOutcomeBytes).ok());
  measured.launch_ticks.assign(limits::kLaunches, 1);
  measured.read.assign(limits::kPieceBytes, 1);
  EXPECT_TRUE(decode_outcome(encode(outcome)).ok()) << "each list is within its bound";
  const auto large = encode_to_send(outcome, limits::kOutcomeBytes);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::TooLarge);

  wire::MeasureOptionsT options;
  options.repeat = limits::kSamples;
  EXPECT_TRUE(check_options(options).ok());
  options.read_bytes = limits::kPieceBytes;
  ASSERT_FALSE(check_options(options).ok()) << "who asks for so much is told before it runs";
  EXPECT_EQ(check_options(options).error().code, ErrorCode::TooLarge);
}

TEST(Frames, PassThroughAPipeAndKeepTheirLimit) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Bytes bytes = {1, 2, 3, 4, 5};
  ASSERT_TRUE(write_frame(ends[1], bytes).ok());
  ASSERT_TRUE(write_frame(ends[1], {}).ok());
  EXPECT_EQ(*read_frame(ends[0], 5), bytes);
  EXPECT_TRUE(read_frame(ends[0], 5)->empty());
  ASSERT_TRUE(write_frame(ends[1], bytes).ok());
  auto large = read_frame(ends[0], 4);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::TooLarge);
  ::close(ends[1]);
  Bytes rest(16);
  EXPECT_EQ(::read(ends[0], rest.data(), rest.size()), 5);  // nothing of it was read
  auto end = read_frame(ends[0], 4);
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, ErrorCode::Unreachable);
  ::close(ends[0]);
}

}  // namespace
}  // namespace fettle

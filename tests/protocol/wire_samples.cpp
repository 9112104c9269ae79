// Samples with as few default values as the decoders' bounds allow.
#include "tests/protocol/wire_samples.h"

#include <memory>

#include "schemas/wire/content_hash.h"
#include "schemas/wire/limits.h"

namespace fettle {
namespace {

std::unique_ptr<wire::Hash> hash_of(std::uint8_t seed) {
  return std::make_unique<wire::Hash>(content_hash(Bytes{seed}));
}

std::unique_ptr<wire::ErrorT> sample_error() {
  return std::make_unique<wire::ErrorT>(to_wire(
      {ErrorCode::WrongAnswer, "element 7 is 1.5, expected 1.25", {"checking", "running"}}));
}

std::unique_ptr<wire::BoardT> sample_board() {
  auto board = std::make_unique<wire::BoardT>();
  board->id = "0123abcd";
  board->model = "Pynq-Z1";
  board->serial = "S1";
  board->hostname = "pynq";
  board->kernel = "6.1";
  board->agent_version = "0.1.0";
  board->agent_instance = 99;
  return board;
}

std::unique_ptr<wire::DeviceInfoT> sample_device() {
  auto device = std::make_unique<wire::DeviceInfoT>();
  device->key = "pynq";
  device->index = 1;
  device->kind = wire::DeviceKind::Vta;
  device->name = "Cortex-A9 x2";
  device->clock = wire::ClockDomain::AcceleratorCycles;
  device->clock_hz = 1e8;
  device->memory_limit_bytes = 1 << 28;
  device->sandbox = wire::Sandbox::Strict;
  device->queue_depth = 3;
  device->emulated = true;
  device->cpu = std::make_unique<wire::CpuFactsT>();
  device->cpu->arch = "armv7";
  device->cpu->triple = "armv7-linux-gnueabihf";
  device->cpu->cpu = "cortex-a9";
  device->cpu->features = {"neon", "vfp3"};
  device->cpu->vector_bits = 128;
  device->cpu->cores = {0, 1};
  device->cpu->max_khz = 650'000;
  device->cpu->page_bytes = 4096;
  auto cache = std::make_unique<wire::CacheT>();
  cache->level = 1;
  cache->kind = "data";
  cache->bytes = 32768;
  cache->line_bytes = 32;
  cache->shared_by = 1;
  device->cpu->caches.push_back(std::move(cache));
  device->gpu = std::make_unique<wire::GpuFactsT>();
  device->gpu->vendor = "Arm";
  device->gpu->extensions = {"cl_khr_fp16"};
  device->gpu->compute_units = 4;
  device->fpga = std::make_unique<wire::FpgaFactsT>();
  device->fpga->part = "xc7z020";
  device->fpga->bitstream = hash_of(9);
  device->fpga->clock_khz = 100'000;
  auto extra = std::make_unique<wire::NamedValueT>();
  extra->name = "governor";
  extra->value = "performance";
  device->extra.push_back(std::move(extra));
  device->profile = "pynq-z2";
  device->aliases = {"pynq-z2"};
  return device;
}

std::unique_ptr<wire::ConditionsT> sample_conditions() {
  auto conditions = std::make_unique<wire::ConditionsT>();
  conditions->core = 3;
  conditions->cpu_khz = 1'800'000;
  conditions->governor = "performance";
  conditions->temperature_millidegrees = 41'000;
  conditions->throttle_events = 2;
  conditions->involuntary_switches = 5;
  conditions->load_average = 0.5;
  return conditions;
}

template <typename BodyT>
Sample message(const char* name, BodyT body) {
  return {name, encode(message_of(std::move(body)))};
}

}  // namespace

wire::ProgramT sample_program() {
  wire::ProgramT program;
  program.target = "armv7-linux-gnueabihf";
  auto image = std::make_unique<wire::ImageT>();
  image->kind = wire::ImageKind::CpuImage;
  image->bytes = Bytes(300, 0x5a);
  auto entry = std::make_unique<wire::EntryPointT>();
  entry->name = "conv2d";
  entry->offset = 17;
  image->entries.push_back(std::move(entry));
  image->cpu = std::make_unique<wire::CpuLayoutT>();
  image->cpu->arch = "armv7";
  image->cpu->text_bytes = 256;
  image->cpu->data_offset = 65536;
  image->cpu->memory_bytes = 65536 + 64;
  image->cpu->relocations = {65536, 65540};
  program.images.push_back(std::move(image));
  for (int i = 0; i < 2; ++i) {
    auto buffer = std::make_unique<wire::BufferT>();
    buffer->name = i == 0 ? "input" : "output";
    buffer->bytes = 4096;
    buffer->alignment = 128;
    buffer->role = i == 0 ? wire::BufferRole::Constant : wire::BufferRole::Output;
    buffer->fill = std::make_unique<wire::FillT>();
    buffer->fill->kind = i == 0 ? wire::FillKind::Blob : wire::FillKind::UniformReal;
    buffer->fill->dtype = wire::ScalarType::Float16;
    buffer->fill->low = 0.25;
    buffer->fill->high = 1;
    buffer->fill->stream = 2;
    buffer->fill->blob = hash_of(1);
    program.buffers.push_back(std::move(buffer));
  }
  for (const auto kind :
       {wire::ImageKind::Ptx, wire::ImageKind::VtaStream, wire::ImageKind::OpenClSource}) {
    auto other = std::make_unique<wire::ImageT>();
    other->kind = kind;
    other->bytes = Bytes(64, 0x11);
    other->entries.push_back(std::make_unique<wire::EntryPointT>());
    other->entries[0]->name = "other";
    program.images.push_back(std::move(other));
  }
  program.images[2]->configuration = "1x16";
  program.images[3]->build_options = "-cl-fast-relaxed-math";
  auto launch = std::make_unique<wire::LaunchT>();
  launch->args = {wire::Arg(wire::ArgKind::Buffer, 1, 64, 0, 0),
                  wire::Arg(wire::ArgKind::Int, 0, 0, -5, 0),
                  wire::Arg(wire::ArgKind::Real, 0, 0, 0, 2.5),
                  wire::Arg(wire::ArgKind::Int32, 0, 0, -2147483647 - 1, 0),
                  wire::Arg(wire::ArgKind::Float32, 0, 0, 0, 3e38)};
  launch->phase = wire::Phase::Prepare;
  launch->parallel_extent = 56;
  program.launches.push_back(std::move(launch));
  launch = std::make_unique<wire::LaunchT>();
  launch->image = 1;
  launch->grid = std::make_unique<wire::Dim3>(4, 2, 1);
  launch->block = std::make_unique<wire::Dim3>(64, 1, 1);
  launch->shared_bytes = 1024;
  program.launches.push_back(std::move(launch));
  launch = std::make_unique<wire::LaunchT>();
  launch->image = 2;
  launch->relocations = {wire::Relocation(3, 0, 16)};
  program.launches.push_back(std::move(launch));
  program.max_threads = 4;
  return program;
}

wire::MeasureRequestT sample_request() {
  wire::MeasureRequestT request;
  request.program = std::make_unique<wire::ProgramT>(sample_program());
  request.options = std::make_unique<wire::MeasureOptionsT>();
  request.options->number = 3;
  request.options->repeat = 7;
  request.options->min_repeat_ms = 5;
  request.options->racing_bound_ns = 1e6;
  request.options->flush_cache = true;
  request.options->threads = 2;
  request.options->read_buffer = 1;
  request.options->read_offset = 4;
  request.options->read_bytes = 8;
  auto expected = std::make_unique<wire::ExpectedOutputT>();
  expected->buffer = 1;
  expected->dtype = wire::ScalarType::Float32;
  expected->blob = hash_of(2);
  expected->absolute = 1e-4;
  expected->relative = 1e-5;
  request.expected.push_back(std::move(expected));
  return request;
}

wire::OutcomeT sample_measurement() {
  wire::MeasurementT measurement;
  measurement.clock = wire::ClockDomain::Instructions;
  measurement.ticks_per_second = 1e9;
  measurement.number = 3;
  measurement.samples = {wire::Sample(3000, 3), wire::Sample(3030, 3)};
  measurement.disturbed = 2;
  measurement.borrowed = 1;
  measurement.launch_ticks = {600, 405.5};
  measurement.read = {1, 2, 3};
  measurement.median = 1005;
  measurement.interval_low = 1000;
  measurement.interval_high = 1010;
  measurement.censored = true;
  measurement.before = sample_conditions();
  measurement.after = sample_conditions();
  measurement.lowest = sample_conditions();
  measurement.highest = sample_conditions();
  wire::OutcomeT outcome;
  outcome.body.Set(std::move(measurement));
  outcome.times = std::make_unique<wire::StageTimesT>();
  outcome.times->queue_ns = 1;
  outcome.times->upload_ns = 2;
  outcome.times->run_ns = 3;
  outcome.times->total_ns = 9;
  outcome.board_id = "0123abcd";
  outcome.device_index = 1;
  return outcome;
}

wire::OutcomeT sample_failure() {
  wire::OutcomeT outcome;
  outcome.body.Set(make_failure(wire::Stage::Check, from_wire(*sample_error())));
  outcome.board_id = "0123abcd";
  return outcome;
}

std::vector<Sample> message_samples() {
  std::vector<Sample> all;
  wire::HelloT hello;
  hello.protocol_version = limits::kProtocolVersion;
  hello.software_version = "0.1.0";
  hello.role = wire::Role::Agent;
  hello.instance = 42;
  hello.board = sample_board();
  hello.devices.push_back(sample_device());
  hello.leases = {1, 2, 3};
  all.push_back(message("Hello", std::move(hello)));
  wire::WelcomeT welcome;
  welcome.protocol_version = limits::kProtocolVersion;
  welcome.broker_instance = 7;
  welcome.heartbeat_ms = 1000;
  welcome.silence_ms = 10'000;
  all.push_back(message("Welcome", std::move(welcome)));
  wire::RejectT reject;
  reject.error = sample_error();
  all.push_back(message("Reject", std::move(reject)));
  all.push_back(message("HelloNeeded", wire::HelloNeededT{}));
  wire::HeartbeatT heartbeat;
  heartbeat.instance = 42;
  heartbeat.leases = {5, 6};
  all.push_back(message("Heartbeat", std::move(heartbeat)));
  all.push_back(message("Goodbye", wire::GoodbyeT{}));
  wire::OpenSessionT open;
  open.session = 3;
  open.device_key = "pynq";
  open.name = "resnet-18";
  open.priority = -2;
  all.push_back(message("OpenSession", std::move(open)));
  wire::SessionOpenedT opened;
  opened.session = 3;
  opened.broker_instance = 7;
  opened.board = sample_board();
  opened.device = sample_device();
  opened.boards = 2;
  opened.error = sample_error();
  all.push_back(message("SessionOpened", std::move(opened)));
  wire::CloseSessionT close;
  close.session = 3;
  all.push_back(message("CloseSession", std::move(close)));
  wire::SubmitT submit;
  submit.session = 3;
  submit.trial = 8;
  submit.blobs = {*hash_of(1), *hash_of(2)};
  submit.request = encode(sample_request());
  submit.board_id = "0123abcd";
  all.push_back(message("Submit", std::move(submit)));
  wire::BlobsWantedT wanted;
  wanted.hashes = {*hash_of(1)};
  all.push_back(message("BlobsWanted", std::move(wanted)));
  wire::PutBlobT put;
  put.hash = hash_of(1);
  put.bytes = {1};
  put.offset = limits::kPieceBytes;
  put.total = limits::kPieceBytes + 1;
  all.push_back(message("PutBlob", std::move(put)));
  wire::CancelT cancel;
  cancel.session = 3;
  cancel.trial = 8;
  all.push_back(message("Cancel", std::move(cancel)));
  wire::CompletedT completed;
  completed.session = 3;
  completed.trial = 8;
  completed.attempt = 2;
  completed.outcome = encode(sample_measurement());
  all.push_back(message("Completed", std::move(completed)));
  all.push_back(message("ListDevices", wire::ListDevicesT{}));
  wire::DeviceListT list;
  auto status = std::make_unique<wire::DeviceStatusT>();
  status->key = "pynq";
  status->total = 3;
  status->free = 1;
  status->pending = 5;
  status->boards.push_back(sample_board());
  status->devices.push_back(sample_device());
  auto standing = std::make_unique<wire::BoardStandingT>();
  standing->name = "pynq-3";
  standing->reserved_for = "alice";
  standing->reserved_seconds = 7200;
  standing->reserved_note = "paper";
  standing->drift = 0.25;
  status->standings.push_back(std::move(standing));
  list.keys.push_back(std::move(status));
  auto waits = std::make_unique<wire::SessionStatusT>();
  waits->name = "tune";
  waits->client = "alice";
  waits->device_key = "pynq";
  waits->priority = -5;
  waits->passed_over = 3;
  waits->waiting = 40;
  list.sessions.push_back(std::move(waits));
  all.push_back(message("DeviceList", std::move(list)));
  wire::AssignT assign;
  assign.lease = 11;
  assign.device_index = 1;
  assign.session = 5;
  assign.request = encode(sample_request());
  all.push_back(message("Assign", std::move(assign)));
  wire::ReleaseT release;
  release.lease = 11;
  all.push_back(message("Release", std::move(release)));
  wire::DoneT done;
  done.lease = 11;
  done.outcome = encode(sample_failure());
  all.push_back(message("Done", std::move(done)));
  wire::ReserveBoardT reserve;
  reserve.board = "pynq-3";
  reserve.seconds = 7200;
  reserve.note = "paper";
  all.push_back(message("ReserveBoard", std::move(reserve)));
  wire::ReleaseBoardT give_back;
  give_back.board = "pynq-3";
  all.push_back(message("ReleaseBoard", std::move(give_back)));
  wire::BoardAnswerT answer;
  answer.board_id = "0123abcd";
  answer.name = "pynq-3";
  answer.seconds = 7200;
  all.push_back(message("BoardAnswer", std::move(answer)));
  return all;
}

std::vector<Sample> build_message_samples() {
  std::vector<Sample> all;
  wire::BuildMessageT message;
  wire::BuildRequestT request;
  request.id = 4;
  request.workload = request.target = request.configuration = "{}";
  message.body.Set(std::move(request));
  all.push_back({"BuildRequest", encode(message)});
  wire::BuildOutputT output;
  output.program = std::make_unique<wire::ProgramT>(sample_program());
  output.program_hash = hash_of(4);
  output.facts = std::make_unique<wire::ProgramFactsT>();
  output.facts->operations = 1e9;
  output.facts->features = {1.5f, 2.5f};
  wire::BuildResultT result;
  result.id = 4;
  result.build_ns = 12;
  result.body.Set(std::move(output));
  message.body.Set(std::move(result));
  all.push_back({"BuildResult of a program", encode(message)});
  wire::BuildResultT failed;
  failed.id = 5;
  failed.body.Set(make_failure(wire::Stage::Build, {ErrorCode::BuildError, "no", {"lowering"}}));
  message.body.Set(std::move(failed));
  all.push_back({"BuildResult of a failure", encode(message)});
  return all;
}

namespace {
template <typename Native>
std::function<Result<Bytes>(ByteView)> again(Result<Native> (*decode)(ByteView)) {
  return [decode](ByteView bytes) -> Result<Bytes> {
    auto native = decode(bytes);
    if (!native) return std::move(native).error();
    return encode(*native);
  };
}
}  // namespace

std::vector<Decoder> decoders() {
  return {
      {"decode_message", again(&decode_message), message_samples()},
      {"decode_build_message", again(&decode_build_message), build_message_samples()},
      {"decode_program", again(&decode_program), {{"Program", encode(sample_program())}}},
      {"decode_request", again(&decode_request), {{"MeasureRequest", encode(sample_request())}}},
      {"decode_device_info",
       again(&decode_device_info),
       {{"DeviceInfo", encode(*sample_device())}}},
      {"decode_outcome",
       again(&decode_outcome),
       {{"Outcome of a measurement", encode(sample_measurement())},
        {"Outcome of a failure", encode(sample_failure())}}}};
}

}  // namespace fettle

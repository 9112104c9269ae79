// Bounds of lists and texts in messages (check_message.h).
#include "schemas/wire/check_message.h"

#include <optional>
#include <string>
#include <utility>

#include "schemas/wire/limits.h"

namespace fettle {
namespace {

using Text = flatbuffers::String;
using Texts = flatbuffers::Vector<flatbuffers::Offset<Text>>;

// The first field over its bound is told, the others are not looked at.
class Bounds {
 public:
  template <typename Vector>
  void list(const Vector* of, std::size_t most, const char* what) {
    if (of != nullptr) size(of->size(), most, what, "entries");
  }
  void text(const Text* text, std::size_t most, const char* what) {
    if (text == nullptr) return;
    size(text->size(), most, what, "bytes");
    texts_ += text->size();
  }
  // Of all texts since the last call; each takes some bytes beside its own.
  void all_texts(std::size_t most, const char* what) {
    size(std::exchange(texts_, 0), most, what, "bytes");
  }
  void texts(const Texts* of, const char* what) {
    list(of, limits::kListed, what);
    if (of == nullptr || bad_) return;
    for (const Text* each : *of) text(each, limits::kTextBytes, what);
  }
  bool good() const { return !bad_; }
  Result<void> result() && {
    if (bad_) return std::move(*bad_);
    return {};
  }

 private:
  void size(std::size_t size, std::size_t most, const char* what, const char* unit) {
    if (size <= most || bad_) return;
    bad_ = Error{ErrorCode::Malformed, std::string(what) + " of " + std::to_string(size) + " " +
                                           unit + ", at most " + std::to_string(most)};
  }
  std::optional<Error> bad_;
  std::size_t texts_ = 0;
};

void check_error(Bounds& bounds, const wire::Error* error) {
  if (error == nullptr) return;
  bounds.text(error->message(), limits::kErrorBytes, "an error's message");
  bounds.texts(error->context(), "an error's context");
}

void check_board(Bounds& bounds, const wire::Board* board) {
  if (board == nullptr) return;
  bounds.text(board->id(), limits::kKeyBytes, "a board's id");
  for (const Text* text : {board->model(), board->serial(), board->hostname(), board->kernel(),
                           board->agent_version()}) {
    bounds.text(text, limits::kTextBytes, "a board's description");
  }
}

void check_device(Bounds& bounds, const wire::DeviceInfo* device) {
  constexpr const char* kWhat = "a device's description";
  const auto facts = [&](std::initializer_list<const Text*> texts) {
    for (const Text* text : texts) bounds.text(text, limits::kTextBytes, kWhat);
  };
  facts({device->key(), device->name(), device->profile()});
  bounds.texts(device->aliases(), "a device's other keys");
  bounds.list(device->extra(), limits::kListed, kWhat);
  if (bounds.good() && device->extra() != nullptr) {
    for (const auto* extra : *device->extra()) facts({extra->name(), extra->value()});
  }
  if (const auto* cpu = device->cpu()) {
    facts({cpu->arch(), cpu->triple(), cpu->cpu()});
    bounds.texts(cpu->features(), "a CPU's features");
    bounds.list(cpu->cores(), limits::kListed, "a CPU's cores");
    bounds.list(cpu->caches(), limits::kListed, "a CPU's caches");
    if (bounds.good() && cpu->caches() != nullptr) {
      for (const auto* cache : *cpu->caches()) facts({cache->kind()});
    }
  }
  if (const auto* gpu = device->gpu()) {
    facts({gpu->vendor(), gpu->api_version(), gpu->driver_version(), gpu->compute_capability(),
           gpu->device_type()});
    bounds.texts(gpu->extensions(), "a GPU's extensions");
    bounds.list(gpu->max_block(), limits::kListed, kWhat);
    bounds.list(gpu->max_grid(), limits::kListed, kWhat);
  }
  if (const auto* fpga = device->fpga()) facts({fpga->part(), fpga->configuration()});
  bounds.all_texts(limits::kDeviceBytes, kWhat);
}

void check_hello(Bounds& bounds, const wire::Hello* hello) {
  bounds.text(hello->software_version(), limits::kTextBytes, "a software's version");
  bounds.list(hello->leases(), limits::kLeases, "a list of leases");
  bounds.list(hello->devices(), limits::kDevices, "a list of devices");
  check_board(bounds, hello->board());
  bounds.all_texts(limits::kHelloBytes, "a board's description");
  if (!bounds.good() || hello->devices() == nullptr) return;
  for (const auto* device : *hello->devices()) {
    if (bounds.good()) check_device(bounds, device);
  }
}

}  // namespace

Result<void> check_message(const wire::Message& message) {
  Bounds bounds;
  if (const auto* hello = message.body_as_Hello()) {
    check_hello(bounds, hello);
  } else if (const auto* beat = message.body_as_Heartbeat()) {
    bounds.list(beat->leases(), limits::kLeases, "a list of leases");
  } else if (const auto* open = message.body_as_OpenSession()) {
    bounds.text(open->device_key(), limits::kKeyBytes, "a device key");
    bounds.text(open->name(), limits::kTextBytes, "a session's name");
    bounds.text(open->kind(), limits::kKeyBytes, "a kind of devices");
  } else if (const auto* submit = message.body_as_Submit()) {
    bounds.list(submit->blobs(), limits::kRequestBlobs, "a request's list of blobs");
    bounds.text(submit->board_id(), limits::kKeyBytes, "a board's id");
  } else if (const auto* wanted = message.body_as_BlobsWanted()) {
    bounds.list(wanted->hashes(), limits::kRequestBlobs, "a list of blobs");
  } else if (const auto* reject = message.body_as_Reject()) {
    check_error(bounds, reject->error());
  } else if (const auto* opened = message.body_as_SessionOpened()) {
    check_error(bounds, opened->error());
  } else if (const auto* reserve = message.body_as_ReserveBoard()) {
    bounds.text(reserve->board(), limits::kKeyBytes, "a board's name");
    bounds.text(reserve->note(), limits::kNoteBytes, "a reservation's note");
  } else if (const auto* release = message.body_as_ReleaseBoard()) {
    bounds.text(release->board(), limits::kKeyBytes, "a board's name");
  } else if (const auto* answer = message.body_as_BoardAnswer()) {
    check_error(bounds, answer->error());
  }
  return std::move(bounds).result();
}

}  // namespace fettle

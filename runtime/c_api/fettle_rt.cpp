// The C interface over LoadedNetwork (fettle_rt.h). No exception leaves it.
#include "runtime/c_api/fettle_rt.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "runtime/network/loaded_network.h"

using namespace fettle;

struct fettle_network {
  std::unique_ptr<runtime::LoadedNetwork> loaded;
  std::mutex running;
};

namespace {

thread_local std::string last_error;

static_assert(FETTLE_BOOL == static_cast<int>(wire::ScalarType::Bool) &&
              FETTLE_INT64 == static_cast<int>(wire::ScalarType::Int64) &&
              FETTLE_FLOAT16 == static_cast<int>(wire::ScalarType::Float16) &&
              FETTLE_FLOAT64 == static_cast<int>(wire::ScalarType::Float64));

fettle_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return FETTLE_INVALID_ARGUMENT;
    case ErrorCode::NotFound:
      return FETTLE_NOT_FOUND;
    case ErrorCode::Malformed:
    case ErrorCode::TooLarge:
      return FETTLE_MALFORMED;
    case ErrorCode::VersionMismatch:
      return FETTLE_VERSION_MISMATCH;
    case ErrorCode::Unsupported:
    case ErrorCode::WrongConfiguration:
      return FETTLE_UNSUPPORTED;
    case ErrorCode::OutOfMemory:
      return FETTLE_OUT_OF_MEMORY;
    case ErrorCode::Io:
      return FETTLE_IO;
    default:
      return FETTLE_INTERNAL;
  }
}

int failed(const Error& error) {
  last_error = error.text();
  return status_of(error.code);
}

// call() returns a Result<void>.
template <typename Call>
int guarded(Call call) {
  try {
    Result<void> result = call();
    return result ? FETTLE_OK : failed(result.error());
  } catch (const std::bad_alloc&) {
    return failed({ErrorCode::OutOfMemory, "no memory"});
  } catch (const std::exception& caught) {
    return failed({ErrorCode::Internal, caught.what()});
  }
}

Error invalid(std::string what) { return {ErrorCode::InvalidArgument, std::move(what)}; }

// As guarded(), of a network that is there.
template <typename Call>
int guarded_of(const fettle_network* network, Call call) {
  return guarded([&]() -> Result<void> {
    if (!network) return invalid("no network");
    return call();
  });
}

// Copies what both sides know of a struct that begins with its size; its user's size stays.
template <typename Struct>
Result<void> hand_out(Struct from, Struct* to, const char* name) {
  if (!to || to->size < sizeof(std::size_t)) {
    return invalid(std::string(name).append(" without its size"));
  }
  from.size = to->size;
  std::memcpy(to, &from, std::min(to->size, sizeof from));
  return {};
}

Result<runtime::NetworkOptions> options_of(const fettle_options* given) {
  runtime::NetworkOptions out;
  if (!given) return out;
  if (given->size < sizeof(std::size_t)) return invalid("fettle_options without their size");
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (given->size > sizeof(fettle_options) &&
      std::any_of(bytes + sizeof(fettle_options), bytes + given->size,
                  [](unsigned char byte) { return byte != 0; })) {
    return Error{ErrorCode::Unsupported, "an option that this library does not know"};
  }
  fettle_options options{};
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  if (options.core_count > 0 && !options.cores) return invalid("core_count without cores");
  out.threads = options.threads;
  out.cores.assign(options.cores, options.cores + options.core_count);
  out.memory_limit_bytes = options.memory_limit;
  if (options.cpu) out.cpu = options.cpu;
  return out;
}

template <typename Load>
int load_with(const fettle_options* given, fettle_network** network, Load load) {
  return guarded([&]() -> Result<void> {
    if (!network) return invalid("no place for the network");
    *network = nullptr;
    auto options = options_of(given);
    if (!options) return std::move(options).error();
    auto loaded = load(*options);
    if (!loaded) return std::move(loaded).error();
    *network = new fettle_network{std::move(*loaded), {}};
    return {};
  });
}

fettle_tensor tensor_of(const wire::NetworkTensorT& tensor, std::span<const std::uint8_t> data) {
  fettle_tensor out{};
  out.name = tensor.name.c_str();
  out.dtype = static_cast<fettle_dtype>(tensor.dtype);
  out.rank = static_cast<std::uint32_t>(tensor.shape.size());
  out.shape = tensor.shape.data();
  out.bytes = data.size();
  out.data = const_cast<std::uint8_t*>(data.data());
  return out;
}

}  // namespace

extern "C" {

int fettle_load(const char* path, const fettle_options* options, fettle_network** network) {
  return load_with(options, network,
                   [&](const auto& chosen) -> Result<std::unique_ptr<runtime::LoadedNetwork>> {
                     if (!path) return invalid("no path");
                     return runtime::LoadedNetwork::open(path, chosen);
                   });
}

int fettle_load_memory(const void* file, size_t bytes, const fettle_options* options,
                       fettle_network** network) {
  return load_with(options, network, [&](const auto& chosen) {
    return runtime::LoadedNetwork::load({static_cast<const std::uint8_t*>(file), file ? bytes : 0},
                                        chosen);
  });
}

void fettle_free(fettle_network* network) { delete network; }

int fettle_check(fettle_network* network) {
  return guarded_of(network, [&] {
    return check_blobs(network->loaded->description(), network->loaded->file());
  });
}

int fettle_run(fettle_network* network, const void* const* inputs, void* const* outputs,
               uint64_t* layer_ns) {
  return guarded_of(network, [&] {
    const std::lock_guard lock(network->running);
    runtime::LoadedNetwork& loaded = *network->loaded;
    const wire::NetworkT& description = loaded.description();
    for (std::size_t i = 0; inputs && i < description.inputs.size(); ++i) {
      if (inputs[i]) std::memcpy(loaded.input(i).data(), inputs[i], loaded.input(i).size());
    }
    auto ran = loaded.run({layer_ns, layer_ns ? description.layers.size() : 0});
    for (std::size_t i = 0; ran && outputs && i < description.outputs.size(); ++i) {
      if (outputs[i]) std::memcpy(outputs[i], loaded.output(i).data(), loaded.output(i).size());
    }
    return ran;
  });
}

size_t fettle_input_count(const fettle_network* network) {
  return network ? network->loaded->description().inputs.size() : 0;
}
size_t fettle_output_count(const fettle_network* network) {
  return network ? network->loaded->description().outputs.size() : 0;
}
size_t fettle_layer_count(const fettle_network* network) {
  return network ? network->loaded->description().layers.size() : 0;
}

int fettle_input(const fettle_network* network, size_t index, fettle_tensor* tensor) {
  return guarded_of(network, [&]() -> Result<void> {
    const auto& inputs = network->loaded->description().inputs;
    if (index >= inputs.size()) return invalid("no input " + std::to_string(index));
    return hand_out(tensor_of(*inputs[index], network->loaded->input(index)), tensor,
                    "fettle_tensor");
  });
}

int fettle_output(const fettle_network* network, size_t index, fettle_tensor* tensor) {
  return guarded_of(network, [&]() -> Result<void> {
    const auto& outputs = network->loaded->description().outputs;
    if (index >= outputs.size()) return invalid("no output " + std::to_string(index));
    return hand_out(tensor_of(*outputs[index], network->loaded->output(index)), tensor,
                    "fettle_tensor");
  });
}

int fettle_get_layer(const fettle_network* network, size_t index, fettle_layer* layer) {
  return guarded_of(network, [&]() -> Result<void> {
    const auto& layers = network->loaded->description().layers;
    if (index >= layers.size()) return invalid("no layer " + std::to_string(index));
    const wire::NetworkLayerT& from = *layers[index];
    return hand_out(fettle_layer{0, from.title.c_str(), from.operations, from.expected_ns}, layer,
                    "fettle_layer");
  });
}

int fettle_get_memory(const fettle_network* network, fettle_memory* memory) {
  return guarded_of(network, [&] {
    const runtime::NetworkMemoryFigures from = network->loaded->memory();
    return hand_out(
        fettle_memory{0, from.file, from.constants, from.own, from.code, from.arena, from.live},
        memory, "fettle_memory");
  });
}

const char* fettle_name(const fettle_network* network) {
  return network ? network->loaded->description().name.c_str() : "";
}
const char* fettle_target(const fettle_network* network) {
  return network ? network->loaded->description().target.c_str() : "";
}
uint32_t fettle_threads(const fettle_network* network) {
  return network ? network->loaded->threads() : 0;
}

const char* fettle_error(void) { return last_error.c_str(); }
const char* fettle_version(void) { return FETTLE_VERSION; }

}  // extern "C"

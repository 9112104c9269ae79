// Serving workers (fpga_helper.h).
#include "agent/fpga/fpga_helper.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <algorithm>
#include <cstdio>

#include "schemas/wire/content_hash.h"

namespace fettle::agent {
namespace {

constexpr std::size_t kMostClients = 16;
constexpr std::uint64_t kInstructionBytes = 16;

HelperReply refusal(const Error& error) {
  HelperReply reply;
  reply.error = static_cast<std::uint32_t>(error.code);
  put_text(reply.text, error.text());
  return reply;
}

bool is_readable(int fd) {
  pollfd watched{fd, POLLIN, 0};
  return fd >= 0 && poll(&watched, 1, 0) > 0;
}

// Its peer has closed it.
bool is_over(int socket) {
  pollfd watched{socket, POLLIN, 0};
  char byte;
  return poll(&watched, 1, 0) > 0 && ((watched.revents & (POLLHUP | POLLERR)) != 0 ||
                                      recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0);
}

}  // namespace

void FpgaHelper::serve(int listening, int until) {
  until_ = until;
  while (true) {
    std::vector<pollfd> watched = {{until, POLLIN, 0}, {listening, POLLIN, 0}};
    for (const auto& client : clients_) watched.push_back({client->socket.get(), POLLIN, 0});
    if (poll(watched.data(), watched.size(), -1) < 0) continue;  // EINTR
    if (watched[0].revents) break;
    std::vector<Client*> gone;
    for (std::size_t i = 2; i < watched.size(); ++i) {
      Client& client = *clients_[i - 2];
      if (watched[i].revents && !answer(client)) gone.push_back(&client);
    }
    std::erase_if(clients_, [&](const auto& client) {
      return std::find(gone.begin(), gone.end(), client.get()) != gone.end();
    });
    if (watched[1].revents) accept(listening);
  }
  clients_.clear();
}

void FpgaHelper::accept(int listening) {
  OwnedFd socket(::accept4(listening, nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket || clients_.size() >= kMostClients || !is_allowed(socket.get())) return;
  auto client = std::make_unique<Client>();
  client->socket = std::move(socket);
  clients_.push_back(std::move(client));
}

bool FpgaHelper::is_allowed(int socket) const {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0) return false;
  struct stat state{};
  const bool agents =
      stat(root_.path("/var/lib/fettle").c_str(), &state) == 0 && state.st_uid == peer.uid;
  return peer.uid == 0 || peer.uid == geteuid() || agents;
}

bool FpgaHelper::answer(Client& client) {
  const auto request = receive_helper_request(client.socket.get());
  if (!request) return false;
  HelperReply reply;
  switch (request->kind) {
    case HelperRequestKind::Open:
      reply = open(client, *request);
      break;
    case HelperRequestKind::Run:
      reply = run(client, *request);
      break;
    default:
      return false;
  }
  const bool opened = request->kind == HelperRequestKind::Open && reply.error == kNoError;
  return send_helper_reply(client.socket.get(), reply, opened ? client.memory.fd.get() : -1).ok();
}

HelperReply FpgaHelper::open(Client& client, const HelperRequest& request) {
  const std::string key = get_text(request.key);
  const auto device = std::find_if(devices_.begin(), devices_.end(),
                                   [&](const HelperDevice& each) { return each.key == key; });
  if (device == devices_.end()) {
    return refusal(
        {ErrorCode::NotFound, "the FPGA helper's configuration has no accelerator '" + key + "'"});
  }
  // A worker's end may be seen after its successor's beginning.
  for (const auto& other : clients_) {
    if (!other->logic) continue;
    if (other.get() == &client || !is_over(other->socket.get())) {
      return refusal({ErrorCode::Unsupported, "the programmable logic is in use already"});
    }
    other->logic.reset();
    other->memory = {};  // the system may have no other for its successor
  }
  // What is wrong with the configuration is said before what the board lacks.
  const auto bitstream = check_bitstream(root_, device->logic);
  if (!bitstream) return refusal(bitstream.error());
  if (const auto manager = FpgaManager::find(root_); !manager) return refusal(manager.error());
  const vta::RegisterMap& map = vta::register_map(device->logic.design.core);
  auto memory = find_contiguous_memory(root_, device->memory_bytes, map.base);
  if (!memory) return refusal(memory.error());
  if (!memory->cached && !device->emulated) {
    return refusal({ErrorCode::Unsupported,
                    memory->provider + " maps its memory past the CPU's caches, and the "
                                       "accelerator's port (ACP) looks into them: u-dma-buf or "
                                       "zocl is needed"});
  }
  if (memory->address + memory->bytes > (std::uint64_t{1} << 32)) {
    return refusal({ErrorCode::Unsupported, memory->provider + ": its memory lies above 4 GiB"});
  }
  auto logic = ProgrammedLogic::open(root_, device->logic, *bitstream, map_);
  if (!logic) return refusal(logic.error());
  HelperReply reply;
  reply.programmings = logic->programmings();
  reply.bitstream = logic->hash();
  reply.address = memory->address;
  reply.bytes = memory->bytes;
  reply.offset = memory->offset;
  put_text(reply.text, memory->provider);
  std::fprintf(stderr, "fettle-fpga: %s: %s %s (%.16s…), %llu MiB by %s\n", key.c_str(),
               logic->programmings() ? "programmed" : "already loaded:", device->logic.file.c_str(),
               to_hex(logic->hash()).c_str(), static_cast<unsigned long long>(memory->bytes >> 20),
               memory->provider.c_str());
  client.logic.emplace(std::move(*logic));
  client.memory = std::move(*memory);
  return reply;
}

HelperReply FpgaHelper::run(Client& client, const HelperRequest& request) {
  if (!client.logic) {
    return refusal({ErrorCode::InvalidArgument, "no accelerator was opened"});
  }
  const std::uint64_t begin = request.address - client.memory.address;  // huge when below
  const std::uint64_t bytes = request.count * kInstructionBytes;
  if (request.count == 0 || request.address % kInstructionBytes != 0 ||
      begin > client.memory.bytes || bytes > client.memory.bytes - begin) {
    return refusal({ErrorCode::Malformed, "instructions outside of the accelerator's memory"});
  }
  const int socket = client.socket.get();
  auto ticks = client.logic->run(static_cast<std::uint32_t>(request.address), request.count,
                                 request.limit, [&]() -> Result<void> {
                                   if (is_readable(until_))
                                     return Error{ErrorCode::Canceled, "the FPGA helper ends"};
                                   if (!is_over(socket)) return {};
                                   return Error{ErrorCode::Canceled, "the worker ended"};
                                 });
  if (!ticks) {
    std::fprintf(stderr, "fettle-fpga: %s\n", ticks.error().text().c_str());
    return refusal(ticks.error());
  }
  HelperReply reply;
  reply.ticks = *ticks;
  return reply;
}

}  // namespace fettle::agent

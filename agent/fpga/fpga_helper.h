// The FPGA helper: the one process that may do what needs root. It programs the bitstreams that its
// own configuration names, opens contiguous memory for workers, and drives the accelerator's
// registers: a worker has a mapping of that memory, and tells which instructions in it to run.
#pragma once

#include <memory>
#include <vector>

#include "agent/fpga/contiguous_memory.h"
#include "agent/fpga/helper_protocol.h"
#include "agent/fpga/programmed_logic.h"

namespace fettle::agent {

// An accelerator that workers may ask for.
struct HelperDevice {
  std::string key;
  WantedLogic logic;
  std::uint64_t memory_bytes = 0;
  bool emulated = false;  // where every mapping is coherent
};

class FpgaHelper {
 public:
  FpgaHelper(const SystemRoot& root, std::vector<HelperDevice> devices,
             MapRegisters map = map_registers)
      : root_(root), devices_(std::move(devices)), map_(std::move(map)) {}
  // Answers workers that connect to the socket `listening`, of this process' user, of root or of
  // the agent's own (who owns /var/lib/fettle), until `until` is readable. One at a time has the
  // programmable logic. When a worker ends, so does what it runs.
  void serve(int listening, int until);

 private:
  struct Client {
    OwnedFd socket;
    std::optional<ProgrammedLogic> logic;
    ContiguousPiece memory;  // with the logic
  };
  void accept(int listening);
  bool answer(Client& client);  // false: nothing more comes of it
  HelperReply open(Client& client, const HelperRequest& request);
  HelperReply run(Client& client, const HelperRequest& request);
  bool is_allowed(int socket) const;

  SystemRoot root_;
  std::vector<HelperDevice> devices_;
  MapRegisters map_;
  int until_ = -1;
  std::vector<std::unique_ptr<Client>> clients_;
};

// A helper as a child of this process, with which it ends; the address that workers connect to.
// Call while the process has one thread.
Result<std::string> fork_fpga_helper(const SystemRoot& root, std::vector<HelperDevice> devices);
// A helper in this process until SIGTERM or SIGINT: on the socket that systemd passes. Exit status.
int run_fpga_helper(const SystemRoot& root, std::vector<HelperDevice> devices);
// Where systemd's socket unit listens for one.
inline constexpr const char* kFpgaHelperSocket = "/run/fettle-fpga.socket";

}  // namespace fettle::agent

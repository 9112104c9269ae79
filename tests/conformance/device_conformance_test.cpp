// The suite on the kinds of device that agents have.
#include "tests/conformance/vta_kind.h"
#include "tests/support/agent_candidates.h"
#ifdef FETTLE_CUDA_STAND_IN
#include "agent/device/cuda/cuda_device.h"
#include "agent/device/cuda/cuda_row.h"
#include "tests/support/cuda_candidates.h"
#endif
#ifdef FETTLE_HAS_OPENCL
#include "agent/device/opencl/opencl_device.h"
#include "tests/support/opencl_candidates.h"
#endif
#ifdef FETTLE_HAS_XRT
#include "agent/device/xrt/xrt_device.h"
#include "agent/device/xrt/xrt_row.h"
#include "tests/support/xrt_card.h"
#endif

namespace fettle::agent {
namespace {

wire::ProgramT candidate(CandidateKind kind, std::uint32_t extent) {
  return test::candidate_program(kind, extent);
}

std::string no_candidates() {
  return test::have_candidates() ? "" : "no candidates for this architecture";
}

std::string nothing() { return ""; }
#ifdef FETTLE_CUDA_STAND_IN
constexpr WorkerRow kCudaWorker = {wire::DeviceKind::Cuda, open_cuda, cuda_sandbox};
#endif
#ifdef FETTLE_HAS_XRT
constexpr WorkerRow kXrtWorker = {wire::DeviceKind::Xrt, open_xrt, xrt_sandbox};

// On the card that is played, by XRT itself.
ConformingKind xrt_kind() {
  ConformingKind kind = vta_kind("Xrt", "", test::no_xrt_card);
  kind.kind = wire::DeviceKind::Xrt;
  kind.worker = &kXrtWorker;
  kind.settings = {{kXrtXclbin, test::xclbin_of("pynq")}};
  return kind;
}
#endif
#ifdef FETTLE_HAS_OPENCL
constexpr WorkerRow kOpenClWorker = {wire::DeviceKind::OpenCl, open_opencl, opencl_sandbox};
#endif

const ConformingKind kKinds[] = {
    {"Cpu", wire::DeviceKind::Cpu, true, no_candidates, candidate, test::candidate_answer},
    {"Null", wire::DeviceKind::Null, false, no_candidates, candidate, test::candidate_answer},
    vta_kind("VtaSimulator", "simulator", nothing),
#ifdef FETTLE_HAS_XRT
    xrt_kind(),
#endif
#ifdef FETTLE_CUDA_STAND_IN
    {"CudaStandIn",
     wire::DeviceKind::Cuda,
     true,
     nothing,
     test::cuda_candidate_program,
     test::candidate_answer,
     &kCudaWorker,
     {{kCudaLibrary, FETTLE_CUDA_STAND_IN}}},
    {"Cuda",
     wire::DeviceKind::Cuda,
     true,
     test::why_no_cuda,
     test::cuda_candidate_program,
     test::candidate_answer,
     &kCudaWorker,
     {{kCudaLibrary, "libcuda.so.1"}}},
#endif
#ifdef FETTLE_HAS_OPENCL
    {"OpenCl", wire::DeviceKind::OpenCl, true, test::why_no_opencl, test::opencl_candidate_program,
     test::candidate_answer, &kOpenClWorker},
#endif
};

INSTANTIATE_TEST_SUITE_P(, Conformance, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace fettle::agent

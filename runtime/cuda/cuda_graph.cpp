// Capturing launches (cuda_graph.h).
#include "runtime/cuda/cuda_graph.h"

namespace fettle::runtime {

Result<std::unique_ptr<CudaGraph>> CudaGraph::capture(
    const CudaDriver& driver, CUstream stream, const std::function<Result<void>()>& launch_all) {
  const CudaCalls& call = driver.call();
  if (!driver.has_graphs()) return Error{ErrorCode::Unsupported, "this driver has no graphs"};
  auto begun = driver.check(call.begin_capture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                            "cuStreamBeginCapture");
  if (!begun) return std::move(begun).error();
  auto launched = launch_all();
  // In any case: the stream would stay a recorder.
  CUgraph graph = nullptr;
  auto ended = driver.check(call.end_capture(stream, &graph), "cuStreamEndCapture");
  if (!launched) return std::move(launched).error();
  if (!ended) return std::move(ended).error();
  std::unique_ptr<CudaGraph> out(new CudaGraph(driver, stream));
  auto made = driver.check(
      call.instantiate ? call.instantiate(&out->ready_, graph, 0)
                       : call.instantiate_with_log(&out->ready_, graph, nullptr, nullptr, 0),
      "cuGraphInstantiate");
  call.destroy_graph(graph);
  if (!made) return std::move(made).error();
  // Else the first launch would bring it there.
  if (call.upload_graph) {
    if (auto there = driver.check(call.upload_graph(out->ready_, stream), "cuGraphUpload");
        !there) {
      return std::move(there).error();
    }
  }
  return out;
}

CudaGraph::~CudaGraph() {
  if (ready_) driver_.call().destroy_ready_graph(ready_);
}

Result<void> CudaGraph::launch() const {
  return driver_.check(driver_.call().launch_graph(ready_, stream_), "cuGraphLaunch");
}

}  // namespace fettle::runtime

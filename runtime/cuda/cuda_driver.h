// NVIDIA's driver, loaded when it is wanted, through its C interface alone: the calls that
// are used here, and what its errors mean for a candidate.
#pragma once

#include <cuda.h>
#include <memory>
#include <string>

#include "schemas/wire/result.h"

namespace fettle::runtime {

// The interface's own names without "cu". Versions ("_v2") are those that drivers have from
// CUDA 10.2 (JetPack 4) on, whichever cuda.h this is built with.
struct CudaCalls {
  CUresult (*init)(unsigned);
  CUresult (*driver_version)(int*);
  CUresult (*error_name)(CUresult, const char**);
  CUresult (*error_string)(CUresult, const char**);
  CUresult (*device_count)(int*);
  CUresult (*device)(CUdevice*, int);
  CUresult (*device_name)(char*, int, CUdevice);
  CUresult (*device_attribute)(int*, CUdevice_attribute, CUdevice);
  CUresult (*device_memory)(std::size_t*, CUdevice);
  CUresult (*create_context)(CUcontext*, unsigned, CUdevice);
  CUresult (*create_stream)(CUstream*, unsigned);
  CUresult (*synchronize)(CUstream);
  CUresult (*allocate)(CUdeviceptr*, std::size_t);
  CUresult (*free)(CUdeviceptr);
  CUresult (*allocate_host)(void**, std::size_t);
  CUresult (*upload)(CUdeviceptr, const void*, std::size_t);
  CUresult (*download)(void*, CUdeviceptr, std::size_t);
  CUresult (*set_bytes)(CUdeviceptr, unsigned char, std::size_t, CUstream);
  CUresult (*create_event)(CUevent*, unsigned);
  CUresult (*record_event)(CUevent, CUstream);
  CUresult (*wait_for_event)(CUevent);
  CUresult (*elapsed_ms)(float*, CUevent, CUevent);
  CUresult (*load_module)(CUmodule*, const void*, unsigned, CUjit_option*, void**);
  CUresult (*unload_module)(CUmodule);
  CUresult (*function)(CUfunction*, CUmodule, const char*);
  CUresult (*function_attribute)(int*, CUfunction_attribute, CUfunction);
  CUresult (*set_function_attribute)(CUfunction, CUfunction_attribute, int);
  CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     unsigned, CUstream, void**, void**);
  // Null where the driver has them not.
  CUresult (*pci_bus_id)(char*, int, CUdevice);
  CUresult (*parameter)(CUfunction, std::size_t, std::size_t*, std::size_t*);  // from 12.4 on
  CUresult (*begin_capture)(CUstream, CUstreamCaptureMode);
  CUresult (*end_capture)(CUstream, CUgraph*);
  CUresult (*instantiate)(CUgraphExec*, CUgraph, unsigned long long);  // from 11.4 on
  CUresult (*instantiate_with_log)(CUgraphExec*, CUgraph, CUgraphNode*, char*, std::size_t);
  CUresult (*upload_graph)(CUgraphExec, CUstream);  // from 11.1 on
  CUresult (*launch_graph)(CUgraphExec, CUstream);
  CUresult (*destroy_graph)(CUgraph);
  CUresult (*destroy_ready_graph)(CUgraphExec);
};

class CudaDriver {
 public:
  // The first of `names` (commas between) that loads; ready for its devices to be asked for.
  // NotFound: none does, or it finds no device.
  static Result<std::unique_ptr<CudaDriver>> load(const std::string& names);

  const CudaCalls& call() const { return calls_; }
  // "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY, out of memory", with the code that fits.
  Result<void> check(CUresult result, const char* call) const;
  Error error(CUresult result, const char* call) const;
  // An error came after which every call fails: only a fresh process can go on.
  bool lost() const { return lost_; }
  bool has_graphs() const {
    return calls_.begin_capture && calls_.end_capture && calls_.launch_graph &&
           calls_.destroy_graph && calls_.destroy_ready_graph &&
           (calls_.instantiate || calls_.instantiate_with_log);
  }
  int version() const { return version_; }  // 12060: CUDA 12.6

 private:
  CudaDriver() = default;
  CudaCalls calls_{};
  int version_ = 0;
  mutable bool lost_ = false;
};

}  // namespace fettle::runtime

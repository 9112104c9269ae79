// ONNX's messages, as protobuf makes them; from Debian's libonnx. Nothing else of that library is
// used: its shape inference trusts its input.
#pragma once

#ifndef ONNX_ML
#define ONNX_ML 1
#endif
#ifndef ONNX_NAMESPACE
#define ONNX_NAMESPACE onnx
#endif
#include <onnx/onnx_pb.h>

// Functions that an ONNX model brings itself, put where they are called.
#pragma once

#include "schemas/wire/result.h"

namespace onnx {
class ModelProto;
}

namespace fettle::model {

// Each call becomes the function's nodes; their values are named call1/NAME, call2/NAME and so
// on, "call" longer where the model has such names. Calls within branches and functions too.
// InvalidArgument: functions that call themselves, or that would make more than 2^20 nodes or 1 GiB
// of them. Unsupported: one of another opset than the model's.
Result<void> inline_local_functions(onnx::ModelProto& model);

}  // namespace fettle::model

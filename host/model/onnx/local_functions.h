// Functions that an ONNX model brings itself, put where they are called.
#pragma once

#include "schemas/wire/result.h"

namespace onnx {
class ModelProto;
}

namespace fettle::model {

// Each call becomes the function's nodes; their values are named CALL/NAME, CALL being the name
// of the call's first output. Calls within branches and functions too. InvalidArgument: functions
// that call themselves, or that would make more than 2^20 nodes. Unsupported: one of another opset
// than the model's.
Result<void> inline_local_functions(onnx::ModelProto& model);

}  // namespace fettle::model

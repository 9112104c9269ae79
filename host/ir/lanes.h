// Values of the interpreter: up to 128 lanes, what one operation makes of a lane, and how
// lanes lie in memory.
#pragma once

#include <string>

#include "host/ir/expr.h"

namespace fettle::ir {

inline constexpr int kMostLanes = 128;

// Lanes are integers or doubles, as the type says.
struct Value {
  DataType type;
  union {
    std::int64_t i[kMostLanes];
    double f[kMostLanes];
  };
  Value() {}
};

// What went wrong; stops the run. Never seen outside the interpreter.
struct Stop {
  std::string what;
};

// `value` as the type rounds it.
double round_to(double value, Scalar scalar);

// Lane `l` of `out`, changed in place. operands: the type of both sides.
void apply(BinaryOp op, DataType operands, Value& out, const Value& b, int l);
void apply(UnaryOp op, DataType type, Value& out, int l);
void cast_lane(DataType from, DataType to, Value& v, int l);

// One element in memory to or from a lane.
void get(DataType type, const std::uint8_t* at, Value& v, int l);
void put(DataType type, std::uint8_t* at, const Value& v, int l);

}  // namespace fettle::ir

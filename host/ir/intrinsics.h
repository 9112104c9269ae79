// Instructions with a shape: one table. A row says what an instruction computes, on tiles of
// which size, from where, and which devices have it; how it is emitted, each back end says in
// one file. The interpreter, the counts and the passes know rows only, no instruction.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "host/ir/operation_count.h"

namespace fettle::ir {

// One execution computes accumulator[m][n] from k products, or whatever the pattern says.
struct Tile {
  int m = 1, n = 1, k = 1;
};

struct Operand {
  const char* name;
  Var element;      // stands for one element in the pattern
  DataType packed;  // what holds its elements in one lane of a call, lowest bits first
  bool along_m, along_n, along_k;  // of the tile's axes, those that its elements lie along
  Scope scope;                     // where the instruction takes it from
};

// Where the instruction exists: with this architecture, or language of a GPU, and all these
// features of Target, for vectors up to so many bits.
struct Availability {
  std::string arch;
  std::vector<std::string> features;
  int most_vector_bits = 1 << 16;
};

struct IntrinsicRow {
  const char* name;
  Tile tile;
  std::vector<Operand> operands;  // a call's arguments; the last is the accumulator
  // An accumulator's element after one step of k, in the operands' elements. Steps follow one
  // another; integers wrap.
  Expr pattern;
  OperationCount operations;  // of one execution
  std::vector<Availability> available;
  int threads = 1;  // that execute it together, by a TileCall; 1: a thread alone, by an Intrinsic
  // Of several threads' rows: where an operand's element stands in the tile, and how fragments lie
  // over the threads: rows of one family take what others of it have made.
  Var m, n, k;
  const char* family = "";

  const Operand& accumulator() const { return operands.back(); }
  bool takes_unsigned() const;  // an operand's elements are unsigned
};

std::span<const IntrinsicRow> intrinsics();
// Rows that exist where `has` says which features there are, in their order.
std::vector<const IntrinsicRow*> intrinsics_of(
    std::string_view arch, int vector_bits,
    const std::function<bool(const std::string& feature)>& has);
const IntrinsicRow* find_intrinsic(std::string_view name);  // null: none
// One thread's row that adds products of elements of these two types. Null: none.
const IntrinsicRow* find_sum_of_products(Scalar a, Scalar b);

// A call, lane by lane: an execution for each lane of the arguments, which have the operands'
// packed types and equally many lanes. Its value is the accumulator's.
Expr intrinsic(const IntrinsicRow& row, std::vector<Expr> args);

// What the pattern adds to the accumulator, or makes of the operands where it adds nothing, found
// in `value`: the loads that stand for the operands but the accumulator, in their order,
// unpredicated and of the elements' types. Empty: another expression. Factors may stand in either
// order.
std::optional<std::vector<const Load*>> operands_of(const IntrinsicRow& row, const Expr& value);

// The reference: what one execution makes of one lane of each operand. Integers only.
std::int64_t execute(const IntrinsicRow& row, std::span<const std::int64_t> operands);

}  // namespace fettle::ir

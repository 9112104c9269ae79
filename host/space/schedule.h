// Schedule: how a compute DAG is computed, as a list of replayable steps that move loops and
// storage. Which algorithm computes it is the DAG's (host/space/algorithms). Each step is plain
// data and is applied at once to the stages and their loop plans; lowering (host/lower) reads
// the result.
#pragma once

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "host/ir/intrinsics.h"
#include "host/ir/stmt.h"
#include "host/space/compute_dag.h"
#include "schemas/wire/result.h"

namespace fettle::space {

// The stage's body replaces every load of it. Not for reductions and outputs.
struct InlineStep {
  std::string stage;
};

// The stage's computation moves to a new stage "<stage>.local"; the stage itself
// becomes a copy of it. For a reduction without a tail, so that it can be tiled
// in registers.
struct CacheWriteStep {
  std::string stage;
};

// `reader` reads `stage` through a copy of it, the new stage "<stage>.<suffix>". The copy can be
// computed at a loop in any scope: what the loop's iterations read is then kept near to them.
struct CacheReadStep {
  std::string stage, reader, suffix;
};

// Layout rewrite of a factor: its axis `axis`, which its one reader reads by an axis of its own
// alone, is cut into tiles, and the factor is copied to
//   [outer…][tile][its other axes before `axis`…][in tile][its axes after `axis`…]
// A constant, or what is made of constants only, is copied once, when the program is loaded;
// an input by a launch before its reader's. The stage that reads it and that stage's reader,
// which must run over the same axis, get the axes "<axis>.tile" and "<axis>.in" in its place.
// The last tile overlaps the one before it where the tile does not divide the axis.
struct PackConstantStep {
  std::string constant, axis;
  std::int64_t tile;
  std::vector<std::string> outer = {};  // axes of the factor that come first
};

// Layout rewrite of what is computed: `axis` of `stage`, and of every stage that reads one so
// cut by an axis of its own alone, down to the output, is cut into the axes "<axis>.tile" and
// "<axis>.in" of `tile` elements, which stand in its place, in memory too. Only the output is
// stored where it was; and what is made of constants only has the tiles outermost and their
// elements innermost, as a packed constant has. The last tile overlaps the one before it where
// the tile does not divide the axis.
struct TileAxisStep {
  std::string stage, axis;
  std::int64_t tile;
};

// A reduction by way of partial results: stage "<stage>.<kind>", with the further data axis
// "<axis>.<kind>" of `parts` elements, combines a part of the reduction axis `axis` each,
// and the stage itself combines those. interleaved: a part is every parts-th element, else
// neighbours. last: where the new axis stands; else it is the first. Where `parts` does not
// divide the axis, or is more than it has, elements past its end count as the neutral one.
struct RfactorStep {
  std::string stage, axis;
  std::int64_t parts;
  std::string kind;
  bool interleaved, last;
};

// The constant is copied once, when the program is loaded, with its axis `axis` innermost;
// its readers read "<constant>.transposed".
struct TransposeConstantStep {
  std::string constant, axis;
};

// The stage is computed inside loop `loop` of `consumer`, for what is read there.
// scope: Register or Thread: one thread's; Global: a scratch area per thread of a CPU;
// BlockShared and an accelerator's memories: what all threads of the block read there, with
// barriers before the readers and before it is computed again.
struct ComputeAtStep {
  std::string stage, consumer, loop;
  ir::Scope scope;
};

// What happens past a loop's end where a split's factor does not divide its extent.
enum class Tail : std::uint8_t {
  // The last iteration of outer begins early and overlaps the one before: values are computed
  // twice, none is guarded. Not for reduction loops, whose factors must divide.
  Overlap,
  // Nothing: iterations past the end do not happen, nor those of stages computed in them.
  Guard,
  // They happen, in storage that is made as much longer; what they read past the end is 0, and
  // in a reduction they count as the neutral element. For loops that are axes, reduced or of
  // stages other than the output, that are stored at their axes; and of what divides by nothing.
  Pad
};

// loop -> outer, inner with inner's extent = factor; at most the loop's extent for tails that
// overlap.
struct SplitStep {
  std::string stage, loop;
  std::int64_t factor;
  std::string outer, inner;
  Tail tail = Tail::Overlap;
};

// Neighbouring loops become one; the first is outermost.
struct FuseStep {
  std::string stage;
  std::vector<std::string> loops;
  std::string fused;
};

// The order of all loops of a stage, outermost first. Loops that are not named
// keep their places behind the named ones.
struct ReorderStep {
  std::string stage;
  std::vector<std::string> loops;
};

// Iterations of the reduction loop `loop` in which the stage reads nothing of
// `producer` but the zeros around a copy (padding) are skipped. The stage is the sum
// of products with one factor from there.
struct SkipZerosStep {
  std::string stage, producer, loop;
};

// Vectorized, Unrolled or Parallel (outermost loop of a stage that is a launch).
struct AnnotateStep {
  std::string stage, loop;
  ir::ForKind kind;
};

// The loop's iterations are run by blocks or by threads of a block. A launch has one size along
// an axis, its longest loop's; in shorter ones the threads beyond do nothing. Stages that
// threads compute together (BlockShared) may bind loops to the same threads as their consumer.
struct BindStep {
  std::string stage, loop;
  ir::ThreadAxis axis;
};

// The innermost loops, as long as the row's tile along m, n and k (those that it has), become one
// instruction. The stage's body is the row's pattern. A row of one thread has one such loop, of a
// sum, along which its operands lie side by side in memory. Operands of a row of several threads
// move by one loop at most in each dimension; it is executed by all threads along x.
struct TensorizeStep {
  std::string stage;
  std::string row;           // name in ir::intrinsics()
  std::string initial = "";  // of a sum by several threads: the row that sets it to zero
};

// Of a serial reduction loop: what stages in memory that a block shares hold for an iteration is
// made while iterations before are computed, in as many places as there are stages. async: by
// copies that go on beside the threads.
struct PipelineStep {
  std::string stage, loop;
  int stages;
  bool async;
};

// What a launch only reads, and by fours of floats, it reads through an image of such fours
// (texels), where there are at most so many. For back ends that have such images.
struct ReadTexelsStep {
  std::int64_t most;
};

using Step = std::variant<InlineStep, CacheWriteStep, CacheReadStep, PackConstantStep, TileAxisStep,
                          RfactorStep, TransposeConstantStep, ComputeAtStep, SplitStep, FuseStep,
                          ReorderStep, SkipZerosStep, AnnotateStep, BindStep, TensorizeStep,
                          PipelineStep, ReadTexelsStep>;
std::string to_string(const Step& step);

struct Loop {
  std::string name;
  ir::Var var;
  ir::ForKind kind = ir::ForKind::Serial;
  bool reduce = false;
  ir::ThreadAxis axis = ir::ThreadAxis::None;  // of a Bound loop
  ir::Pipeline pipeline = {};
};

// How a loop's variable follows from others.
struct SplitRelation {
  ir::Var parent, outer, inner;
  std::int64_t factor;
  bool reduce;
  Tail tail = Tail::Overlap;
};
struct FuseRelation {
  std::vector<ir::Var> parts;
  ir::Var fused;
};
using Relation = std::variant<SplitRelation, FuseRelation>;

// Iterations of `loop` in which one of the conditions, which are comparisons of linear
// forms of the stage's axes, holds at no point, add nothing.
struct Skip {
  ir::Var loop;
  std::vector<ir::Expr> conditions;
};

struct StagePlan {
  bool at = false;  // inside a consumer's loop; else a launch of its own
  std::string consumer;
  ir::Var loop;
  ir::Scope scope = ir::Scope::Global;
  std::vector<Loop> loops;          // outermost first
  std::vector<Relation> relations;  // in the order made
  std::vector<Skip> skips;
  const ir::IntrinsicRow* instruction = nullptr;  // the innermost loops are one of it; null: none
  std::size_t instruction_loops = 0;              // how many those are
  const ir::IntrinsicRow* initial = nullptr;      // what sets its sums to zero; null: stores
};

class Schedule {
 public:
  explicit Schedule(ComputeDag dag);

  // InvalidArgument: a stage or loop that is not there, or a step that does not fit.
  Result<void> apply(const Step& step);

  const ComputeDag& dag() const { return dag_; }
  const StagePlan& plan(const Stage& stage) const { return plans_.at(stage.name); }
  const std::vector<Step>& steps() const { return steps_; }
  std::int64_t texels() const { return texels_; }  // as ReadTexelsStep's; 0: none are read

 private:
  Result<void> run(const InlineStep& step);
  Result<void> run(const CacheWriteStep& step);
  Result<void> run(const CacheReadStep& step);
  Result<void> run(const PackConstantStep& step);
  Result<void> run(const TileAxisStep& step);
  Result<void> run(const RfactorStep& step);
  Result<void> run(const TransposeConstantStep& step);
  Result<void> run(const ComputeAtStep& step);
  Result<void> run(const SplitStep& step);
  Result<void> run(const FuseStep& step);
  Result<void> run(const ReorderStep& step);
  Result<void> run(const SkipZerosStep& step);
  Result<void> run(const AnnotateStep& step);
  Result<void> run(const BindStep& step);
  Result<void> run(const TensorizeStep& step);
  Result<void> run(const PipelineStep& step);
  Result<void> run(const ReadTexelsStep& step);

  int index_of(const std::string& stage) const;  // -1: none
  Loop* find_loop(const std::string& stage, const std::string& loop);
  void plan_afresh(const Stage& stage);  // one serial loop per axis
  // Names of stages that read the buffer.
  std::vector<std::string> readers(const ir::Buffer& buffer) const;

  ComputeDag dag_;
  std::map<std::string, StagePlan> plans_;  // of stages that are not placeholders
  std::vector<Step> steps_;
  std::int64_t texels_ = 0;
};

}  // namespace fettle::space

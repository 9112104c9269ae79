// FunctionEmitter, fourth part: vectors whose lanes are stored apart, several of them to
// neighbouring places. Transposed, they are stored as vectors of neighbours: an image with
// its channels last becomes one with them first, and the other way round. What is read in
// the same manner for them is loaded so.
#include <algorithm>
#include <bit>

#include "host/backend/llvm_emit/function_emitter.h"
#include "host/ir/equal.h"
#include "host/ir/mutator.h"

namespace fettle::backend::llvm_emit {

namespace {

// Loads in the value, in a fixed order.
std::vector<ir::Expr> loads_in(const ir::Expr& value) {
  std::vector<ir::Expr> loads;
  ir::walk(value, [&](const ir::Expr& e) {
    if (std::holds_alternative<ir::Load>(e->node)) loads.push_back(e);
  });
  return loads;
}

bool reads(const ir::Expr& value, const ir::Buffer& buffer) {
  bool found = false;
  ir::walk(value, [&](const ir::Expr& e) {
    const auto* load = std::get_if<ir::Load>(&e->node);
    found |= load && load->buffer == buffer;
  });
  return found;
}

// How much more b is than a, where it is a constant.
std::optional<std::int64_t> distance(const ir::Expr& a, const ir::Expr& b) {
  const ir::LeafSum from = ir::leaf_sum_of(a), to = ir::leaf_sum_of(b);
  const auto all_in = [](const ir::LeafSum& some, const ir::LeafSum& sum) {
    return std::all_of(some.terms.begin(), some.terms.end(), [&](const auto& term) {
      return std::any_of(sum.terms.begin(), sum.terms.end(), [&](const auto& other) {
        return term.second == other.second && ir::equal(term.first, other.first);
      });
    });
  };
  if (from.terms.size() != to.terms.size() || !all_in(from, to) || !all_in(to, from)) {
    return std::nullopt;
  }
  return to.constant - from.constant;
}

}  // namespace

// A power of two; 1: there is nothing to transpose.
std::size_t FunctionEmitter::rows_to_transpose(std::span<const ir::Stmt> stmts) const {
  const auto* first = std::get_if<ir::Store>(&stmts.front()->node);
  if (first == nullptr || first->indices.size() != 1) return 1;
  if (first->buffer->scope != ir::Scope::Global) return 1;
  const int lanes = first->value->type.lanes;
  if (lanes < 2 || !std::has_single_bit(static_cast<unsigned>(lanes))) return 1;
  const std::optional<ir::Strided> begin = ir::strided_lanes(first->indices[0]);
  if (!begin) return 1;
  const std::int64_t most = std::min<std::int64_t>({lanes, begin->stride, std::ssize(stmts)});
  std::size_t rows = 0;
  for (; static_cast<std::int64_t>(rows) < most; ++rows) {
    const auto* store = std::get_if<ir::Store>(&stmts[rows]->node);
    if (store == nullptr || store->buffer != first->buffer || store->indices.size() != 1 ||
        store->predicate != nullptr || store->value->type != first->value->type ||
        reads(store->value, store->buffer)) {
      break;
    }
    const std::optional<ir::Strided> at = ir::strided_lanes(store->indices[0]);
    if (!at || at->stride != begin->stride ||
        distance(begin->base, at->base) != static_cast<std::int64_t>(rows)) {
      break;
    }
  }
  return std::max<std::size_t>(1, std::bit_floor(rows));
}

// Loads of the rows whose lanes lie apart as the stores' do: by vectors of neighbours.
void FunctionEmitter::load_transposed(std::span<const ir::Stmt> rows) {
  std::vector<std::vector<ir::Expr>> loads;
  for (const ir::Stmt& row : rows) loads.push_back(loads_in(std::get<ir::Store>(row->node).value));
  const int lanes = std::get<ir::Store>(rows.front()->node).value->type.lanes;
  for (std::size_t i = 0; i < loads.front().size(); ++i) {
    const ir::Expr& first = loads.front()[i];
    const auto& load = std::get<ir::Load>(first->node);
    const std::optional<ir::Strided> begin = ir::strided_lanes(load.indices.back());
    bool apart = begin && begin->stride >= std::ssize(rows) && first->type.lanes == lanes &&
                 load.buffer->scope == ir::Scope::Global;
    for (std::size_t row = 0; apart && row < rows.size(); ++row) {
      if (i >= loads[row].size()) return;
      const auto& other = std::get<ir::Load>(loads[row][i]->node);
      const std::optional<ir::Strided> at = ir::strided_lanes(other.indices.back());
      apart = other.buffer == load.buffer && other.predicate == nullptr &&
              loads[row][i]->type == first->type && at && at->stride == begin->stride &&
              distance(begin->base, at->base) == static_cast<std::int64_t>(row);
    }
    if (!apart) continue;
    const std::vector<llvm::Value*> vectors =
        transposed_load(load.buffer, *begin, lanes, static_cast<int>(rows.size()));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      transposed_[loads[row][i].get()] =
          builder_.CreateBitCast(vectors[row], memory_type(first->type));
    }
  }
}

// [row][lane] of what lies in memory as [lane][row], lanes a stride apart. `rows` is a power
// of two, at most `lanes`, which is one too.
std::vector<llvm::Value*> FunctionEmitter::transposed_load(const ir::Buffer& buffer,
                                                           const ir::Strided& form, int lanes,
                                                           int rows) {
  llvm::Type* bits = builder_.getIntNTy(static_cast<unsigned>(8 * buffer->type.bytes()));
  llvm::Type* part = llvm::FixedVectorType::get(bits, static_cast<unsigned>(rows));
  std::vector<llvm::Value*> vectors;
  for (int lane = 0; lane < lanes; ++lane) {
    llvm::Align alignment;
    llvm::Value* from = address(buffer, form.base, lane * form.stride, alignment);
    vectors.push_back(builder_.CreateAlignedLoad(part, from, alignment));
  }
  // Neighbours become one vector until it is as long as a row.
  for (int length = rows; length < lanes; length *= 2) {
    std::vector<int> all;
    for (int i = 0; i < 2 * length; ++i) all.push_back(i);
    std::vector<llvm::Value*> joined;
    for (std::size_t i = 0; i < vectors.size(); i += 2) {
      joined.push_back(builder_.CreateShuffleVector(vectors[i], vectors[i + 1], all));
    }
    vectors = std::move(joined);
  }
  // The reverse of the zips in emit_transposed().
  std::vector<int> even, odd;
  for (int i = 0; i < lanes; ++i) even.push_back(2 * i), odd.push_back(2 * i + 1);
  for (int zips = 1; zips < rows; zips *= 2) {
    std::vector<llvm::Value*> halves[2];
    for (std::size_t i = 0; i < vectors.size(); i += 2) {
      halves[0].push_back(builder_.CreateShuffleVector(vectors[i], vectors[i + 1], even));
      halves[1].push_back(builder_.CreateShuffleVector(vectors[i], vectors[i + 1], odd));
    }
    halves[0].insert(halves[0].end(), halves[1].begin(), halves[1].end());
    vectors = std::move(halves[0]);
  }
  return vectors;
}

std::size_t FunctionEmitter::emit_transposed(std::span<const ir::Stmt> stmts) {
  const std::size_t count = rows_to_transpose(stmts);
  if (count < 2) return 0;
  const auto& first = std::get<ir::Store>(stmts.front()->node);
  const int lanes = first.value->type.lanes, n = static_cast<int>(count);
  llvm::Type* bits = builder_.getIntNTy(static_cast<unsigned>(8 * first.buffer->type.bytes()));
  std::vector<llvm::Value*> rows;
  load_transposed(stmts.first(count));
  for (const ir::Stmt& stmt : stmts.first(count)) {
    shared_.clear();
    const ir::Expr& row = std::get<ir::Store>(stmt->node).value;
    llvm::Value* what = to_memory(row->type, value(row));
    if (error_) return count;
    rows.push_back(builder_.CreateBitCast(what, llvm::FixedVectorType::get(bits, lanes)));
  }

  transposed_.clear();

  // Zipping the halves of the rows turns the bits of an element's place (row, lane) by one;
  // once for each bit of the row it is (lane, row).
  std::vector<int> low, high;
  for (int lane = 0; lane < lanes / 2; ++lane) {
    for (const int row : {0, 1}) {
      low.push_back(row * lanes + lane);
      high.push_back(row * lanes + lanes / 2 + lane);
    }
  }
  for (std::size_t zips = 1; zips < count; zips *= 2) {
    std::vector<llvm::Value*> zipped;
    for (std::size_t i = 0; i < count / 2; ++i) {
      for (const auto& half : {low, high}) {
        zipped.push_back(builder_.CreateShuffleVector(rows[i], rows[i + count / 2], half));
      }
    }
    rows = std::move(zipped);
  }

  const ir::Strided form = *ir::strided_lanes(first.indices[0]);
  for (int lane = 0; lane < lanes; ++lane) {
    std::vector<int> part;
    for (int i = 0; i < n; ++i) part.push_back(lane * n % lanes + i);
    llvm::Value* neighbours = rows[static_cast<std::size_t>(lane * n / lanes)];
    if (n < lanes) neighbours = builder_.CreateShuffleVector(neighbours, part);
    llvm::Align alignment;
    llvm::Value* to = address(first.buffer, form.base, lane * form.stride, alignment);
    builder_.CreateAlignedStore(neighbours, to, alignment);
  }
  made_.forget(*first.buffer);
  return count;
}

}  // namespace fettle::backend::llvm_emit

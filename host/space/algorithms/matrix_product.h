// A sum of products as a product of matrices: rows are its spatial axes, columns its channels,
// and what is summed is one axis. Nothing is copied: the two matrices are elementwise stages
// that a schedule computes where they are read (in memory that a block shares), or inlines. Where
// an instruction sums several products of bytes, an element of them is that many steps of the sum.
#pragma once

#include <optional>
#include <string>

#include "host/ir/intrinsics.h"
#include "host/space/compute_dag.h"

namespace fettle::space {

struct MatrixProduct {
  ComputeDag dag;
  // Stages, in the DAG's order: first[batch][k][m], second[batch][k][n], sums[batch][m][n] over k,
  // and what takes the sums, with the same axes: the output with all that is elementwise before
  // it, or the elementwise stage that alone reads the sum, or the sum itself, stored where it was.
  std::string first, second, sums, result;
  bool batched = false;  // there are problems side by side; else there is no axis for them
  std::int64_t batch = 1, m = 1, n = 1, k = 1;  // k: elements along the sum
  const ir::IntrinsicRow* row = nullptr;        // what adds the products of two elements; null: *
};

// k is as long as what is to be summed, or a multiple of `multiple` where there are more than that:
// the rest are zeros. Nothing: the DAG is not one sum of products in which each element of the
// second factor serves several places.
//
// row: of one thread, of sums of products of bytes; its steps become one element of type int32.
// Nothing then also: the sum is none that it computes, or of several axes, none of which has a
// multiple of its steps.
std::optional<MatrixProduct> with_matrix_product(const ComputeDag& dag, std::int64_t multiple,
                                                 const ir::IntrinsicRow* row = nullptr);

// The DAG with the second matrix stored as panels [batch][n / columns][k][n % columns]: what a
// tile of columns reads lies side by side. columns: a divisor of n.
ComputeDag with_panels(const MatrixProduct& product, std::int64_t columns);

}  // namespace fettle::space

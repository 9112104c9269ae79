// What operators share that slide a window over the y and x axes of images.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "host/space/operators/fields.h"
#include "host/space/operators/operator_call.h"
#include "host/space/operators/stages.h"

namespace fettle::space {

// Order of an image's axes: [n][y][x][c] or [n][c][y][x].
enum class Layout { Nhwc, Nchw };
Layout layout_of(const OperatorCall& call);
// What stands at the places of n, y, x and c, in the layout's order.
template <typename T>
std::vector<T> in_layout(Layout layout, T n, T y, T x, T c) {
  if (layout == Layout::Nchw) return {n, c, y, x};
  return {n, y, x, c};
}

// Takes the fields kernel, stride, pad and, where `dilated`, dilation.
void window_fields(Fields& fields, bool dilated);
// Output height and width of checked fields; 0 where the window does not fit.
std::array<std::int64_t, 2> window_output(const nlohmann::json& fields);
std::array<std::int64_t, 2> window_output(const OperatorCall& call);
// Elements of the output of an operator that keeps its field channels.
double window_elements(const OperatorCall& call);
// InvalidArgument: the window is larger than the padded image, or a tensor of
// `channels` channels has more than 2^30 elements.
Result<void> check_window(const char* op, const nlohmann::json& fields, double channels);

// `image` where nothing is padded, else a padded copy of it, appended to the DAG, with
// `outside` around.
Stage padded(ComputeDag& dag, const Stage& image, const OperatorCall& call, ir::Expr outside);

// The element of `image` under window position (kh, kw) for the output at (y, x).
ir::Expr under_window(const Stage& image, const OperatorCall& call, const Axis& n, const Axis& y,
                      const Axis& x, ir::Expr c, const Axis& kh, const Axis& kw);

// "3" or "3x5"; " s2 d2" where they are not 1.
std::string both(const std::array<std::int64_t, 2>& pair);
std::string window_title(const OperatorCall& call);
// "n2 56x56x64 NCHW" of an image with field channels: the batch where it is not 1,
// the layout where it is not NHWC.
std::string image_title(const OperatorCall& call);

}  // namespace fettle::space

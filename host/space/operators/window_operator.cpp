// Windows over images (window_operator.h).
#include "host/space/operators/window_operator.h"

namespace fettle::space {

Layout layout_of(const OperatorCall& call) {
  return call.word("layout") == "NCHW" ? Layout::Nchw : Layout::Nhwc;
}

void window_fields(Fields& fields, bool dilated) {
  fields.pair("kernel", 1, 255);
  fields.pair("stride", 1, 255, 1);
  fields.pair("pad", 0, 255, 0);
  if (dilated) fields.pair("dilation", 1, 255, 1);
}

std::array<std::int64_t, 2> window_output(const nlohmann::json& f) {
  std::array<std::int64_t, 2> out;
  const char* extents[] = {"height", "width"};
  for (int d = 0; d < 2; ++d) {
    const std::int64_t padded =
        f[extents[d]].get<std::int64_t>() + 2 * f["pad"][d].get<std::int64_t>();
    const std::int64_t dilation = f.contains("dilation") ? f["dilation"][d].get<std::int64_t>() : 1;
    const std::int64_t window = (f["kernel"][d].get<std::int64_t>() - 1) * dilation + 1;
    out[d] = padded < window ? 0 : (padded - window) / f["stride"][d].get<std::int64_t>() + 1;
  }
  return out;
}

std::array<std::int64_t, 2> window_output(const OperatorCall& w) {
  return window_output(nlohmann::json::parse(w.canonical()));
}

double window_elements(const OperatorCall& w) {
  const auto [y, x] = window_output(w);
  return double(w.integer("batch")) * double(y * x) * double(w.integer("channels"));
}

Result<void> check_window(const char* op, const nlohmann::json& f, double channels) {
  const auto [out_y, out_x] = window_output(f);
  if (out_y < 1 || out_x < 1) {
    return Error{ErrorCode::InvalidArgument, std::string(op) + ": the kernel " +
                                                 f["kernel"].dump() +
                                                 " is larger than the padded input of " +
                                                 f["height"].dump() + "x" + f["width"].dump()};
  }
  const double n = f["batch"], h = f["height"], w = f["width"], py = f["pad"][0], px = f["pad"][1];
  // Element numbers are 32-bit in generated code.
  constexpr double kMost = double(1 << 30);
  if (n * (h + 2 * py) * (w + 2 * px) * channels > kMost ||
      n * double(out_y) * double(out_x) * channels > kMost) {
    return Error{ErrorCode::InvalidArgument,
                 std::string(op) + ": a tensor has more than 2^30 elements"};
  }
  return {};
}

Stage padded(ComputeDag& dag, const Stage& image, const OperatorCall& w, ir::Expr outside) {
  const auto pad = w.pair("pad");
  if (pad[0] == 0 && pad[1] == 0) return image;
  const auto around = in_layout<std::int64_t>(layout_of(w), 0, pad[0], pad[1], 0);
  Stage copy = make_pad(image, around, around, std::move(outside));
  dag.stages.push_back(copy);
  return copy;
}

ir::Expr under_window(const Stage& image, const OperatorCall& w, const Axis& n, const Axis& y,
                      const Axis& x, ir::Expr c, const Axis& kh, const Axis& kw) {
  const auto stride = w.pair("stride");
  const auto dilation = w.has("dilation") ? w.pair("dilation") : std::array<std::int64_t, 2>{1, 1};
  const auto along = [](const Axis& out, std::int64_t step, const Axis& k, std::int64_t spread) {
    return ir::var_ref(out.var) * ir::int_imm(step) + ir::var_ref(k.var) * ir::int_imm(spread);
  };
  return at(image, in_layout(layout_of(w), ir::var_ref(n.var), along(y, stride[0], kh, dilation[0]),
                             along(x, stride[1], kw, dilation[1]), std::move(c)));
}

std::string both(const std::array<std::int64_t, 2>& p) {
  return p[0] == p[1] ? std::to_string(p[0]) : std::to_string(p[0]) + "x" + std::to_string(p[1]);
}

std::string window_title(const OperatorCall& w) {
  std::string s = " k" + both(w.pair("kernel")) + " s" + both(w.pair("stride"));
  if (w.has("dilation") && w.pair("dilation") != std::array<std::int64_t, 2>{1, 1}) {
    s += " d" + both(w.pair("dilation"));
  }
  return s;
}

std::string image_title(const OperatorCall& w) {
  std::string s;
  if (w.integer("batch") != 1) s += "n" + std::to_string(w.integer("batch")) + " ";
  s += std::to_string(w.integer("height")) + "x" + std::to_string(w.integer("width")) + "x" +
       std::to_string(w.integer("channels"));
  return w.word("layout") == "NHWC" ? s : s + " " + w.word("layout");
}

}  // namespace fettle::space

// The parallel extraction pass (extract_parallel.h).
#include "host/lower/extract_parallel.h"

#include "host/ir/mutator.h"

namespace fettle::lower {

Result<ir::Function> extract_parallel(ir::Function function) {
  if (const auto* loop = std::get_if<ir::For>(&function.body->node);
      loop && loop->kind == ir::ForKind::Parallel) {
    const std::int64_t* extent = ir::as_int(loop->extent);
    const std::int64_t* min = ir::as_int(loop->min);
    if (!extent || !min || *min != 0) {
      return Error{ErrorCode::InvalidArgument,
                   function.name + ": parallel loop without a constant extent from 0"};
    }
    function.parallel = loop->var;
    function.extent = *extent;
    function.body = ir::Stmt(loop->body);  // keeps it alive while `loop` goes
  }
  bool another = false;
  ir::walk(
      function.body,
      [&](const ir::Stmt& s) {
        const auto* loop = std::get_if<ir::For>(&s->node);
        another |= loop && loop->kind == ir::ForKind::Parallel;
      },
      nullptr);
  if (another)
    return Error{ErrorCode::InvalidArgument,
                 function.name + ": a parallel loop that is not outermost"};
  return function;
}

}  // namespace fettle::lower

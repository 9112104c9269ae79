// The reference interpreter (interpreter.h).
#include "host/ir/interpreter.h"

#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "host/ir/evaluator.h"
#include "host/ir/printer.h"
#include "host/ir/visit.h"

namespace fettle::ir {

namespace {

class Interpreter : public Evaluator {
 public:
  void set(const Var& var, std::int64_t value) { here_.variables[var.get()] = value; }

  void run(const Stmt& s) {
    visit(
        s,
        [&](const For& n) {
          const std::int64_t min = integer(n.min), count = integer(n.extent);
          const bool threads = within_block(n.axis), outside = in_block_;
          if (threads && waits(n.body)) {
            Threads alone = {here_}, all = threads_of(n, alone);
            return together(n.body, all);
          }
          in_block_ |= threads;
          const int thread = here_.thread;
          for (std::int64_t i = min; i < min + count; ++i) {
            here_.variables[n.var.get()] = i;
            if (threads) here_.thread = static_cast<int>(thread * count + i - min);
            run(n.body);
          }
          here_.thread = thread;
          in_block_ = outside;
        },
        [&](const Store& n) {
          try {
            store(n);
          } catch (Stop& stop) {
            if (stop.what.find(" in: ") == std::string::npos) stop.what += " in: " + print(s);
            throw;
          }
        },
        [&](const Block& n) {
          for (const Stmt& child : n.stmts) run(child);
        },
        [&](const IfThenElse& n) {
          if (integer(n.condition)) {
            run(n.then_stmt);
          } else if (n.else_stmt) {
            run(n.else_stmt);
          }
        },
        [&](const Allocate& n) { allocate(n); },
        [&](const Let& n) {
          here_.variables[n.var.get()] = integer(n.value);
          run(n.body);
        },
        [&](const Barrier&) { ++barriers_; });  // outside of the loops over threads
  }

 private:
  using Threads = std::vector<Context>;

  // Contents of an allocated buffer.
  struct Contents {
    std::vector<std::uint8_t> bytes;
    std::vector<bool> written;
    std::optional<Meetings> meetings;

    explicit Contents(const Buffer& buffer)
        : bytes(buffer->elements() * buffer->type.bytes(), 0xCD),
          written(buffer->elements(), false) {
      if (row_of(buffer->scope).sharing == Sharing::Block) meetings.emplace(buffer->elements());
    }
    Storage storage() {
      return {bytes.data(), std::ssize(written), &written, meetings ? &*meetings : nullptr};
    }
  };

  void allocate(const Allocate& n) {
    if (in_block_ && row_of(n.buffer->scope).sharing == Sharing::Block) {
      throw Stop{"buffer " + n.buffer->name + " of a block is allocated by each thread"};
    }
    Contents contents(n.buffer);
    here_.storage[n.buffer.get()] = contents.storage();
    run(n.body);
    here_.storage.erase(n.buffer.get());
  }

  // Whether there is a barrier in it.
  bool waits(const Stmt& s) {
    if (const auto known = waits_.find(s.get()); known != waits_.end()) return known->second;
    bool found = std::holds_alternative<Barrier>(s->node);
    for_each_part(s, [&](const Stmt& child) { found |= waits(child); }, [](const Expr&) {});
    return waits_[s.get()] = found;
  }

  template <typename F>
  void as_each(Threads& threads, F f) {
    for (Context& thread : threads) {
      std::swap(here_, thread);
      f();
      std::swap(here_, thread);
    }
  }

  // The value that all threads agree on; they come to a barrier together or not at all.
  std::int64_t agreed(Threads& threads, const Expr& e) {
    std::optional<std::int64_t> value;
    as_each(threads, [&] {
      const std::int64_t own = integer(e);
      if (value && *value != own) {
        throw Stop{"not all threads of a block come to a barrier: they differ in " + print(e)};
      }
      value = own;
    });
    return value.value_or(0);
  }

  // One thread for each of `threads` and iteration of the loop, which is bound to threads.
  Threads threads_of(const For& loop, Threads& threads) {
    Threads out;
    as_each(threads, [&] {
      const std::int64_t min = integer(loop.min), count = integer(loop.extent);
      for (std::int64_t i = min; i < min + count; ++i) {
        out.push_back(here_);
        out.back().variables[loop.var.get()] = i;
        out.back().thread = static_cast<int>(here_.thread * count + i - min);
      }
    });
    return out;
  }

  // By all threads of a block: from barrier to barrier one thread after the other.
  void together(const Stmt& s, Threads& threads) {
    if (!waits(s)) {
      const bool outside = std::exchange(in_block_, true);
      as_each(threads, [&] { run(s); });
      in_block_ = outside;
      return;
    }
    const auto inside = [&](const Stmt& child) { together(child, threads); };
    visit(
        s,
        [&](const For& n) {
          if (within_block(n.axis)) {
            Threads more = threads_of(n, threads);
            return together(n.body, more);
          }
          const std::int64_t min = agreed(threads, n.min), count = agreed(threads, n.extent);
          for (std::int64_t i = min; i < min + count; ++i) {
            for (Context& thread : threads) thread.variables[n.var.get()] = i;
            inside(n.body);
          }
        },
        [&](const Block& n) {
          for (const Stmt& child : n.stmts) inside(child);
        },
        [&](const IfThenElse& n) {
          if (agreed(threads, n.condition)) {
            inside(n.then_stmt);
          } else if (n.else_stmt) {
            inside(n.else_stmt);
          }
        },
        [&](const Allocate& n) {
          const bool own = row_of(n.buffer->scope).sharing == Sharing::Thread;
          std::deque<Contents> contents;
          for (Context& thread : threads) {
            if (own || contents.empty()) contents.emplace_back(n.buffer);
            thread.storage[n.buffer.get()] = contents.back().storage();
          }
          inside(n.body);
          for (Context& thread : threads) thread.storage.erase(n.buffer.get());
        },
        [&](const Let& n) {
          as_each(threads, [&] { here_.variables[n.var.get()] = integer(n.value); });
          inside(n.body);
        },
        [](const Store&) {}, [&](const Barrier&) { ++barriers_; });  // all have come here
  }

  bool in_block_ = false;  // inside a loop over threads of a block
  std::unordered_map<const StmtNode*, bool> waits_;
};

}  // namespace

Problem interpret(const Stmt& stmt, const Memory& memory,
                  const std::map<Var, std::int64_t>& variables) {
  try {
    Interpreter interpreter;
    for (const auto& [buffer, bytes] : memory) interpreter.bind(buffer, bytes);
    for (const auto& [var, value] : variables) interpreter.set(var, value);
    interpreter.run(stmt);
  } catch (const Stop& stop) {
    return stop.what;
  }
  return std::nullopt;
}

Problem interpret(const Function& function, std::span<const std::span<std::uint8_t>> args,
                  std::int64_t begin, std::int64_t end, std::int64_t thread) {
  try {
    if (args.size() != function.params.size()) throw Stop{"number of arguments"};
    Interpreter interpreter;
    for (std::size_t i = 0; i < args.size(); ++i) interpreter.bind(function.params[i], args[i]);
    if (function.thread) interpreter.set(function.thread, thread);
    for (std::int64_t i = begin; i < end; ++i) {
      interpreter.set(function.parallel, i);
      interpreter.run(function.body);
    }
  } catch (const Stop& stop) {
    return function.name + ": " + stop.what;
  }
  return std::nullopt;
}

Problem interpret(const Module& module, std::vector<std::vector<std::uint8_t>>& buffers,
                  int threads) {
  for (const bool prepare : {true, false}) {
    for (const Launch& launch : module.launches) {
      if (launch.prepare != prepare) continue;
      const Function& function = module.functions[launch.function];
      std::vector<std::span<std::uint8_t>> args;
      for (int b : launch.buffers) args.emplace_back(buffers[b]);
      for (int t = 0; t < threads; ++t) {
        const std::int64_t begin = function.extent * t / threads;
        const std::int64_t end = function.extent * (t + 1) / threads;
        if (auto problem = interpret(function, args, begin, end, t)) return problem;
      }
    }
  }
  return std::nullopt;
}

}  // namespace fettle::ir

// The reference interpreter (interpreter.h).
#include "host/ir/interpreter.h"

#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "host/ir/evaluator.h"
#include "host/ir/intrinsics.h"
#include "host/ir/mutator.h"
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
        [&](const Barrier&) { ++barriers_; },  // outside of the loops over threads
        [&](const TileCall& n) {
          throw Stop{std::string(n.row->name) + " outside of loops over threads"};
        },
        [&](const AsyncCopies& n) { copy_later([&] { run(n.body); }); },
        [&](const AwaitCopies& n) { await_copies(n.left); });
  }

 private:
  using Threads = std::vector<Context>;

  // Contents of an allocated buffer.
  struct Contents {
    std::vector<std::uint8_t> bytes;
    std::vector<bool> written;
    std::optional<Meetings> meetings;
    std::optional<OfThreads> others;

    explicit Contents(const Buffer& buffer) {
      const std::int64_t elements = buffer->elements();
      const Sharing sharing = row_of(buffer->scope).sharing;
      if (sharing == Sharing::Block) meetings.emplace(elements);
      if (sharing == Sharing::Thread) {
        others.emplace(elements, buffer->type.bytes());
      } else {
        bytes.assign(elements * buffer->type.bytes(), 0xCD);
        written.assign(elements, false);
      }
    }
    Storage storage() {
      return {bytes.data(), std::ssize(written), &written, meetings ? &*meetings : nullptr,
              others ? &*others : nullptr};
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
    bool found =
        std::holds_alternative<Barrier>(s->node) || std::holds_alternative<TileCall>(s->node);
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
          const bool own = row_of(n.buffer->scope).sharing != Sharing::Block;
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
        [](const OneOf<Store, AwaitCopies> auto&) {},
        [&](const Barrier&) { ++barriers_; },  // all have come here
        [&](const TileCall& n) { execute_together(n, threads); },
        [](const AsyncCopies&) { throw Stop{"threads wait for one another within a copy"}; });
  }

  // By each group of the row's threads once, as its first thread sees memory.
  void execute_together(const TileCall& call, Threads& threads) {
    const IntrinsicRow& row = *call.row;
    const auto store = stores_.find(&call);
    const Stmt& element =
        store != stores_.end() ? store->second : stores_[&call] = element_of(call);
    const auto count = static_cast<std::size_t>(row.threads);
    for (std::size_t first = 0; first < threads.size(); first += count) {
      std::optional<std::vector<std::int64_t>> places;
      for (std::size_t i = first; i < first + count; ++i) {
        if (i >= threads.size() || threads[first].thread % row.threads != 0 ||
            threads[i].thread != threads[first].thread + static_cast<int>(i - first)) {
          throw Stop{std::string(row.name) + " by other than " + std::to_string(count) +
                     " neighbours"};
        }
        std::swap(here_, threads[i]);
        std::vector<std::int64_t> own = places_of(call);
        std::swap(here_, threads[i]);
        if (places && *places != own) throw Stop{std::string(row.name) + ": its threads differ"};
        places = std::move(own);
      }
      std::swap(here_, threads[first]);
      for_tile(row, [&] { run(element); });
      std::swap(here_, threads[first]);
    }
  }

  template <typename F>
  void for_tile(const IntrinsicRow& row, F f) {
    for (int m = 0; m < row.tile.m; ++m) {
      for (int n = 0; n < row.tile.n; ++n) {
        for (int k = 0; k < row.tile.k; ++k) {
          here_.variables[row.m.get()] = m, here_.variables[row.n.get()] = n;
          here_.variables[row.k.get()] = k;
          f();
        }
      }
    }
  }

  // Where the tiles of its operands begin.
  std::vector<std::int64_t> places_of(const TileCall& call) {
    for (const Var& var : {call.row->m, call.row->n, call.row->k}) here_.variables[var.get()] = 0;
    std::vector<std::int64_t> places;
    for (const Expr& operand : call.operands) {
      for (const Expr& index : std::get<Load>(operand->node).indices) {
        places.push_back(integer(index));
      }
    }
    return places;
  }

  // What one step of the tile does, as a store.
  static Stmt element_of(const TileCall& call) {
    Substitution operands;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      operands[call.row->operands[i].element] = call.operands[i];
    }
    const auto& to = std::get<Load>(call.operands.back()->node);
    return make_store(to.buffer, to.indices, substitute(call.row->pattern, operands));
  }

  bool in_block_ = false;  // inside a loop over threads of a block
  std::unordered_map<const StmtNode*, bool> waits_;
  std::unordered_map<const TileCall*, Stmt> stores_;  // that one step of each makes
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

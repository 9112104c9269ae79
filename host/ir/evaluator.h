// Evaluator: the interpreter's expressions and stores, as one thread sees memory.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/ir/lanes.h"
#include "host/ir/stmt.h"

namespace fettle::ir {

// Who touched the elements of memory that a block's threads share, since which barrier. Finds
// what a barrier is missing for, in whatever order the threads run.
class Meetings {
 public:
  explicit Meetings(std::int64_t elements) : last_(elements) {}
  // Throw Stop: another thread wrote the element since the last barrier; or read it. Several
  // may write it: tiles that overlap do, the same values.
  void read(std::int64_t element, int thread, std::int64_t barriers, const std::string& buffer);
  void written(std::int64_t element, int thread, std::int64_t barriers, const std::string& buffer);

 private:
  static constexpr int kSeveral = -1;
  struct Touch {
    int thread = 0;
    std::int64_t barriers = -1;  // how many there had been
  };
  struct Element {
    Touch write, read;
  };
  std::vector<Element> last_;
};

struct Storage {
  std::uint8_t* bytes = nullptr;
  std::int64_t elements = 0;
  std::vector<bool>* written = nullptr;  // null: its contents were given
  Meetings* meetings = nullptr;          // of memory that threads share
  // Of memory that each thread has for itself, allocated where they are not told apart yet.
  class OfThreads* others = nullptr;
};

// Made as threads come to it, each its own.
class OfThreads {
 public:
  OfThreads(std::int64_t elements, int bytes) : elements_(elements), bytes_(bytes) {}
  const Storage& of(int thread);

 private:
  struct Own {
    std::vector<std::uint8_t> bytes;
    std::vector<bool> written;
    Storage storage;
  };
  std::int64_t elements_;
  int bytes_;  // of an element
  std::unordered_map<int, Own> own_;
};

// Elements that are not there yet: of one buffer, by one thread.
struct LateStore {
  Buffer buffer;
  std::vector<std::int64_t> at;     // element numbers
  std::vector<std::uint8_t> bytes;  // of all, one after the other
  int thread;
};

// What one thread sees.
struct Context {
  std::unordered_map<const BufferDecl*, Storage> storage;
  std::unordered_map<const VarDecl*, std::int64_t> variables;
  int thread = 0;                             // of those of its block
  std::deque<std::vector<LateStore>> copies;  // groups that go on beside it, the oldest first
};

// Throws Stop where the IR does what it must not.
class Evaluator {
 public:
  // At least as many bytes as the buffer has; they outlive the evaluator.
  void bind(const Buffer& buffer, std::span<std::uint8_t> bytes);
  std::int64_t integer(const Expr& e);
  void store(const Store& n);
  // What `body` stores into memory that a block shares becomes the newest group of copies.
  template <typename F>
  void copy_later(F body) {
    here_.copies.emplace_back();
    later_ = true;
    body();
    later_ = false;
  }
  void await_copies(int left);

 protected:
  Context here_;               // of the thread that runs
  std::int64_t barriers_ = 0;  // that have been met

 private:
  bool later_ = false;  // stores into what a block shares are copies beside the threads

  // A node that several others hold, such as the argument of a polynomial, is computed once in
  // a store; a tree of them would take exponentially long.
  struct Known {
    std::int64_t evaluation = 0;
    Value value;
  };
  std::unordered_map<const ExprNode*, Known> known_;
  std::int64_t evaluation_ = 0;  // how many stores and integers there have been

  void eval(const Expr& e, Value& out);
  void compute(const Expr& e, Value& out);
  const Storage& storage(const Buffer& buffer);
  void put_late(const LateStore& late);
  void locate(const Buffer& buffer, const std::vector<Expr>& indices, const Expr& predicate,
              int lanes, std::int64_t* at);
  void load(const Load& n, DataType type, Value& out);
  void reinterpret(const Reinterpret& n, DataType type, Value& out);
};

}  // namespace fettle::ir

// The few functions that LLVM's code generators call behind our back.
#include "host/backend/cpu_llvm/runtime.h"

#include <map>
#include <mutex>

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/SourceMgr.h>

#include "host/backend/cpu_llvm/llvm_target.h"
#include "host/backend/cpu_llvm/object_writer.h"

namespace fettle::backend::cpu_llvm {
namespace {

// SIZE stands for the pointer's integer type. Sixteen bytes at a time, then bytes;
// copies go upward or, where the target lies above an overlapping source, downward.
constexpr const char* kMemory = R"(
define hidden ptr @memset(ptr %to, i32 %value, SIZE %bytes) #0 {
entry:
  %byte = trunc i32 %value to i8
  %one = insertelement <16 x i8> poison, i8 %byte, i32 0
  %sixteen = shufflevector <16 x i8> %one, <16 x i8> poison, <16 x i32> zeroinitializer
  %whole = and SIZE %bytes, -16
  %any = icmp ne SIZE %whole, 0
  br i1 %any, label %wide, label %rest
wide:
  %i = phi SIZE [ 0, %entry ], [ %i.next, %wide ]
  %at = getelementptr i8, ptr %to, SIZE %i
  store <16 x i8> %sixteen, ptr %at, align 1
  %i.next = add SIZE %i, 16
  %more = icmp ult SIZE %i.next, %whole
  br i1 %more, label %wide, label %rest
rest:
  %tail = icmp ult SIZE %whole, %bytes
  br i1 %tail, label %narrow, label %end
narrow:
  %j = phi SIZE [ %whole, %rest ], [ %j.next, %narrow ]
  %at.byte = getelementptr i8, ptr %to, SIZE %j
  store i8 %byte, ptr %at.byte
  %j.next = add SIZE %j, 1
  %again = icmp ult SIZE %j.next, %bytes
  br i1 %again, label %narrow, label %end
end:
  ret ptr %to
}

define hidden ptr @memcpy(ptr %to, ptr %from, SIZE %bytes) #0 {
entry:
  %whole = and SIZE %bytes, -16
  %any = icmp ne SIZE %whole, 0
  br i1 %any, label %wide, label %rest
wide:
  %i = phi SIZE [ 0, %entry ], [ %i.next, %wide ]
  %source = getelementptr i8, ptr %from, SIZE %i
  %at = getelementptr i8, ptr %to, SIZE %i
  %block = load <16 x i8>, ptr %source, align 1
  store <16 x i8> %block, ptr %at, align 1
  %i.next = add SIZE %i, 16
  %more = icmp ult SIZE %i.next, %whole
  br i1 %more, label %wide, label %rest
rest:
  %tail = icmp ult SIZE %whole, %bytes
  br i1 %tail, label %narrow, label %end
narrow:
  %j = phi SIZE [ %whole, %rest ], [ %j.next, %narrow ]
  %source.byte = getelementptr i8, ptr %from, SIZE %j
  %at.byte = getelementptr i8, ptr %to, SIZE %j
  %byte = load i8, ptr %source.byte
  store i8 %byte, ptr %at.byte
  %j.next = add SIZE %j, 1
  %again = icmp ult SIZE %j.next, %bytes
  br i1 %again, label %narrow, label %end
end:
  ret ptr %to
}

define hidden ptr @memmove(ptr %to, ptr %from, SIZE %bytes) #0 {
entry:
  %to.int = ptrtoint ptr %to to SIZE
  %from.int = ptrtoint ptr %from to SIZE
  %distance = sub SIZE %to.int, %from.int
  %apart = icmp uge SIZE %distance, %bytes
  br i1 %apart, label %upward, label %downward
upward:
  %j = phi SIZE [ 0, %entry ], [ %j.next, %up ]
  %up.done = icmp uge SIZE %j, %bytes
  br i1 %up.done, label %end, label %up
up:
  %up.source = getelementptr i8, ptr %from, SIZE %j
  %up.at = getelementptr i8, ptr %to, SIZE %j
  %up.byte = load i8, ptr %up.source
  store i8 %up.byte, ptr %up.at
  %j.next = add SIZE %j, 1
  br label %upward
downward:
  %k = phi SIZE [ %bytes, %entry ], [ %k.next, %down ]
  %down.done = icmp eq SIZE %k, 0
  br i1 %down.done, label %end, label %down
down:
  %k.next = sub SIZE %k, 1
  %down.source = getelementptr i8, ptr %from, SIZE %k.next
  %down.at = getelementptr i8, ptr %to, SIZE %k.next
  %down.byte = load i8, ptr %down.source
  store i8 %down.byte, ptr %down.at
  br label %downward
end:
  ret ptr %to
}
attributes #0 = { nounwind noinline "no-builtins" }
)";

// Run-time ABI for the Arm architecture, sections 4.1.2, 4.3.1 and 4.3.4: numbers pass in whole
// registers there. Of int64 a double is the nearest one, a float32 but for ties of ties. The A9 has
// no divide instruction, and no ARMv7 one for int64, whose quotient lies in r0 and r1 and the
// remainder in r2 and r3: shift and subtract, a step a bit; a divisor of 0 gives garbage.
constexpr const char* kEabi = R"(
define hidden void @__aeabi_memcpy(ptr %to, ptr %from, i32 %bytes) #0 {
  %r = call ptr @memcpy(ptr %to, ptr %from, i32 %bytes)
  ret void
}
define hidden void @__aeabi_memmove(ptr %to, ptr %from, i32 %bytes) #0 {
  %r = call ptr @memmove(ptr %to, ptr %from, i32 %bytes)
  ret void
}
define hidden void @__aeabi_memset(ptr %to, i32 %bytes, i32 %value) #0 {
  %r = call ptr @memset(ptr %to, i32 %value, i32 %bytes)
  ret void
}
define hidden void @__aeabi_memclr(ptr %to, i32 %bytes) #0 {
  %r = call ptr @memset(ptr %to, i32 0, i32 %bytes)
  ret void
}
@__aeabi_memcpy4 = hidden alias void (ptr, ptr, i32), ptr @__aeabi_memcpy
@__aeabi_memcpy8 = hidden alias void (ptr, ptr, i32), ptr @__aeabi_memcpy
@__aeabi_memmove4 = hidden alias void (ptr, ptr, i32), ptr @__aeabi_memmove
@__aeabi_memmove8 = hidden alias void (ptr, ptr, i32), ptr @__aeabi_memmove
@__aeabi_memset4 = hidden alias void (ptr, i32, i32), ptr @__aeabi_memset
@__aeabi_memset8 = hidden alias void (ptr, i32, i32), ptr @__aeabi_memset
@__aeabi_memclr4 = hidden alias void (ptr, i32), ptr @__aeabi_memclr
@__aeabi_memclr8 = hidden alias void (ptr, i32), ptr @__aeabi_memclr

define hidden i64 @__aeabi_uidivmod(i32 %a, i32 %b) #0 {
entry:
  br label %step
step:
  %bit = phi i32 [ 31, %entry ], [ %bit.next, %step ]
  %quotient = phi i32 [ 0, %entry ], [ %quotient.next, %step ]
  %remainder = phi i32 [ 0, %entry ], [ %remainder.next, %step ]
  %carry = lshr i32 %remainder, 31
  %shifted = shl i32 %remainder, 1
  %digit.0 = lshr i32 %a, %bit
  %digit = and i32 %digit.0, 1
  %partial = or i32 %shifted, %digit
  %fits.0 = icmp uge i32 %partial, %b
  %carried = icmp ne i32 %carry, 0
  %fits = or i1 %fits.0, %carried
  %less = sub i32 %partial, %b
  %remainder.next = select i1 %fits, i32 %less, i32 %partial
  %one = zext i1 %fits to i32
  %quotient.shifted = shl i32 %quotient, 1
  %quotient.next = or i32 %quotient.shifted, %one
  %bit.next = sub i32 %bit, 1
  %more = icmp sge i32 %bit.next, 0
  br i1 %more, label %step, label %end
end:
  %low = zext i32 %quotient.next to i64
  %high.0 = zext i32 %remainder.next to i64
  %high = shl i64 %high.0, 32
  %both = or i64 %high, %low
  ret i64 %both
}
define hidden i64 @__aeabi_idivmod(i32 %a, i32 %b) #0 {
  %a.sign = ashr i32 %a, 31
  %b.sign = ashr i32 %b, 31
  %a.flip = xor i32 %a, %a.sign
  %a.size = sub i32 %a.flip, %a.sign
  %b.flip = xor i32 %b, %b.sign
  %b.size = sub i32 %b.flip, %b.sign
  %both = call i64 @__aeabi_uidivmod(i32 %a.size, i32 %b.size)
  %quotient = trunc i64 %both to i32
  %upper = lshr i64 %both, 32
  %remainder = trunc i64 %upper to i32
  %sign = xor i32 %a.sign, %b.sign
  %q.flip = xor i32 %quotient, %sign
  %q = sub i32 %q.flip, %sign
  %r.flip = xor i32 %remainder, %a.sign
  %r = sub i32 %r.flip, %a.sign
  %low = zext i32 %q to i64
  %high.0 = zext i32 %r to i64
  %high = shl i64 %high.0, 32
  %result = or i64 %high, %low
  ret i64 %result
}
define hidden i32 @__aeabi_uidiv(i32 %a, i32 %b) #0 {
  %both = call i64 @__aeabi_uidivmod(i32 %a, i32 %b)
  %q = trunc i64 %both to i32
  ret i32 %q
}
define hidden i32 @__aeabi_idiv(i32 %a, i32 %b) #0 {
  %both = call i64 @__aeabi_idivmod(i32 %a, i32 %b)
  %q = trunc i64 %both to i32
  ret i32 %q
}
define hidden { i64, i64 } @__aeabi_uldivmod(i64 %a, i64 %b) #0 {
entry:
  br label %step
step:
  %bit = phi i64 [ 63, %entry ], [ %bit.next, %step ]
  %quotient = phi i64 [ 0, %entry ], [ %quotient.next, %step ]
  %remainder = phi i64 [ 0, %entry ], [ %remainder.next, %step ]
  %carried = icmp slt i64 %remainder, 0
  %shifted = shl i64 %remainder, 1
  %digit.0 = lshr i64 %a, %bit
  %digit = and i64 %digit.0, 1
  %partial = or i64 %shifted, %digit
  %fits.0 = icmp uge i64 %partial, %b
  %fits = or i1 %fits.0, %carried
  %less = sub i64 %partial, %b
  %remainder.next = select i1 %fits, i64 %less, i64 %partial
  %one = zext i1 %fits to i64
  %quotient.shifted = shl i64 %quotient, 1
  %quotient.next = or i64 %quotient.shifted, %one
  %bit.next = sub i64 %bit, 1
  %more = icmp sge i64 %bit.next, 0
  br i1 %more, label %step, label %end
end:
  %half = insertvalue { i64, i64 } poison, i64 %quotient.next, 0
  %both = insertvalue { i64, i64 } %half, i64 %remainder.next, 1
  ret { i64, i64 } %both
}
define hidden { i64, i64 } @__aeabi_ldivmod(i64 %a, i64 %b) #0 {
  %a.sign = ashr i64 %a, 63
  %b.sign = ashr i64 %b, 63
  %a.flip = xor i64 %a, %a.sign
  %a.size = sub i64 %a.flip, %a.sign
  %b.flip = xor i64 %b, %b.sign
  %b.size = sub i64 %b.flip, %b.sign
  %sizes = call { i64, i64 } @__aeabi_uldivmod(i64 %a.size, i64 %b.size)
  %quotient = extractvalue { i64, i64 } %sizes, 0
  %remainder = extractvalue { i64, i64 } %sizes, 1
  %sign = xor i64 %a.sign, %b.sign
  %q.flip = xor i64 %quotient, %sign
  %q = sub i64 %q.flip, %sign
  %r.flip = xor i64 %remainder, %a.sign
  %r = sub i64 %r.flip, %a.sign
  %half = insertvalue { i64, i64 } poison, i64 %q, 0
  %both = insertvalue { i64, i64 } %half, i64 %r, 1
  ret { i64, i64 } %both
}
define hidden arm_aapcscc double @__aeabi_l2d(i64 %a) #0 {
  %upper.0 = ashr i64 %a, 32
  %upper = trunc i64 %upper.0 to i32
  %lower = trunc i64 %a to i32
  %high.0 = sitofp i32 %upper to double
  %high = fmul double %high.0, 4294967296.0
  %low = uitofp i32 %lower to double
  %sum = fadd double %high, %low
  ret double %sum
}
define hidden arm_aapcscc float @__aeabi_l2f(i64 %a) #0 {
  %double = call arm_aapcscc double @__aeabi_l2d(i64 %a)
  %real = fptrunc double %double to float
  ret float %real
}
define hidden arm_aapcscc i64 @__aeabi_d2lz(double %a) #0 {
  %bits = bitcast double %a to i64
  %wide = ashr i64 %bits, 63
  %size.bits = and i64 %bits, 9223372036854775807
  %size = bitcast i64 %size.bits to double
  %scaled = fmul double %size, 0x3DF0000000000000
  %upper = fptoui double %scaled to i32
  %whole.0 = uitofp i32 %upper to double
  %whole = fmul double %whole.0, 4294967296.0
  %rest = fsub double %size, %whole
  %lower = fptoui double %rest to i32
  %high.0 = zext i32 %upper to i64
  %high = shl i64 %high.0, 32
  %low = zext i32 %lower to i64
  %both = or i64 %high, %low
  %flip = xor i64 %both, %wide
  %result = sub i64 %flip, %wide
  ret i64 %result
}
define hidden arm_aapcscc i64 @__aeabi_f2lz(float %a) #0 {
  %double = fpext float %a to double
  %result = call arm_aapcscc i64 @__aeabi_d2lz(double %double)
  ret i64 %result
}
)";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

Result<std::vector<std::uint8_t>> compile(const space::CpuTarget& target) {
  Result<std::unique_ptr<llvm::TargetMachine>> machine = make_target_machine(target);
  if (!machine) return std::move(machine).error();
  const bool narrow = target.arch == "armv7";
  const std::string text =
      replaced(kMemory, "SIZE", narrow ? "i32" : "i64") + (narrow ? kEabi : "");
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (module == nullptr) {
    return Error{ErrorCode::Internal, "runtime: line " + std::to_string(problem.getLineNo()) +
                                          ": " + problem.getMessage().str()};
  }
  module->setTargetTriple((*machine)->getTargetTriple().str());
  module->setDataLayout((*machine)->createDataLayout());
  module->setPICLevel(llvm::PICLevel::SmallPIC);
  return write_object(*module, **machine);
}

}  // namespace

Result<std::shared_ptr<const std::vector<std::uint8_t>>> runtime_object(
    const space::CpuTarget& target) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const std::vector<std::uint8_t>>> made;
  const std::string key =
      target.arch + "|" + target.triple + "|" + target.cpu + "|" + features_of(target);
  std::lock_guard lock(mutex);
  auto& slot = made[key];
  if (slot == nullptr) {
    Result<std::vector<std::uint8_t>> object = compile(target);
    if (!object) return std::move(object).error().in("compiling the runtime");
    slot = std::make_shared<const std::vector<std::uint8_t>>(std::move(*object));
  }
  return slot;
}

}  // namespace fettle::backend::cpu_llvm

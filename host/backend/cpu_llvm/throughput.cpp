// LLVM's machine code analyser (throughput.h), set up as its own tool llvm-mca does.
#include "host/backend/cpu_llvm/throughput.h"

#include <map>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrAnalysis.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/MCA/Context.h>
#include <llvm/MCA/CustomBehaviour.h>
#include <llvm/MCA/HWEventListener.h>
#include <llvm/MCA/InstrBuilder.h>
#include <llvm/MCA/Pipeline.h>
#include <llvm/MCA/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include "host/backend/cpu_llvm/llvm_target.h"

namespace fettle::backend::cpu_llvm {
namespace {

constexpr unsigned kIterations = 100;

// Cycles for which each unit of each resource is used. Events name a resource by its
// index in the scheduling model.
class Pressure : public llvm::mca::HWEventListener {
 public:
  void onEvent(const llvm::mca::HWInstructionEvent& event) override {
    if (event.Type != llvm::mca::HWInstructionEvent::Issued) return;
    const auto& issued = static_cast<const llvm::mca::HWInstructionIssuedEvent&>(event);
    for (const auto& [resource, cycles] : issued.UsedResources) {
      used[resource] += double(cycles);
    }
    micro_operations += issued.IR.getInstruction()->getNumMicroOps();
  }
  std::map<llvm::mca::ResourceRef, double> used;
  double micro_operations = 0;
};

std::string text_of(llvm::Error error) { return llvm::toString(std::move(error)); }

}  // namespace

Result<Throughput> static_throughput(std::span<const std::uint8_t> loop,
                                     const space::CpuTarget& target) {
  Result<std::string> triple = triple_of(target);
  if (!triple) return std::move(triple).error();
  std::string problem;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(*triple, problem);
  if (found == nullptr) return Error{ErrorCode::InvalidArgument, problem};
  const std::string cpu = target.cpu.empty() ? "generic" : target.cpu;
  const llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers(found->createMCRegInfo(*triple));
  std::unique_ptr<llvm::MCAsmInfo> assembly(found->createMCAsmInfo(*registers, *triple, options));
  std::unique_ptr<llvm::MCInstrInfo> instructions(found->createMCInstrInfo());
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      found->createMCSubtargetInfo(*triple, cpu, features_of(target)));
  const llvm::MCSchedModel& model = subtarget->getSchedModel();
  if (!model.hasInstrSchedModel()) {
    return Error{ErrorCode::Unsupported, "LLVM has no scheduling model of " + cpu};
  }
  llvm::MCContext context(llvm::Triple(*triple), assembly.get(), registers.get(), subtarget.get());
  std::unique_ptr<llvm::MCDisassembler> decoder(found->createMCDisassembler(*subtarget, context));
  std::unique_ptr<llvm::MCInstrAnalysis> analysis(found->createMCInstrAnalysis(instructions.get()));

  llvm::mca::InstrumentManager instruments(*subtarget, *instructions);
  llvm::mca::InstrBuilder builder(*subtarget, *instructions, *registers, analysis.get(),
                                  instruments, /*CallLatency=*/100);
  llvm::SmallVector<std::unique_ptr<llvm::mca::Instruction>> body;
  for (std::uint64_t at = 0; at < loop.size();) {
    llvm::MCInst decoded;
    std::uint64_t size = 0;
    llvm::ArrayRef<std::uint8_t> rest(loop.data() + at, loop.size() - at);
    if (decoder->getInstruction(decoded, size, rest, at, llvm::nulls()) ==
        llvm::MCDisassembler::Fail) {
      return Error{ErrorCode::Unsupported, "the loop holds what is no instruction of " + cpu};
    }
    at += size;
    auto made = builder.createInstruction(decoded, {});
    if (!made) return Error{ErrorCode::Unsupported, text_of(made.takeError())};
    body.push_back(std::move(*made));
  }

  llvm::mca::CircularSourceMgr source(body, kIterations);
  llvm::mca::CustomBehaviour behaviour(*subtarget, source, *instructions);
  llvm::mca::Context hardware(*registers, *subtarget);
  const llvm::mca::PipelineOptions pipe(/*UOPQSize=*/0, /*DecThr=*/0, /*DW=*/0, /*RFS=*/0,
                                        /*LQS=*/0, /*SQS=*/0, /*NoAlias=*/true);
  std::unique_ptr<llvm::mca::Pipeline> pipeline =
      model.isOutOfOrder() ? hardware.createDefaultPipeline(pipe, source, behaviour)
                           : hardware.createInOrderPipeline(pipe, source, behaviour);
  Pressure pressure;
  pipeline->addEventListener(&pressure);
  auto cycles = pipeline->run();
  if (!cycles) return Error{ErrorCode::Unsupported, text_of(cycles.takeError())};

  Throughput result;
  result.model = cpu;
  result.cycles = double(*cycles) / kIterations;
  result.micro_operations = pressure.micro_operations / kIterations;
  for (const auto& [resource, used] : pressure.used) {
    if (used / kIterations <= result.busiest_cycles) continue;
    result.busiest_cycles = used / kIterations;
    result.busiest = model.getProcResource(static_cast<unsigned>(resource.first))->Name;
  }
  return result;
}

}  // namespace fettle::backend::cpu_llvm

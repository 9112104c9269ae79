// A user's sketch as one of the CPU's (fettle/sketch.h).
#include "host/libfettle/own_sketch.h"

#include "host/space/sketches/steps.h"

namespace fettle {

namespace {

std::vector<Axis> axes_of(const std::vector<space::Axis>& axes) {
  std::vector<Axis> out;
  for (const space::Axis& axis : axes) out.push_back({axis.name, axis.extent});
  return out;
}

std::vector<StageFacts> stages_of(const space::ComputeDag& dag) {
  std::vector<StageFacts> out;
  for (const space::Stage& stage : dag.stages) {
    out.push_back({stage.name, axes_of(stage.axes), axes_of(stage.reduce_axes), stage.placeholder(),
                   stage.role == ir::Role::Output});
  }
  return out;
}

CpuFacts facts_of(const space::CpuTarget& target) {
  return {target.vector_bits, target.vector_registers, target.threads};
}

Error no_knob(const std::string& name, const space::Sketch& sketch) {
  std::string names;
  for (const space::Knob& knob : sketch.knobs) names += (names.empty() ? "" : ", ") + knob.name;
  return {ErrorCode::InvalidArgument, "the sketch \"" + sketch.name + "\" has no knob \"" + name +
                                          "\"; " +
                                          (names.empty() ? "it has none" : "there are: " + names)};
}

class ScheduleSteps final : public Steps {
 public:
  explicit ScheduleSteps(space::Schedule begun) : steps_(std::move(begun)) {}
  void inline_stage(const std::string& stage) override { steps_(space::InlineStep{stage}); }
  void cache_write(const std::string& stage) override { steps_(space::CacheWriteStep{stage}); }
  void split(const std::string& stage, const std::string& loop, std::int64_t factor,
             const std::string& outer, const std::string& inner) override {
    steps_.split(stage, loop, factor, outer, inner);
  }
  void reorder(const std::string& stage, const std::vector<std::string>& loops) override {
    steps_(space::ReorderStep{stage, loops});
  }
  void parallel(const std::string& stage, const std::vector<std::string>& loops) override {
    steps_.parallel(stage, loops);
  }
  void unroll(const std::string& stage, const std::string& loop) override {
    steps_.unroll(stage, {loop});
  }
  void vectorize(const std::string& stage, const std::string& loop) override {
    steps_.vectorize(stage, loop);
  }
  void compute_at(const std::string& stage, const std::string& reader, const std::string& loop,
                  bool registers) override {
    steps_(space::ComputeAtStep{stage, reader, loop,
                                registers ? ir::Scope::Register : ir::Scope::Global});
  }
  void fail(Error error) { steps_.fail(std::move(error)); }
  Result<space::Schedule> finish() { return steps_.finish(); }

 private:
  space::Steps steps_;
};

}  // namespace

space::OwnCpuSketch own_sketch(CpuSketch sketch) {
  const char* const missing = !sketch.applies    ? "applies"
                              : !sketch.knobs    ? "knobs"
                              : !sketch.schedule ? "schedule"
                                                 : nullptr;
  space::OwnCpuSketch own;
  own.applies = [applies = sketch.applies](const space::ComputeDag& dag,
                                           const space::CpuTarget& target) {
    return !applies || applies(stages_of(dag), facts_of(target));
  };
  own.sketch = [name = sketch.name, knobs = sketch.knobs, missing](
                   const space::ComputeDag& dag,
                   const space::CpuTarget& target) -> Result<space::Sketch> {
    if (missing) {
      return Error{ErrorCode::InvalidArgument,
                   "the sketch \"" + name + "\" has no function " + missing};
    }
    space::Sketch made{name, {}};
    for (const Knob& knob : knobs(stages_of(dag), facts_of(target))) {
      space::Options options;
      for (const std::int64_t option : knob.options) options.push_back({option});
      made.knobs.push_back({knob.name, std::move(options)});
    }
    return made;
  };
  own.schedule = [schedule = sketch.schedule](space::Schedule begun, const space::CpuTarget&,
                                              const space::SearchSpace& space,
                                              const space::Configuration& configuration) {
    ScheduleSteps steps(std::move(begun));
    const space::Sketch& of = space.sketches()[configuration.sketch];
    schedule(steps, [&](const char* name) -> std::int64_t {
      for (std::size_t k = 0; k < of.knobs.size(); ++k) {
        if (of.knobs[k].name == name) return of.knobs[k].options[configuration.choice[k]][0];
      }
      steps.fail(no_knob(name, of));
      return 1;
    });
    return steps.finish();
  };
  return own;
}

}  // namespace fettle

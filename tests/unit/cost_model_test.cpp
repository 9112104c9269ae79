// The cost model on functions that are known.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <thread>

#include "host/cost/knob_features.h"
#include "host/cost/prior.h"
#include "host/cost/time_model.h"
#include "tests/unit/decimal_comma.h"

namespace fettle::cost {
namespace {

struct Points {
  std::vector<std::vector<float>> rows;
  std::vector<double> times;
};

// Three inputs that count, two that do not; times from 1 to about 12.
Points points(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  Points result;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<float> row(5);
    for (float& value : row) value = uniform(rng);
    result.times.push_back(1 + 6 * std::fabs(row[0] - 0.3) + 4 * row[1] * row[1] +
                           (row[2] > 0.5 ? 2 : 0));
    result.rows.push_back(std::move(row));
  }
  return result;
}

Table table_of(const std::vector<std::vector<float>>& rows) {
  Table table{5, {}};
  for (const auto& row : rows) table.add(row);
  return table;
}

// Share of pairs in the right order.
double concordance(const std::vector<float>& predicted, const std::vector<double>& times) {
  double right = 0, pairs = 0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (times[i] == times[k]) continue;
      ++pairs;
      right += (predicted[i] < predicted[k]) == (times[i] < times[k]);
    }
  }
  return right / pairs;
}

std::vector<Trial> trials_of(const Points& points) {
  std::vector<Trial> trials;
  for (std::size_t i = 0; i < points.rows.size(); ++i) {
    trials.push_back({points.rows[i], points.times[i] * 1e6, false});
  }
  return trials;
}

TEST(TimeModel, LearnsTheOrderOfAKnownFunction) {
  const Points held = points(200, 2);
  auto model = TimeModel::train(5, trials_of(points(300, 1)), {}, {}, 1);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_GT(concordance(model->mean(table_of(held.rows)), held.times), 0.93);
}

TEST(TimeModel, RefitLearnsWhatNewTrialsTell) {
  const Points held = points(200, 2);
  std::vector<Trial> all = trials_of(points(100, 1));
  std::iter_swap(all.begin(), std::min_element(all.begin(), all.end(), [](auto& a, auto& b) {
                   return a.nanoseconds < b.nanoseconds;
                 }));
  const std::vector<Trial> known(all.begin(), all.begin() + 70);
  const TimeModelOptions how;
  const auto before = TimeModel::train(5, known, {}, how, 1);
  ASSERT_TRUE(before.ok());
  const auto after = TimeModel::refit(*before, 5, all, {}, how, 1);
  ASSERT_TRUE(after.ok()) << after.error().text();
  EXPECT_EQ(after->rounds(), how.rounds + how.refit_rounds);
  EXPECT_EQ(before->rounds(), how.rounds);
  const double was = concordance(before->mean(table_of(held.rows)), held.times);
  EXPECT_GT(concordance(after->mean(table_of(held.rows)), held.times), was);
  // Whatever was trained in between.
  ASSERT_TRUE(TimeModel::train(5, known, {}, how, 9).ok());
  const auto again = TimeModel::refit(*before, 5, all, {}, how, 1);
  EXPECT_EQ(again->mean(table_of(held.rows)), after->mean(table_of(held.rows)));
}

TEST(TimeModel, RefitBeginsAnew) {
  TimeModelOptions how;
  how.most_rounds = how.rounds + how.refit_rounds + 5;
  const std::vector<Trial> known = trials_of(points(40, 1));
  const auto before = TimeModel::train(5, known, {}, how, 1);
  ASSERT_TRUE(before.ok());
  const auto rounds = [&](const TimeModel& model, const std::vector<Trial>& trials) {
    return TimeModel::refit(model, 5, trials, {}, how, 1)->rounds();
  };
  EXPECT_EQ(rounds(*before, known), how.rounds + how.refit_rounds);
  EXPECT_EQ(rounds(*TimeModel::refit(*before, 5, known, {}, how, 1), known), how.rounds)
      << "many rounds";
  EXPECT_EQ(rounds(*before, trials_of(points(90, 1))), how.rounds) << "many more trials";
  std::vector<Trial> faster = known;
  const auto fastest = std::min_element(
      faster.begin(), faster.end(), [](auto& a, auto& b) { return a.nanoseconds < b.nanoseconds; });
  fastest->nanoseconds *= 0.95;
  EXPECT_EQ(rounds(*before, faster), how.rounds + how.refit_rounds) << "a little faster";
  fastest->nanoseconds *= 0.8;
  EXPECT_EQ(rounds(*before, faster), how.rounds) << "much faster";
}

TEST(TimeModel, IsDeterminedByItsSeed) {
  const std::vector<Trial> trials = trials_of(points(60, 1));
  const Table table = table_of(points(20, 2).rows);
  const auto a = TimeModel::train(5, trials, {}, {}, 7)->mean(table);
  EXPECT_EQ(a, TimeModel::train(5, trials, {}, {}, 7)->mean(table));
  EXPECT_NE(a, TimeModel::train(5, trials, {}, {}, 8)->mean(table));
}

// Racing stops slow candidates: their true times are unknown but long.
TEST(TimeModel, CensoredTimesAreLowerBounds) {
  std::vector<Trial> trials = trials_of(points(300, 1));
  for (Trial& trial : trials) {
    if (trial.nanoseconds <= 4e6) continue;
    trial.nanoseconds = 4e6;
    trial.censored = true;
  }
  const Points held = points(300, 2);
  const auto predicted = TimeModel::train(5, trials, {}, {}, 1)->mean(table_of(held.rows));
  double slow = 0, fast = 0, slow_count = 0, fast_count = 0, near = 0, near_count = 0;
  for (std::size_t i = 0; i < held.times.size(); ++i) {
    if (held.times[i] > 7) slow += predicted[i], ++slow_count;
    if (held.times[i] < 3) fast += predicted[i], ++fast_count;
    if (held.times[i] > 3 && held.times[i] < 4) near += predicted[i], ++near_count;
  }
  EXPECT_LT(fast / fast_count, near / near_count);
  // Were a bound taken for a time, what lies far above it would be predicted at it.
  EXPECT_GT(slow / slow_count, near / near_count + 0.1);
}

TEST(TimeModel, FailuresCountAsSlow) {
  std::vector<Trial> trials = trials_of(points(200, 1));
  for (Trial& trial : trials) {
    if (trial.row[3] > 0.8) trial.nanoseconds = 0;
  }
  std::vector<std::vector<float>> rows(2, std::vector<float>{0.3f, 0.2f, 0.2f, 0.9f, 0.5f});
  rows[1][3] = 0.4f;
  const auto predicted = TimeModel::train(5, trials, {}, {}, 1)->mean(table_of(rows));
  EXPECT_GT(predicted[0], predicted[1] + 0.3);
}

TEST(TimeModel, OtherTasksTeachWhatFeaturesMean) {
  const Points there = points(300, 1), held = points(200, 2);
  Experience experience;
  for (std::size_t i = 0; i < there.rows.size(); ++i) {
    experience.add("there", {there.rows[i], 50 * there.times[i], false});
  }
  experience.add("here", {there.rows[0], 1, false});
  EXPECT_EQ(experience.size(), 301u);
  const std::vector<Sample> others = experience.beside("here");
  ASSERT_EQ(others.size(), 300u);
  // Two columns of knobs that the other task does not have.
  auto model = TimeModel::train(7, {}, others, {}, 1);
  ASSERT_TRUE(model) << model.error().text();
  Table table{7, {}};
  for (auto row : held.rows) {
    row.insert(row.end(), {1.0f, 2.0f});
    table.add(row);
  }
  EXPECT_GT(concordance(model->mean(table), held.times), 0.9);
}

// An estimate that is right but for a part that another column explains.
TEST(TimeModel, LearnsByHowMuchAnEstimateIsWrong) {
  const Points known = points(24, 1), held = points(200, 2);
  const auto with_estimate = [](const Points& points) {
    std::vector<std::vector<float>> rows = points.rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const double explained = rows[i][2] > 0.5 ? 2 : 1;
      rows[i].push_back(static_cast<float>(std::log2(points.times[i] / explained)));
    }
    return rows;
  };
  std::vector<Trial> trials = trials_of(known);
  const auto rows = with_estimate(known);
  for (std::size_t i = 0; i < trials.size(); ++i) trials[i].row = rows[i];
  Table table{6, {}};
  for (const auto& row : with_estimate(held)) table.add(row);
  TimeModelOptions how;
  const double blind =
      concordance(TimeModel::train(6, trials, {}, how, 1)->mean(table), held.times);
  how.estimate = estimate_among({"a", "b", "c", "d", "e", "log_estimated_cycles"});
  ASSERT_EQ(how.estimate, 5u);
  EXPECT_FALSE(estimate_among({"a"}));
  const double seeing =
      concordance(TimeModel::train(6, trials, {}, how, 1)->mean(table), held.times);
  EXPECT_GT(seeing, 0.8);
  EXPECT_GT(seeing, blind);
}

TEST(TimeModel, RowsWithoutAnEstimateAreTakenAsTheyAre) {
  std::vector<Trial> trials = trials_of(points(100, 1));
  for (Trial& trial : trials) trial.row.push_back(std::nanf(""));
  TimeModelOptions how;
  how.estimate = 5;
  Table table{6, {}};
  const Points held = points(100, 2);
  for (const auto& row : held.rows) table.add(row);
  const auto model = TimeModel::train(6, trials, {}, how, 1);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_GT(concordance(model->mean(table), held.times), 0.85);
}

TEST(TimeModel, OfAsManyOthersAsItTakesNoneIsLeftOut) {
  const Points there = points(100, 1), held = points(100, 2);
  std::vector<Sample> others;
  for (std::size_t i = 0; i < there.rows.size(); ++i) {
    others.push_back({there.rows[i], there.times[i], false});
  }
  const auto with = [&](std::size_t most) {
    TimeModelOptions how;
    how.most_foreign = most;
    return TimeModel::train(5, {}, others, how, 1)->mean(table_of(held.rows));
  };
  EXPECT_EQ(with(others.size()), with(10 * others.size()));
  EXPECT_NE(with(others.size() - 1), with(others.size()));
}

// Times are told as multiples of it.
TEST(Experience, TheFastestOfManyIsKept) {
  Experience experience;
  experience.add("a", {{0}, 5, true});  // stopped early: not the fastest
  experience.add("a", {{1}, 10, false});
  for (std::size_t i = 0; i < 2 * Experience::kPerTask; ++i) {
    experience.add("a", {{2}, 1000.0 + double(i), false});
  }
  EXPECT_EQ(experience.size(), Experience::kPerTask);
  const auto samples = experience.beside("b");
  ASSERT_EQ(samples.size(), Experience::kPerTask);
  EXPECT_DOUBLE_EQ(samples.front().nanoseconds, 1);
  EXPECT_DOUBLE_EQ(samples.back().nanoseconds, (1000 + 2 * Experience::kPerTask - 1) / 10.0);
}

TEST(Experience, MultiplesAreDividedByThoseOfTheEstimates) {
  Experience experience;
  experience.add("a", {{0, 10}, 300, false});  // its estimate is twice the best's
  experience.add("a", {{1, 9}, 100, false});
  experience.add("a", {{2, 9}, 50, true});  // stopped early: not the best
  const auto plain = experience.beside("b"), divided = experience.beside("b", 1);
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_DOUBLE_EQ(plain[0].nanoseconds, 3);
  EXPECT_DOUBLE_EQ(divided[0].nanoseconds, 1.5);
  EXPECT_DOUBLE_EQ(divided[1].nanoseconds, 1);
  EXPECT_DOUBLE_EQ(divided[2].nanoseconds, 0.5);
  EXPECT_TRUE(experience.beside("a").empty());
}

TEST(TimeModel, NothingToLearnFromIsAnError) {
  EXPECT_EQ(TimeModel::train(5, {}, {}, {}, 1).error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(TimeModel::train(1, {{{1.0f}, 0, false}}, {}, {}, 1).ok());
}

TEST(Booster, RanksAndStopsWhenTold) {
  const Points known = points(200, 1), held = points(200, 2);
  TrainingData data;
  data.features = table_of(known.rows);
  for (double time : known.times) data.labels.push_back(static_cast<float>(1 / time));
  BoosterOptions options;
  options.objective = Objective::Rank;
  int rounds = 0;
  options.finished = [&](std::span<const float> predictions) {
    EXPECT_EQ(predictions.size(), 200u);
    return ++rounds == 40;
  };
  options.rounds = 1000;
  const auto booster = Booster::train(data, options);
  ASSERT_TRUE(booster) << booster.error().text();
  EXPECT_EQ(rounds, 40);
  std::vector<float> slowness = booster->predict(table_of(held.rows));
  for (float& value : slowness) value = -value;
  EXPECT_GT(concordance(slowness, held.times), 0.88);
}

// Else a user's program that set its own locale would search without a model, silently.
TEST(Booster, LearnsTheSameUnderADecimalComma) {
  const auto trials = trials_of(points(100, 1));
  const Table held = table_of(points(100, 2).rows);
  const auto plain = TimeModel::train(5, trials, {}, {}, 1);
  ASSERT_TRUE(plain) << plain.error().text();
  const testing::DecimalComma comma;
  ASSERT_TRUE(comma.there());
  const auto model = TimeModel::train(5, trials, {}, {}, 1);
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->mean(held), plain->mean(held));
  EXPECT_TRUE(TimeModel::refit(*model, 5, trials, {}, {}, 1).ok());
}

TEST(Booster, PredictsFromSeveralThreadsAlike) {
  const Points known = points(100, 1);
  TrainingData data;
  data.features = table_of(known.rows);
  for (double time : known.times) data.labels.push_back(static_cast<float>(time));
  const auto booster = Booster::train(data, {});
  ASSERT_TRUE(booster) << booster.error().text();
  const std::vector<float> expected = booster->predict(data.features);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> seen(4);
  for (auto& one : seen) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) one = booster->predict(data.features);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : seen) EXPECT_EQ(one, expected);
}

TEST(Booster, ATableOfTwoLengthsIsRefused) {
  TrainingData data;
  data.features = table_of(points(3, 1).rows);
  data.labels = {1, 2};
  EXPECT_EQ(Booster::train(data, {}).error().code, ErrorCode::InvalidArgument);
}

TEST(KnobFeatures, SketchesHaveColumnsOfTheirOwn) {
  const space::SearchSpace space({{"a", {{"tile", {{1, 8}, {2, 4}}}, {"unroll", {{16}, {64}}}}},
                                  {"b", {{"pad", {{0}, {1}}}}}});
  ASSERT_EQ(knob_feature_count(space), 1u + 3 + 2 + 2);
  const auto a = knob_features(space, {0, {1, 1}});
  EXPECT_EQ((std::vector<float>{a.begin(), a.begin() + 6}),
            (std::vector<float>{0, 1, 2, 4, 1, 64}));
  EXPECT_TRUE(std::isnan(a[6]) && std::isnan(a[7]));
  const auto b = knob_features(space, {1, {1}});
  EXPECT_EQ(b[0], 1);
  EXPECT_TRUE(std::isnan(b[1]));
  EXPECT_EQ(b[7], 1);
}

// Three features, the last an estimate, which is too low by a factor of four for programs
// whose second feature is large. Tasks differ in size and in how good they can be.
std::vector<Sample> wrongly_estimated(std::size_t count, double scale, std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<Sample> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<float> row = {uniform(rng), uniform(rng), 10 + uniform(rng)};
    const double time = scale * std::exp2(row[2]) * (row[1] > 0.5 ? 4 : 1);
    samples.push_back({row, time, false});
  }
  return samples;
}

const std::vector<std::string> kNames = {"a", "b", "log_estimated_cycles"};

Prior known_prior() {
  return Prior::train(kNames,
                      {{"small", wrongly_estimated(100, 1e3, 1)},
                       {"large", wrongly_estimated(300, 1e6, 2)},
                       {"one trial only", wrongly_estimated(1, 1, 3)}},
                      "a test")
      .value();
}

TEST(Prior, CorrectsEstimatesOfATaskThatItHasNotSeen) {
  const Prior prior = known_prior();
  std::vector<float> textbook, corrected;
  std::vector<double> times;
  for (const Sample& sample : wrongly_estimated(200, 5e4, 4)) {
    std::vector<float> features = sample.features;
    textbook.push_back(features[2]);
    prior.correct(features);
    EXPECT_EQ(features[0], sample.features[0]);
    corrected.push_back(features[2]);
    times.push_back(sample.nanoseconds);
  }
  EXPECT_LT(concordance(textbook, times), 0.8);
  EXPECT_GT(concordance(corrected, times), 0.95);
}

TEST(Prior, IsReadAsItWasWrittenAndFindsItsFeaturesByName) {
  const Prior prior = known_prior();
  const std::string text = prior.text().value();
  const auto read = Prior::parse(text, {"log_estimated_cycles", "new", "b", "a"});
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->origin(), "a test");
  std::vector<float> before = {0.3f, 0.8f, 10.5f}, after = {10.5f, 7, 0.8f, 0.3f};
  prior.correct(before);
  read->correct(after);
  EXPECT_EQ(before[2], after[0]);
  EXPECT_EQ(after[1], 7);
}

TEST(Prior, AnotherFileOrOtherFeaturesAreRefused) {
  const std::string text = known_prior().text().value();
  EXPECT_EQ(Prior::parse(text, {"a", "log_estimated_cycles"}).error().code, ErrorCode::NotFound);
  EXPECT_EQ(Prior::parse("{}\n", kNames).error().code, ErrorCode::Malformed);
  EXPECT_EQ(Prior::parse("", kNames).error().code, ErrorCode::Malformed);
  const std::string head = text.substr(0, text.find('\n') + 1);
  EXPECT_EQ(Prior::parse(head, kNames).error().code, ErrorCode::Malformed);
  EXPECT_EQ(Prior::parse(head + "no model", kNames).error().code, ErrorCode::Malformed);
  EXPECT_EQ(Prior::train({"a"}, {}, "").error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(Prior::train(kNames, {}, "").error().code, ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace fettle::cost

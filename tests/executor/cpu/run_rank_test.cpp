#include "executor/cpu/run_rank.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/executor/trainings.h"

namespace tests {
namespace {

TEST(RunRank, OneRankLearns) {
  for (const auto optimizer : {hw_models::OptimizerKind::kSgd, hw_models::OptimizerKind::kAdamW}) {
    for (const strategies::ModelSpec& model : {tiny_gpt(), tiny_llama()}) {
      const Trained trained = train(tiny_training(model, optimizer));
      EXPECT_NEAR(trained.losses.front(), std::log(256.0), 0.1) << "at first every byte is as likely";
      EXPECT_LE(trained.losses.back(), 0.8 * trained.losses.front()) << model.name;
      for (const double l : trained.losses) printf("%.4f ", l);
      printf("\n");
      for (const double l : trained.gradient_norms) printf("%.4f ", l);
      printf("\n");
    }
  }
}

}  // namespace
}  // namespace tests

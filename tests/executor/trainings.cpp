#include "tests/executor/trainings.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>

#include "executor/communicator/membership.h"
#include "executor/communicator/socket_mesh.h"
#include "executor/corpus.h"
#include "executor/cpu/run_rank.h"
#include "executor/parameter_slice.h"
#include "strategies/build_program.h"
#include "tests/programs/small_plans.h"

namespace tests {
namespace {

using executor::HeldParameter;
using executor::RankSummary;
using executor::StepReport;

/// Losses on it do not move when the documentation does.
constexpr const char* kText =
    "A yard is where trains are put together. Wagons arrive on many tracks, in the order in which the lines beyond "
    "have "
    "sent them, and leave in the order in which the lines ahead want them. Nothing that is done here moves a ton of "
    "coal nearer to a stove; and yet a bad yard starves a city. The yardmaster knows three numbers: how many wagons "
    "stand, how many tracks are free, and how long the engine needs to the hump and back. From these he says at six in "
    "the morning when the last train of the evening will leave, and he is seldom wrong by more than a cigarette. Asked "
    "how, he shrugs: he counts the moves. Every move has a length and every length a time, and an engine can make only "
    "one at once. What he cannot count, he measures once and writes down. A young man with a slide rule came and told "
    "him that the moves could be had in another order. He listened, took his pencil, and counted again. That evening "
    "the train left at nine instead of ten, and the young man was given a cap. 0123456789 +-*/ (x, y) -> {z}; #!?\n";

/// Where the reports of all threads come together.
class Ranks {
 public:
  explicit Ranks(const strategies::Program& program) : collector_(program, nullptr) {}

  void step(int rank, const StepReport& report) {
    const std::lock_guard lock(mutex_);
    collector_.step(rank, report);
  }
  void record(int rank, const strategies::OperationRecord& record) {
    const std::lock_guard lock(mutex_);
    collector_.record(rank, record);
  }
  void finished(int rank, const RankSummary& summary, std::span<const HeldParameter> parameters) {
    const std::lock_guard lock(mutex_);
    collector_.finished(rank, summary);
    for (const HeldParameter& held : parameters) {
      const strategies::TensorSlice& slice = held.buffer->slice;
      std::vector<float>& whole = parameters_[slice.parameter];
      whole.resize(static_cast<std::size_t>(executor::whole_elements(slice)));
      for (const executor::SliceRun& run : executor::slice_runs(slice, held.tensor, held.tensors)) {
        for (std::int64_t i = 0; i < run.length; ++i) {
          const auto local = static_cast<std::size_t>(run.local + i);
          if (local < held.first || local - held.first >= held.values.size()) continue;
          whole[static_cast<std::size_t>(run.global + i)] = held.values[local - held.first];
        }
      }
    }
  }
  Trained take() { return {collector_.take(), std::move(parameters_)}; }

 private:
  std::mutex mutex_;
  executor::RunCollector collector_;
  std::map<std::string, std::vector<float>> parameters_;
};

class Observer final : public executor::RunObserver {
 public:
  Observer(Ranks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
  void step(const StepReport& report) override { ranks_.step(rank_, report); }
  void record(const strategies::OperationRecord& record) override { ranks_.record(rank_, record); }
  void finished(const RankSummary& summary, std::span<const HeldParameter> parameters) override {
    ranks_.finished(rank_, summary, parameters);
  }

 private:
  Ranks& ranks_;
  int rank_;
};

}  // namespace

Trained train(const Training& t) {
  const strategies::Program program = strategies::build_program(t.model, t.training, t.plan, t.implementation);
  const executor::Corpus corpus(kText, t.training.sequence_length, t.settings.seed);
  const int abort = ::eventfd(0, EFD_CLOEXEC);
  const std::vector<std::vector<int>> mesh = executor::socket_mesh(program.ranks());
  Ranks ranks(program);
  std::mutex mutex;
  std::exception_ptr failure;
  std::vector<std::thread> threads;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        const auto communicator = executor::communicator_kinds().front().join(
            {.rank = rank, .ranks = program.ranks(), .sockets = mesh[static_cast<std::size_t>(rank)], .abort = abort});
        Observer observer(ranks, rank);
        executor::cpu::run_rank(program, {rank}, t.settings, corpus, *communicator, observer, {.records = true});
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        ::eventfd_write(abort, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ::close(abort);
  if (failure) std::rethrow_exception(failure);
  return ranks.take();
}

strategies::Implementation cpu_implementation() {
  strategies::Implementation i;
  i.name = "trainyard-cpu";
  i.attention = hw_models::AttentionKernel::kUnfused;
  i.context_attention = hw_models::AttentionKernel::kFlash;
  i.parameter_gather = hw_models::DType::kFp32;
  i.fused_elementwise = false;
  i.fused_gate = i.packed_attention = true;
  i.overlap_gradient_reduce = i.overlap_parameter_gather = i.overlap_weight_gradient = false;
  i.blocking_sends = true;
  i.master_weights = false;
  i.bucket_parameters = 0;
  i.vocabulary_multiple = 1;
  return i;
}

namespace {

strategies::ModelSpec tiny(strategies::ModelSpec model, const char* name) {
  model.name = name;
  model.layers = 4;
  model.hidden = 32;
  model.heads = 4;
  model.ffn = 64;
  model.vocabulary = executor::kByteVocabulary;
  return model;
}

}  // namespace

strategies::ModelSpec tiny_gpt() {
  strategies::ModelSpec model = tiny(small_gpt(), "tiny-gpt");
  model.kv_heads = 4;
  model.max_positions = 16;
  return model;
}

strategies::ModelSpec tiny_llama() {
  strategies::ModelSpec model = tiny(small_model(), "tiny-llama");
  model.kv_heads = 2;
  model.window = {.tokens = 6, .full_every = 2};
  return model;
}

Training tiny_training(const strategies::ModelSpec& model, hw_models::OptimizerKind optimizer) {
  Training t;
  t.model = model;
  t.training.sequence_length = 16;
  t.training.global_batch = 16;
  t.training.precision = hw_models::DType::kFp32;
  t.training.optimizer = optimizer;
  t.plan.micro_batch = 2;
  t.implementation = cpu_implementation();
  t.settings.steps = 30;
  t.settings.warmup_steps = 3;
  const bool adam = optimizer == hw_models::OptimizerKind::kAdamW;
  t.settings.learning_rate = adam ? 0.0012 : 0.1;
  t.settings.weight_decay = adam ? 0.1 : 0.001;
  t.settings.gradient_clip = adam ? 1 : 0;  // clipping hides a gradient of the wrong size
  // AdamW divides by the size of a gradient however small it is. That of a key's bias is zero but for rounding (it
  // shifts all scores of a row alike), which would make its updates noise.
  t.settings.epsilon = 1e-4;
  return t;
}

}  // namespace tests

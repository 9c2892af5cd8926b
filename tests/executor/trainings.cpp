#include "tests/executor/trainings.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <memory>
#include <mutex>
#include <span>
#include <thread>

#include "executor/communicator/membership.h"
#include "executor/communicator/socket_mesh.h"
#include "executor/corpus.h"
#include "executor/cpu/run_rank.h"
#include "executor/parameter_slice.h"
#include "executor/rank_place.h"
#include "strategies/build_program.h"

namespace tests {
namespace {

using executor::HeldParameter;
using executor::RankSummary;
using executor::StepReport;

/// Adds up what the ranks report.
class Ranks {
 public:
  Ranks(const strategies::Program& program, int steps) : program_(program) {
    trained_.losses.resize(static_cast<std::size_t>(steps));
    trained_.gradient_norms.resize(static_cast<std::size_t>(steps));
    trained_.weights_hashes.resize(static_cast<std::size_t>(program.ranks()));
  }

  void step(const StepReport& report) {
    const std::lock_guard lock(mutex_);
    const auto step = static_cast<std::size_t>(report.step);
    losses_[report.step][report.loss_sum] += 1;
    trained_.gradient_norms[step] = report.gradient_norm;
  }
  void record() {
    const std::lock_guard lock(mutex_);
    ++trained_.records;
  }
  void finished(int rank, const RankSummary& summary, std::span<const HeldParameter> parameters) {
    const std::lock_guard lock(mutex_);
    trained_.weights_hashes[static_cast<std::size_t>(rank)] = summary.weights_hash;
    for (const HeldParameter& held : parameters) {
      const strategies::TensorSlice& slice = held.buffer->slice;
      std::vector<float>& whole = trained_.parameters[slice.parameter];
      whole.resize(static_cast<std::size_t>(executor::whole_elements(slice)));
      for (const executor::SliceRun& run : executor::slice_runs(slice, held.tensor, held.tensors)) {
        for (std::int64_t i = 0; i < run.length; ++i) {
          whole[static_cast<std::size_t>(run.global + i)] = held.values[static_cast<std::size_t>(run.local + i)];
        }
      }
    }
  }

  Trained take() {
    // Sums in an order that does not depend on which thread came first.
    for (const auto& [step, sums] : losses_) {
      double loss = 0;
      for (const auto& [sum, times] : sums) loss += sum * times;
      trained_.losses[static_cast<std::size_t>(step)] = loss / static_cast<double>(program_.tokens_per_step);
    }
    for (int rank = 0; rank < program_.ranks(); ++rank) {
      const strategies::Mesh& mesh = program_.views.front();
      const strategies::Rank first = mesh.moved({rank}, mesh.find("dp"), 0);
      trained_.replicas_identical = trained_.replicas_identical && hash(rank) == hash(first.value);
    }
    return std::move(trained_);
  }

 private:
  std::uint64_t hash(int rank) const { return trained_.weights_hashes[static_cast<std::size_t>(rank)]; }

  const strategies::Program& program_;
  std::mutex mutex_;
  std::map<int, std::map<double, int>> losses_;
  Trained trained_;
};

class Observer final : public executor::RunObserver {
 public:
  Observer(Ranks& ranks, int rank) : ranks_(ranks), rank_(rank) {}
  void step(const StepReport& report) override { ranks_.step(report); }
  void record(const strategies::OperationRecord&) override { ranks_.record(); }
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
  const executor::Corpus corpus(std::string(executor::default_corpus()), t.training.sequence_length, t.settings.seed);
  const int abort = ::eventfd(0, EFD_CLOEXEC);
  const std::vector<std::vector<int>> mesh = executor::socket_mesh(program.ranks());
  Ranks ranks(program, t.settings.steps);
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

strategies::ModelSpec tiny_gpt() {
  strategies::ModelSpec m;
  m.name = "tiny-gpt";
  m.layers = 4;
  m.hidden = 32;
  m.heads = m.kv_heads = 4;
  m.head_dim = 8;
  m.ffn = 64;
  m.gated_mlp = false;
  m.activation = strategies::Activation::kGelu;
  m.vocabulary = executor::kByteVocabulary;
  m.tied_embeddings = true;
  m.position = strategies::PositionKind::kLearned;
  m.max_positions = 16;
  m.norm = hw_models::NormKind::kLayerNorm;
  m.qkv_bias = m.attention_output_bias = m.mlp_bias = true;
  return m;
}

strategies::ModelSpec tiny_llama() {
  strategies::ModelSpec m;
  m.name = "tiny-llama";
  m.layers = 4;
  m.hidden = 32;
  m.heads = 4;
  m.kv_heads = 2;
  m.head_dim = 8;
  m.ffn = 64;
  m.vocabulary = executor::kByteVocabulary;
  return m;
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
  t.settings.learning_rate = adam ? 0.01 : 1;
  t.settings.weight_decay = adam ? 0.1 : 0.001;
  t.settings.gradient_clip = 1;
  // AdamW divides by the size of a gradient however small it is. That of a key's bias is zero but for rounding (it
  // shifts all scores of a row alike), which would make its updates noise.
  t.settings.epsilon = 1e-5;
  return t;
}

}  // namespace tests

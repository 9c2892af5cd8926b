#include "scenarios/cli/catalog_figures.h"

#include <fmt/format.h>

#include "scenarios/load/context_exchange_words.h"
#include "scenarios/load/quantity.h"

namespace scenarios {
namespace {

using hw_models::Bytes;
using hw_models::BytesPerSecond;
using hw_models::FlopsPerSecond;
using hw_models::Seconds;
using hw_models::Watts;

/// Rows in order. `key` gets the unit's suffix; a quantity of zero is shown only where zero means something.
class Rows {
 public:
  void add(std::string label, const std::string& key, Bytes value) {
    const double mib = static_cast<double>(value.value()) / 0x1p20;
    const std::string text = value.value() == 0 ? "0"
                             : mib >= 1024      ? fmt::format("{:.6g} GiB", mib / 1024)
                                                : fmt::format("{:.4g} MiB", mib);
    push(std::move(label), key + "_bytes", text, value.value());
  }
  void add(std::string label, const std::string& key, BytesPerSecond value) {
    push(std::move(label), key + "_bytes_per_s",
         value.value() > 0 ? print_quantity(QuantityKind::kBandwidth, value.value()) : "", value.value());
  }
  void add(std::string label, const std::string& key, FlopsPerSecond value) {
    const std::string text = value.value() == 0      ? ""
                             : value.value() >= 1e12 ? fmt::format("{:.6g} TFLOP/s", value.value() / 1e12)
                                                     : fmt::format("{:.6g} GFLOP/s", value.value() / 1e9);
    push(std::move(label), key + "_flops_per_s", text, value.value());
  }
  void add(std::string label, const std::string& key, Seconds value) {
    push(std::move(label), key + "_s", print_quantity(QuantityKind::kTime, value.value()), value.value());
  }
  void add(std::string label, const std::string& key, Watts value) {
    push(std::move(label), key + "_w", fmt::format("{:g} W", value.value()), value.value());
  }
  void add(std::string label, const std::string& key, double value) {
    push(std::move(label), key, fmt::format("{:g}", value), value);
  }
  void add(std::string label, const std::string& key, std::int64_t value) {
    push(std::move(label), key, fmt::format("{}", value), value);
  }
  void add(std::string label, const std::string& key, int value) { add(std::move(label), key, std::int64_t{value}); }
  void add(std::string label, const std::string& key, bool value) {
    push(std::move(label), key, value ? "yes" : "no", value);
  }
  void add(std::string label, const std::string& key, std::string_view value) {
    push(std::move(label), key, std::string(value), value);
  }
  void add(std::string label, const std::string& key, const char* value) {
    add(std::move(label), key, std::string_view(value));
  }
  void push(std::string label, std::string key, std::string text, nlohmann::ordered_json value) {
    rows_.push_back({std::move(label), std::move(key), std::move(text), std::move(value)});
  }
  std::vector<Figure> take() { return std::move(rows_); }

 private:
  std::vector<Figure> rows_;
};

const char* word(hw_models::ScaleUpKind kind) {
  switch (kind) {
    case hw_models::ScaleUpKind::kSwitch:
      return "switch";
    case hw_models::ScaleUpKind::kMesh:
      return "mesh";
    case hw_models::ScaleUpKind::kPairs:
      return "pairs";
    case hw_models::ScaleUpKind::kLinks:
      return "links";
    case hw_models::ScaleUpKind::kNone:
      break;
  }
  return "none";
}

const char* word(strategies::PositionKind kind) {
  switch (kind) {
    case strategies::PositionKind::kLearned:
      return "learned";
    case strategies::PositionKind::kRotary:
      return "rotary";
    case strategies::PositionKind::kAlibi:
      return "alibi";
    case strategies::PositionKind::kNone:
      break;
  }
  return "none";
}

/// "8.03 B", "124 M".
std::string count_text(std::int64_t parameters) {
  const auto number = static_cast<double>(parameters);
  return parameters >= 1'000'000'000 ? fmt::format("{:.4g} B", number / 1e9) : fmt::format("{:.4g} M", number / 1e6);
}

std::string attention_text(hw_models::AttentionKernel kernel) {
  switch (kernel) {
    case hw_models::AttentionKernel::kFlash:
      return "flash";
    case hw_models::AttentionKernel::kFlash2:
      return "flash-2";
    case hw_models::AttentionKernel::kFlash1:
      return "flash-1";
    case hw_models::AttentionKernel::kUnfused:
      break;
  }
  return "unfused";
}

std::string reduction_text(strategies::ShardedReduction reduction) {
  switch (reduction) {
    case strategies::ShardedReduction::kAllReduce:
      return "all-reduce";
    case strategies::ShardedReduction::kAllReduceUnlessFp16:
      return "all-reduce-unless-fp16";
    case strategies::ShardedReduction::kScatter:
      break;
  }
  return "scatter";
}

std::string selective_text(strategies::SelectiveRecompute selective) {
  return selective == strategies::SelectiveRecompute::kAlternateLayers ? "alternate-layers" : "attention";
}

std::string weights_text(strategies::NarrowWeights weights) {
  switch (weights) {
    case strategies::NarrowWeights::kAlone:
      return "alone";
    case strategies::NarrowWeights::kEachUse:
      return "each-use";
    case strategies::NarrowWeights::kBeside:
      break;
  }
  return "beside";
}

/// One row a recipe: "weights alone, gathered narrow, 1 layer wide at either end".
void add_low_precision(Rows& rows, const strategies::LowPrecision& stack) {
  if (stack.recipes.empty()) return;
  rows.add("fp8 means", "usual_fp8", strategies::info(stack.recipes.front().scaling).name);
  rows.add("keeps narrow operands", "keeps_narrow", stack.keeps_narrow);
  for (const strategies::RecipeUse& use : stack.recipes) {
    const std::string_view name = strategies::info(use.scaling).name;
    const std::string ends =
        use.wide_layers > 0 ? fmt::format(", {} layers wide at either end", use.wide_layers) : std::string();
    rows.add(
        std::string(name), std::string(name),
        fmt::format("weights {}{}{}", weights_text(use.weights), use.narrow_gather ? ", gathered narrow" : "", ends));
  }
}

void add_implementation(Rows& rows, const strategies::Implementation& stack) {
  rows.add("attention", "attention", attention_text(stack.attention));
  rows.add("gradient", "gradient", info(stack.gradient).name);
  rows.add("parameter gather", "parameter_gather", info(stack.parameter_gather).name);
  rows.add("logits", "logits", info(stack.logits).name);
  rows.add("context exchange", "context_exchange", context_exchange_word(stack.context_exchange));
  rows.add("sharded reduction", "sharded_reduction", reduction_text(stack.sharded_reduction));
  rows.add("selective recompute", "selective", selective_text(stack.selective));
  rows.add("balanced context", "balanced_context", stack.balanced_context);
  rows.add("dropout", "dropout", stack.dropout);
  rows.add("grouped experts", "grouped_experts", stack.grouped_experts);
  rows.add("fused cross-entropy", "fused_cross_entropy", stack.fused_cross_entropy);
  rows.add("fused elementwise", "fused_elementwise", stack.fused_elementwise);
  rows.add("fused gradient accumulation", "fused_gradient_accumulation", stack.fused_gradient_accumulation);
  rows.add("half gradients until end", "half_gradients_until_end", stack.half_gradients_until_end);
  rows.add("casts products", "casts_products", stack.casts_products);
  rows.add("separate buckets", "separate_buckets", stack.separate_buckets);
  rows.add("copies keys and values", "copies_keys_and_values", stack.copies_keys_and_values);
  rows.add("persistent gathers", "persistent_gathers", stack.persistent_gathers);
  rows.add("flat parameter gather", "flat_parameter_gather", stack.flat_parameter_gather);
  rows.add("overlap gradient reduce", "overlap_gradient_reduce", stack.overlap_gradient_reduce);
  rows.add("overlap parameter gather", "overlap_parameter_gather", stack.overlap_parameter_gather);
  rows.add("gathers at once", "gathers_at_once", stack.gathers_at_once);
  rows.add("overlap weight gradient", "overlap_weight_gradient", stack.overlap_weight_gradient);
  rows.add("blocking sends", "blocking_sends", stack.blocking_sends);
  rows.add("blocking receives", "blocking_receives", stack.blocking_receives);
  rows.add("blocking launches", "blocking_launches", stack.blocking_launches);
  rows.add("balance stages", "balance_stages", stack.balance_stages);
  rows.add("scatter-gather messages", "scatter_gather_messages", stack.scatter_gather_messages);
  rows.add("master weights", "master_weights", stack.master_weights);
  rows.add("CUDA graphs", "cuda_graphs", stack.cuda_graphs);
  rows.add("gradient norm", "gradient_norm", stack.gradient_norm);
  rows.add("loss read", "loss_read", stack.loss_read);
  rows.add("post-validation", "post_validation", stack.post_validation);
  rows.add("bucket parameters", "bucket_parameters", stack.bucket_parameters);
  rows.add("vocabulary multiple", "vocabulary_multiple", stack.vocabulary_multiple);
  rows.add("library workspace", "library_workspace", stack.library_workspace);
  add_low_precision(rows, stack.low_precision);
}

void add_experts(Rows& rows, const strategies::ExpertSpec& experts) {
  rows.add("experts", "experts", experts.experts);
  rows.add("experts per token", "experts_per_token", experts.per_token);
  rows.add("expert ffn", "expert_ffn", experts.ffn);
  rows.add("shared expert ffn", "shared_expert_ffn", experts.shared_ffn);
  if (experts.capacity_factor > 0) rows.add("capacity factor", "capacity_factor", experts.capacity_factor);
}

}  // namespace

std::vector<Figure> figures(const hw_models::GpuSpec& gpu) {
  Rows rows;
  rows.add("vendor", "vendor", gpu.vendor);
  rows.add("architecture", "architecture", gpu.architecture);
  rows.add("multiprocessors", "multiprocessors", gpu.multiprocessors);
  rows.push("boost clock", "boost_clock_hz", fmt::format("{:g} MHz", gpu.boost_clock_hz / 1e6), gpu.boost_clock_hz);
  for (const hw_models::DTypeInfo& dtype : hw_models::kDTypes) {
    rows.add(fmt::format("{} peak", dtype.name), fmt::format("{}_peak", dtype.name), gpu.peak(dtype.dtype));
  }
  rows.add("vector peak", "vector_peak", gpu.vector_peak);
  rows.add("memory", "memory", gpu.memory);
  rows.add("memory bandwidth", "memory_bandwidth", gpu.memory_bandwidth);
  rows.add("L2 cache", "l2", gpu.l2);
  rows.add("matrix efficiency", "matrix_efficiency", gpu.matrix_efficiency);
  for (const hw_models::DTypeInfo& dtype : hw_models::kDTypes) {
    if (gpu.relative_efficiency[static_cast<std::size_t>(dtype.dtype)] <= 0) continue;
    rows.add(fmt::format("{} efficiency", dtype.name), fmt::format("{}_efficiency", dtype.name),
             gpu.efficiency(dtype.dtype));
  }
  rows.add("fp8 in any layout", "fp8_any_layout", gpu.fp8_any_layout);
  rows.add("sustained clock", "sustained_clock", gpu.sustained_clock);
  rows.add("speed spread", "speed_spread", gpu.speed_spread);
  rows.add("memory efficiency", "memory_efficiency", gpu.memory_efficiency);
  rows.add("misaligned heads", "misaligned_efficiency", gpu.misaligned_efficiency);
  rows.add("idle power", "idle_power", gpu.idle_power);
  rows.add("active power", "active_power", gpu.active_power);
  return rows.take();
}

std::vector<Figure> figures(const hw_models::NodeSpec& node) {
  Rows rows;
  rows.add("GPU", "gpu", node.gpu);
  rows.add("GPUs", "gpus", node.gpus);
  rows.add("scale-up", "scale_up", word(node.scale_up));
  rows.add("scale-up domain", "scale_up_domain", node.scale_up_domain);
  rows.add("scale-up bandwidth", "scale_up_bandwidth", node.scale_up_bandwidth);
  rows.add("pair bandwidth", "pair_bandwidth", node.pair_bandwidth);
  rows.add("scale-up latency", "scale_up_latency", node.scale_up_latency);
  rows.add("NICs", "nics", node.nics);
  rows.push("NIC bandwidth", "nic_bandwidth_bytes_per_s",
            node.nics > 0 ? fmt::format("{:g} Gb/s", node.nic_bandwidth.value() * 8 / 1e9) : "",
            node.nic_bandwidth.value());
  rows.add("GPUs per PCIe switch", "gpus_per_pcie_switch", node.gpus_per_pcie_switch);
  rows.add("NUMA domains", "numa_domains", node.numa_domains);
  rows.add("PCIe bandwidth", "pcie_bandwidth", node.pcie_bandwidth);
  rows.add("host speed", "host_speed", node.host_speed);
  rows.add("PCIe latency", "pcie_latency", node.pcie_latency);
  if (node.collectives) {
    rows.add("collective launch", "collective_launch", node.collectives->launch);
    rows.add("collective step", "collective_step", node.collectives->step);
    rows.add("collective bandwidth", "collective_bandwidth", node.collectives->bandwidth);
    rows.add("collective ramp", "collective_ramp", node.collectives->ramp);
  }
  rows.add("overhead power", "overhead_power", node.overhead_power);
  rows.push("USD per hour", "usd_per_hour", node.usd_per_hour > 0 ? fmt::format("{:.2f}", node.usd_per_hour) : "",
            node.usd_per_hour);
  rows.add("price date", "price_date", node.price_date);
  return rows.take();
}

std::vector<Figure> figures(const hw_models::FabricSpec& fabric) {
  Rows rows;
  rows.add("kind", "kind", name(fabric.kind));
  if (fabric.kind == hw_models::FabricKind::kNone) return rows.take();
  rows.add("nodes per unit", "nodes_per_unit", fabric.nodes_per_unit);
  rows.add("oversubscription", "oversubscription", fabric.oversubscription);
  if (fabric.units_per_pod > 0) {
    rows.add("units per pod", "units_per_pod", fabric.units_per_pod);
    rows.add("spine oversubscription", "spine_oversubscription", fabric.spine_oversubscription);
  }
  if (fabric.planes > 1) rows.add("planes", "planes", fabric.planes);
  if (fabric.uplinks > 0) rows.add("uplinks of a leaf", "uplinks", fabric.uplinks);
  rows.add("efficiency", "efficiency", fabric.efficiency);
  rows.add("switch latency", "switch_latency", fabric.switch_latency);
  rows.add("endpoint latency", "endpoint_latency", fabric.endpoint_latency);
  rows.add("jitter", "jitter", fabric.jitter);
  if (fabric.collectives) {
    rows.add("collective launch", "collective_launch", fabric.collectives->launch);
    rows.add("collective step", "collective_step", fabric.collectives->step);
    rows.add("collective ramp", "collective_ramp", fabric.collectives->ramp);
  }
  rows.add("power per port", "power_per_port", fabric.power_per_port);
  return rows.take();
}

std::vector<Figure> figures(const SoftwareStack& software) {
  Rows rows;
  add_implementation(rows, software.implementation);
  const hw_models::SoftwareSpec& prices = software.prices;
  rows.add("kernel launch", "kernel_launch", prices.kernel_launch);
  rows.add("collective launch", "collective_launch", prices.collective_launch);
  rows.add("collective member", "collective_member", prices.collective_member);
  rows.add("shard copy", "shard_copy", prices.shard_copy);
  rows.add("synchronize", "synchronize", prices.synchronize);
  rows.add("step overhead", "step_overhead", prices.step_overhead);
  rows.add("kernel gap", "kernel_gap", prices.kernel_gap);
  rows.add("allocator overhead", "allocator_overhead", prices.allocator_overhead);
  rows.add("defers frees", "defers_frees", prices.defers_frees);
  rows.add("single engine", "single_engine", prices.single_engine);
  rows.add("context", "context", prices.context);
  rows.add("communicator", "communicator", prices.communicator);
  rows.add("NCCL", "nccl", fmt::format("2.{}", prices.nccl));
  return rows.take();
}

std::vector<Figure> figures(const strategies::ModelSpec& model) {
  const strategies::ParameterCount count = count_parameters(model);
  Rows rows;
  rows.push("parameters", "parameters", count_text(count.total), count.total);
  rows.push("active", "active_parameters", count_text(count.active), count.active);
  rows.add("layers", "layers", model.layers);
  rows.add("hidden", "hidden", model.hidden);
  rows.add("heads", "heads", model.heads);
  rows.add("kv heads", "kv_heads", model.kv_heads);
  rows.add("head dim", "head_dim", model.head_dim);
  rows.add("ffn", "ffn", model.ffn);
  rows.add("gated MLP", "gated_mlp", model.gated_mlp);
  rows.add("vocabulary", "vocabulary", model.vocabulary);
  rows.add("tied embeddings", "tied_embeddings", model.tied_embeddings);
  rows.add("position", "position", word(model.position));
  if (model.window) {
    rows.add("attention window", "attention_window", model.window->tokens);
    rows.add("full attention every", "full_attention_every", model.window->full_every);
  }
  if (model.extra_prediction_layers > 0) {
    rows.add("extra prediction layers", "extra_prediction_layers", model.extra_prediction_layers);
    rows.push("their parameters", "prediction_parameters", count_text(count.prediction), count.prediction);
  }
  if (model.experts) add_experts(rows, *model.experts);
  if (model.latent) {
    rows.add("latent query rank", "latent_query_rank", model.latent->query_rank);
    rows.add("latent kv rank", "latent_kv_rank", model.latent->kv_rank);
  }
  return rows.take();
}

std::vector<Figure> figures(const strategies::Schedule& schedule) {
  Rows rows;
  rows.add("summary", "summary", schedule.summary);
  rows.add("fewest chunks", "minimum_chunks", schedule.minimum_chunks);
  rows.add("most chunks", "maximum_chunks", schedule.maximum_chunks);
  rows.add("microbatches a multiple of stages", "microbatches_multiple_of_stages",
           schedule.microbatches_multiple_of_stages);
  rows.add("fewest microbatches per stage", "fewest_microbatches", schedule.fewest_microbatches);
  rows.add("weight gradients apart", "splits_backward", schedule.splits_backward);
  return rows.take();
}

}  // namespace scenarios

#include "scenarios/load/load_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "scenarios/load/read_file.h"
#include "scenarios/load/sections.h"
#include "scenarios/number_format.h"
#include "scenarios/user_words.h"
#include "strategies/build_program.h"
#include "strategies/pipeline/schedule.h"

namespace scenarios {
namespace {

constexpr std::size_t kMaximumFileBytes = std::size_t{1} << 20;  // parse_yaml refuses more
constexpr std::array<std::string_view, 2> kLaterSections{"failures", "candidates"};

std::optional<Value> entry_of(const Value& map, std::string_view key) {
  const std::vector<Value::Entry> entries = map.entries();
  const auto found = std::ranges::find(entries, key, &Value::Entry::key);
  return found == entries.end() ? std::nullopt : std::optional(found->value);
}

/// The root without `section.key`.
Value dropped(const Value& root, std::string_view section, std::string_view key) {
  const std::optional<Value> found = entry_of(root, section);
  if (!found || found->kind() != Value::Kind::kMap) return root;
  return replaced(root, section, without(*found, key));
}

/// Words for the number of like nodes, where the scenario lists nodes of several kinds: a finding.
bool sizes_a_list(const Value& root, const std::string& key, const Override& override, Diagnostics& diagnostics) {
  if (key != "cluster.gpus" && key != "cluster.nodes") return false;
  if (key == "cluster.nodes" && override.value.find_first_not_of(' ') == override.value.find('[')) return false;
  const std::optional<Value> cluster = entry_of(root, "cluster");
  const std::optional<Value> nodes = cluster ? entry_of(*cluster, "nodes") : std::nullopt;
  if (!nodes || nodes->kind() != Value::Kind::kList) return false;
  const Place place{0, 0, diagnostics.add_override(fmt::format("--set {}={}", key, override.value))};
  diagnostics.error(place, "the scenario lists several kinds of nodes: one number does not say how many of each",
                    "write the whole list, e.g. --set 'cluster.nodes=[{node: dgx-h100, count: 4}]'");
  return true;
}

Value with_overrides(Value root, const std::vector<Override>& overrides, Diagnostics& diagnostics) {
  for (const Override& override : overrides) {
    const std::string key = key_of(override.path);
    if (sizes_a_list(root, key, override, diagnostics)) continue;
    // The size of the cluster has two names; the one on the command line wins.
    if (key == "cluster.gpus") root = dropped(root, "cluster", "nodes");
    if (key == "cluster.nodes") root = dropped(root, "cluster", "gpus");
    root = with_override(root, key, override.value, diagnostics);
  }
  return root;
}

Value without_later_sections(Value root, Diagnostics& diagnostics) {
  for (const Value::Entry& entry : root.entries()) {
    if (std::ranges::find(kLaterSections, entry.key) == kLaterSections.end()) continue;
    diagnostics.error(entry.place, fmt::format("'{}' is not supported by this version", entry.key), "remove it");
    root = without(root, entry.key);
  }
  return root;
}

/// The sections that could be read.
struct Sections {
  std::optional<strategies::ModelSpec> model;
  std::optional<strategies::TrainingSpec> training;
  std::optional<ClusterSection> cluster;
  std::optional<strategies::PlanSpec> plan;
  std::optional<PlacementSection> placement;
  strategies::PlacementChoice seats;  ///< from `placement`, once the cluster and the ranks are known
  std::optional<FaultsSection> faults;
  std::optional<SoftwareStack> software;
  std::optional<ExecuteSection> execute;
};

Sections read_sections(const Value& root, Reading& reading) {
  Sections sections;
  MapReader reader(root, reading.diagnostics);
  if (root.kind() != Value::Kind::kMap) return sections;
  if (const auto value = reader.value("model")) sections.model = read_model(*value, reading);
  if (!reader.has("model")) reader.missing("model", "a catalogue name, a path to a config.json, or a map");
  if (const auto value = reader.value("training")) sections.training = read_training(*value, reading);
  if (!reader.has("training"))
    reader.missing("training", "write training: {sequence_length: 8192, global_batch: 1024}");
  if (const auto value = reader.value("cluster")) sections.cluster = read_cluster(*value, reading);
  if (!reader.has("cluster")) reader.missing("cluster", "write cluster: {node: dgx-h100, nodes: 1}");
  if (const auto value = reader.value("plan")) sections.plan = read_plan(*value, reading);
  if (!reader.has("plan")) reader.missing("plan", "write plan: {tensor: 8}");
  if (const auto value = reader.value("placement")) sections.placement = read_placement(*value, reading);
  if (const auto value = reader.value("faults")) sections.faults = read_faults(*value, reading);
  if (const auto value = reader.value("execute")) {
    sections.execute = read_execute(*value, reading);
    if (sections.execute && sections.training) sections.training->optimizer = sections.execute->optimizer;
  }
  if (const auto value = reader.value("software")) {
    sections.software = read_software(*value, reading);
  } else if (!reader.has("software")) {
    sections.software = reading.catalog.software("megatron-core");
  }
  reader.finish();
  return sections;
}

/// Every GPU of the cluster must have the format; what one of them cannot do without copies, the job does not.
void check_format(const Value& root, Sections& sections, Diagnostics& diagnostics) {
  const ClusterSection& cluster = *sections.cluster;
  std::vector<const hw_models::GpuSpec*> gpus;
  if (!cluster.cluster.mixed()) gpus.push_back(&cluster.gpu);
  for (const hw_models::NodePool& pool : cluster.cluster.pools) gpus.push_back(&pool.gpu);
  strategies::Implementation& implementation = sections.software->implementation;
  for (const hw_models::GpuSpec* gpu : gpus) {
    implementation = on_gpu(implementation, *gpu);
    const auto defect = format_defect(*sections.training, *gpu, implementation);
    if (defect) diagnostics.error(place_of(root, "training.precision"), defect->message, defect->advice);
  }
}

/// Bounds the schedule that is built and simulated: all calls of forward chunks in one replica's step.
void check_schedule_size(const Value& root, const strategies::TrainingSpec& training, const strategies::PlanSpec& plan,
                         Diagnostics& diagnostics) {
  constexpr double kMostCalls = 2e6;  // some seconds and a gigabyte
  const auto microbatches = static_cast<double>(training.global_batch / (plan.data * plan.micro_batch));
  const double calls = microbatches * plan.pipeline * plan.chunks;
  if (calls <= kMostCalls) return;
  diagnostics.error(place_of(root, "training.global_batch"),
                    fmt::format("{:.0f} microbatches x {} pipeline stages x {} chunks are too many to simulate",
                                microbatches, plan.pipeline, plan.chunks),
                    "use a larger micro_batch, more data ranks or fewer stages and chunks");
}

/// Bytes are counted in 64 bits: an upper bound, in floating point, of what the microbatches in flight keep.
double activation_bytes(const Sections& sections) {
  const strategies::ModelSpec& model = *sections.model;
  const strategies::PlanSpec& plan = *sections.plan;
  const auto sequence = static_cast<double>(sections.training->sequence_length);
  const auto heads = static_cast<double>(model.heads);
  const double tokens = static_cast<double>(plan.micro_batch) * sequence;
  const double microbatches = static_cast<double>(sections.training->global_batch) / static_cast<double>(plan.data) /
                              static_cast<double>(plan.micro_batch);
  const strategies::Schedule* schedule = strategies::find_schedule(plan.schedule);
  const bool all = plan.schedule == "gpipe" || (schedule != nullptr && schedule->splits_backward);
  const double in_flight = all ? microbatches : std::min(microbatches, 1.0 * plan.pipeline * plan.chunks);
  // Elements a token keeps in a layer: streams, queries, keys and values, MLP, and its row of the scores if kept.
  const bool scores = sections.software->implementation.attention == hw_models::AttentionKernel::kUnfused;
  const double of_layer = 16 * static_cast<double>(model.hidden) + 4 * heads * static_cast<double>(model.head_dim) +
                          4 * static_cast<double>(model.ffn) + (scores ? 2 * heads * sequence : 0) + heads;
  constexpr double kWidestElement = 4;
  return kWidestElement * tokens * in_flight * (model.layers * of_layer + 2 * static_cast<double>(model.vocabulary));
}

void check_activation_size(const Value& root, const Sections& sections, Diagnostics& diagnostics) {
  constexpr double kMostBytes = 1e18;  // 2^63 is 9.2e18
  const double bytes = activation_bytes(sections);
  if (bytes <= kMostBytes) return;
  diagnostics.error(place_of(root, "plan.micro_batch"),
                    fmt::format("the activations would take {:.2g} bytes, more than can be counted", bytes),
                    "use a smaller micro_batch or sequence_length");
}

/// Checks that need more than one section.
void check_together(const Value& root, Sections& sections, Reading& reading) {
  Diagnostics& diagnostics = reading.diagnostics;
  if (sections.plan && sections.cluster) {
    complete_plan(root, sections.cluster->cluster, *sections.plan, diagnostics);
    if (sections.placement && !diagnostics.has_errors()) {
      const hw_models::ClusterSpec& cluster = sections.cluster->cluster;
      const auto seats = complete_placement(*sections.placement, cluster, sections.plan->ranks(), reading);
      sections.seats = seats.value_or(strategies::PlacementChoice{});
    }
  }
  if (sections.training && sections.cluster && sections.software) check_format(root, sections, diagnostics);
  if (sections.faults && sections.cluster) {
    check_faults(root, *sections.faults, sections.cluster->cluster, sections.seats, diagnostics);
  }
  if (!sections.model || !sections.training || !sections.plan) return;
  // Without a known number of replicas the rest of the plan is still worth checking.
  const bool replicas_known = sections.plan->data > 0;
  if (!replicas_known) sections.plan->data = 1;
  const strategies::Implementation implementation =
      sections.software ? sections.software->implementation : strategies::Implementation{};
  for (const strategies::PlanFinding& finding :
       strategies::check_plan(*sections.model, *sections.training, *sections.plan, implementation)) {
    if (!replicas_known && finding.path == "training.global_batch") continue;
    const Place place = place_of(root, finding.path);
    if (finding.warning) {
      diagnostics.warning(place, finding.message, finding.advice);
    } else {
      diagnostics.error(place, finding.message, finding.advice);
    }
  }
  if (replicas_known && !diagnostics.has_errors()) {
    check_schedule_size(root, *sections.training, *sections.plan, diagnostics);
    if (sections.software) check_activation_size(root, sections, diagnostics);
  }
}

}  // namespace

Place place_of(const Value& root, std::string_view path) {
  Value value = root;
  while (!path.empty()) {
    const std::size_t dot = path.find('.');
    const std::optional<Value> inner = entry_of(value, path.substr(0, dot));
    if (!inner) break;
    value = *inner;
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value.place();
}

std::optional<Scenario> read_scenario(const std::string& text, const std::filesystem::path& folder,
                                      const Catalog& catalog, const std::vector<Override>& overrides,
                                      Diagnostics& diagnostics, std::string& other_files) {
  std::optional<Value> root = parse_yaml(text, diagnostics);
  if (!root) return std::nullopt;
  root = without_later_sections(with_overrides(*root, overrides, diagnostics), diagnostics);
  Reading reading{catalog, folder, diagnostics, ""};
  Sections sections = read_sections(*root, reading);
  check_together(*root, sections, reading);
  other_files = reading.other_files;
  if (diagnostics.has_errors() || !other_files.empty()) return std::nullopt;
  return Scenario{.name = std::filesystem::path(diagnostics.file()).filename().string(),
                  .model = sections.model.value(),
                  .training = sections.training.value(),
                  .plan = sections.plan.value(),
                  .cluster = sections.cluster.value().cluster,
                  .gpu = sections.cluster->gpu,
                  .price = sections.cluster->price,
                  .placement = sections.seats,
                  .faults = sections.faults.value_or(FaultsSection{}).faults,
                  .software = sections.software.value(),
                  .execute = sections.execute.value_or(ExecuteSection{}).spec,
                  .warnings = diagnostics.warnings()};
}

Scenario load_scenario_text(const std::string& text, const std::string& file, const std::filesystem::path& folder,
                            const Catalog& catalog, const std::vector<Override>& overrides) {
  Diagnostics diagnostics(file, text);
  std::string other_files;
  std::optional<Scenario> scenario = read_scenario(text, folder, catalog, overrides, diagnostics, other_files);
  if (!scenario) throw InputError(diagnostics.print() + other_files);
  return *scenario;
}

Scenario load_scenario(const std::filesystem::path& path, const Catalog& catalog,
                       const std::vector<Override>& overrides) {
  const std::filesystem::path folder = path == "-" ? "." : path.parent_path();
  return load_scenario_text(read_file(path, kMaximumFileBytes), path.string(), folder, catalog, overrides);
}

}  // namespace scenarios

#include "scenarios/predict/placement_warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw_models/cluster_numbering.h"
#include "scenarios/predict/gpu_kinds.h"

namespace scenarios {
namespace {

using strategies::FamilySpread;

const FamilySpread* find_family(const std::vector<FamilySpread>& families, const std::string& name) {
  const auto found = std::ranges::find(families, name, &FamilySpread::name);
  return found == families.end() ? nullptr : &*found;
}

int tensor_outside(const std::vector<FamilySpread>& families) {
  const FamilySpread* tensor = find_family(families, "tensor");
  return tensor == nullptr ? 0 : tensor->across_domains;
}

class Warnings {
 public:
  Warnings(const Scenario& scenario, const strategies::Program& program, const PlacedJob& job,
           const std::vector<FamilySpread>& families)
      : scenario_(scenario), program_(program), job_(job), families_(families) {}

  std::vector<std::string> run() {
    unlike_tensor_ranks();
    for (const FamilySpread& family : families_) {
      if (family.name == "tensor" && family.across_domains > 0) {
        tensor(family);
      } else if (family.misrailed > 0 && suffers(family)) {
        misrailed(family);
      }
    }
    return std::move(warnings_);
  }

 private:
  /// The whole job sums a number; messages are handed to a neighbour on the right rail where one is near (PXN).
  bool suffers(const FamilySpread& family) const {
    bool hands_over = true;
    for (std::size_t pool = 0; pool < scenario_.cluster.pool_count(); ++pool) {
      const hw_models::ScaleUpKind kind = scenario_.cluster.node_of_pool(pool).scale_up;
      hands_over = hands_over && (kind == hw_models::ScaleUpKind::kSwitch || kind == hw_models::ScaleUpKind::kMesh);
    }
    return family.name != "world" && !(family.name == "pipeline" && hands_over);
  }

  static std::string counted(int count, const FamilySpread& family) {
    const std::string all = family.name == "pipeline"
                                ? fmt::format("{} pipelines of {} stages", family.groups, family.ranks)
                                : fmt::format("{} {} groups of {} ranks", family.groups, family.name, family.ranks);
    return count == family.groups ? "all " + all : fmt::format("{} of {}", count, all);
  }

  /// Tensor groups whose members sit on several kinds of GPU.
  void unlike_tensor_ranks() {
    if (!scenario_.cluster.mixed()) return;
    const auto tensor = std::ranges::find(program_.groups, "tensor", &strategies::Group::name);
    const FamilySpread* family = find_family(families_, "tensor");
    if (tensor == program_.groups.end() || family == nullptr) return;
    std::vector<std::string> names;  // by pool, of the GPU's kind
    for (std::size_t pool = 0; pool < scenario_.cluster.pool_count(); ++pool) {
      names.push_back(kind_name(scenario_.cluster, hw_models::first_of_kind(scenario_.cluster, pool)));
    }
    int unlike = 0;
    std::set<std::string_view> kinds;
    for (const std::vector<int>& group : strategies::placed_groups(program_, *tensor, job_.placement)) {
      std::set<std::string_view> own;
      for (const int gpu : group) own.insert(names[static_cast<std::size_t>(job_.cluster.pool_of(gpu))]);
      if (own.size() < 2) continue;
      ++unlike;
      kinds.insert(own.begin(), own.end());
    }
    if (unlike == 0) return;
    warnings_.push_back(fmt::format(
        "{} mix {}: in every layer the faster GPUs wait for the slower; let tensor divide the GPUs of every "
        "entry of cluster.nodes",
        counted(unlike, *family), fmt::join(kinds, " and ")));
  }

  void tensor(const FamilySpread& family) {
    const int domain = hw_models::least_of_nodes(scenario_.cluster, hw_models::domain_size);
    std::string advice = "let rank_order begin with tp";
    if (family.ranks > domain) {
      advice = fmt::format("use tensor: {} or less", domain);
    } else if (const auto rule = better_rule([](const auto& spread) { return tensor_outside(spread); })) {
      advice = fmt::format("placement: {} keeps them together", *rule);
    } else if (scenario_.placement.listed()) {
      advice = "give the ranks of a tensor group seats on one host";
    } else if (domain % family.ranks != 0) {
      advice = fmt::format("use a tensor that divides {}", domain);
    }
    warnings_.push_back(
        fmt::format("{} lie on more than one {} of {} GPUs: what they exchange in every layer goes "
                    "through NICs; {}",
                    counted(family.across_domains, family),
                    domain > scenario_.cluster.node.gpus ? "scale-up domain" : "node", domain, advice));
  }

  void misrailed(const FamilySpread& family) {
    warnings_.push_back(
        fmt::format("{} are mis-railed, on other rails on one node than on another: their traffic "
                    "crosses the spine switches; {}",
                    counted(family.misrailed, family), rail_advice(family.name)));
  }

  std::string rail_advice(const std::string& name) const {
    const auto misrailed_in = [&name](const std::vector<FamilySpread>& families) {
      const FamilySpread* family = find_family(families, name);
      return family == nullptr ? 0 : family->misrailed;
    };
    if (!scenario_.faults.dead_nics.empty()) {
      Scenario sound = scenario_;
      sound.faults = {};
      const PlacedJob job = place_job(sound, program_);
      if (misrailed_in(strategies::spread_families(program_, job.placement, job.cluster)) == 0) {
        return "the dead NIC moved them";
      }
    }
    if (const auto rule = better_rule(misrailed_in)) return fmt::format("placement: {} keeps them on theirs", *rule);
    if (scenario_.placement.listed()) return "give the ranks of a group seats at the same device of their hosts";
    return fmt::format("let tensor x pipeline divide the {} GPUs of a node or fill whole nodes",
                       scenario_.cluster.node.gpus);
  }

  /// The rule with the fewest groups that `count` counts, if that is fewer than now, and no more tensor groups outside.
  template <class Count>
  std::optional<std::string> better_rule(const Count& count) const {
    int least = count(families_);
    std::optional<std::string> best;
    if (!hw_models::gpus_of_every_node(scenario_.cluster)) return best;
    for (const strategies::PlacementRule& rule : strategies::placement_rules()) {
      const auto spread =
          strategies::spread_families(program_, rule.place(program_, scenario_.cluster.node.gpus), job_.cluster);
      if (count(spread) >= least || tensor_outside(spread) > tensor_outside(families_)) continue;
      least = count(spread);
      best = std::string(rule.name);
    }
    return best;
  }

  const Scenario& scenario_;
  const strategies::Program& program_;
  const PlacedJob& job_;
  const std::vector<FamilySpread>& families_;
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> placement_warnings(const Scenario& scenario, const strategies::Program& program,
                                            const PlacedJob& job, const std::vector<FamilySpread>& families) {
  return Warnings(scenario, program, job, families).run();
}

}  // namespace scenarios

// The catalogue: what is known of GPUs, nodes, fabrics, software stacks and models. Embedded in the binary; a
// directory of the user's own files may lie over it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hw_models/fabric.h"
#include "hw_models/gpu.h"
#include "hw_models/node.h"
#include "hw_models/software.h"
#include "strategies/implementation.h"
#include "strategies/model.h"

namespace scenarios {

/// One file: kind is the folder it stands in ("gpus", "nodes", "fabrics", "software", "models").
struct CatalogFile {
  std::string kind, name, path, text;  ///< path as shown in messages: "catalog:gpus/h100-sxm-80gb.yaml" or a real path
};

/// A software stack fixes both the operations (implementation) and their surroundings' prices.
struct SoftwareStack {
  strategies::Implementation implementation;
  hw_models::SoftwareSpec prices;
  std::string usual_node;  ///< where its published runs were made, for runs that do not name their network; may be ""
};

class Catalog {
 public:
  /// The embedded files, overlaid by DIR/{gpus,nodes,fabrics,software,models}/*.yaml when given.
  explicit Catalog(const std::optional<std::filesystem::path>& overlay = std::nullopt);

  std::vector<std::string> names(std::string_view kind) const;  ///< sorted
  const CatalogFile* find(std::string_view kind, std::string_view name) const;
  /// Puts another text into a file that is there; its defects show when it is loaded.
  void replace(std::string_view kind, std::string_view name, std::string text);
  /// Each throws InputError (diagnostics.h) when the file has defects; nullopt when the name is unknown.
  std::optional<hw_models::GpuSpec> gpu(std::string_view name) const;
  std::optional<hw_models::NodeSpec> node(std::string_view name) const;
  std::optional<hw_models::FabricSpec> fabric(std::string_view name) const;
  std::optional<SoftwareStack> software(std::string_view name) const;
  std::optional<strategies::ModelSpec> model(std::string_view name) const;

 private:
  std::vector<CatalogFile> files_;  ///< sorted by (kind, name)
};

inline constexpr std::string_view kCatalogKinds[] = {"gpus", "nodes", "fabrics", "software", "models"};

}  // namespace scenarios

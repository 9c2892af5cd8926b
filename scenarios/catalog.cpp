#include "scenarios/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <tuple>
#include <utility>

#include "scenarios/embedded_catalog.h"
#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"
#include "scenarios/load/read_file.h"

namespace scenarios {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaximumFileBytes = 1 << 20;  // the largest entry we ship has 4 KB

auto order(const CatalogFile& file) { return std::tie(file.kind, file.name); }

/// A file in `kind`'s folder: what `loader` makes of it, or every defect at once.
template <class Spec>
std::optional<Spec> load(const CatalogFile* file,
                         std::optional<Spec> (*loader)(const Value&, const std::string&, Diagnostics&)) {
  if (file == nullptr) return std::nullopt;
  Diagnostics diagnostics(file->path, file->text);
  std::optional<Spec> spec;
  if (const std::optional<Value> root = parse_yaml(file->text, diagnostics)) {
    MapReader reader(*root, diagnostics);
    if (root->kind() == Value::Kind::kMap) {
      if (!reader.has("source")) reader.missing("source", "say where the figures come from");
      const std::optional<std::string> name = reader.has("name") ? reader.text("name") : std::nullopt;
      if (name && *name != file->name) {
        diagnostics.error(reader.place("name"), fmt::format("'name: {}' differs from the file's name", *name),
                          "leave it out");
      }
      spec = loader(*root, file->name, diagnostics);
    }
  }
  if (diagnostics.has_errors()) throw InputError(diagnostics.print());
  return spec;
}

/// Entries of a folder, sorted; InputError when it cannot be listed.
std::vector<fs::path> listing(const fs::path& folder) {
  std::error_code failure;
  std::vector<fs::path> paths;
  for (fs::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    paths.push_back(it->path());
  }
  if (failure) throw InputError(fmt::format("{}: error: {}\n", folder.string(), failure.message()));
  std::ranges::sort(paths);
  return paths;
}

/// The kind whose folder this is. A misspelt folder would be ignored in silence, so it is an error.
std::string kind_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  const std::vector<std::string> kinds(std::begin(kCatalogKinds), std::end(kCatalogKinds));
  if (std::ranges::find(kinds, name) != kinds.end()) return name;
  const std::optional<std::string> near = nearest(name, kinds);
  throw InputError(fmt::format(
      "{}: error: not a kind of catalogue entries; {}\n", folder.string(),
      near ? fmt::format("did you mean '{}'?", *near) : fmt::format("folders are {}", fmt::join(kinds, ", "))));
}

std::vector<CatalogFile> overlay_files(const fs::path& directory) {
  std::error_code failure;
  if (!fs::exists(directory, failure)) {
    throw InputError(fmt::format("{}: error: the catalogue directory does not exist\n", directory.string()));
  }
  if (!fs::is_directory(directory, failure)) {
    throw InputError(fmt::format("{}: error: the catalogue is not a directory\n", directory.string()));
  }
  std::vector<CatalogFile> files;
  for (const fs::path& folder : listing(directory)) {
    if (!fs::is_directory(folder, failure)) continue;
    if (folder.filename().string().starts_with('.')) continue;
    const std::string kind = kind_of(folder);
    for (const fs::path& path : listing(folder)) {
      if (path.extension() != ".yaml") continue;
      files.push_back(
          {kind, path.stem().string(), path.string(), read_bounded_file(path, kMaximumFileBytes, "a catalogue file")});
    }
  }
  if (files.empty()) {
    throw InputError(fmt::format("{}: error: no catalogue files; expected {{{}}}/NAME.yaml\n", directory.string(),
                                 fmt::join(kCatalogKinds, ",")));
  }
  return files;
}

/// Loads one entry for its findings alone.
void check_entry(const Catalog& catalog, const CatalogFile& file) {
  if (file.kind == "gpus") catalog.gpu(file.name);
  if (file.kind == "nodes") catalog.node(file.name);
  if (file.kind == "fabrics") catalog.fabric(file.name);
  if (file.kind == "software") catalog.software(file.name);
  if (file.kind == "models") catalog.model(file.name);
}

}  // namespace

Catalog::Catalog(const std::optional<std::filesystem::path>& overlay) {
  for (const EmbeddedFile& file : embedded_catalog()) {
    files_.push_back({std::string(file.kind), std::string(file.name),
                      fmt::format("catalog:{}/{}.yaml", file.kind, file.name), std::string(file.text)});
  }
  std::ranges::sort(files_, {}, order);
  if (!overlay) return;
  const std::vector<CatalogFile> own = overlay_files(*overlay);
  for (const CatalogFile& file : own) {
    const auto place = std::ranges::lower_bound(files_, order(file), {}, order);
    if (place != files_.end() && order(*place) == order(file)) {
      *place = file;
    } else {
      files_.insert(place, file);
    }
  }
  std::string defects;
  for (const CatalogFile& file : own) {
    try {
      check_entry(*this, file);
    } catch (const InputError& error) {
      defects += error.what();
    }
  }
  if (!defects.empty()) throw InputError(defects);
}

std::vector<std::string> Catalog::names(std::string_view kind) const {
  std::vector<std::string> names;
  for (const CatalogFile& file : files_) {
    if (file.kind == kind) names.push_back(file.name);
  }
  return names;
}

const CatalogFile* Catalog::find(std::string_view kind, std::string_view name) const {
  const auto found = std::ranges::find_if(
      files_, [kind, name](const CatalogFile& file) { return file.kind == kind && file.name == name; });
  return found == files_.end() ? nullptr : &*found;
}

void Catalog::replace(std::string_view kind, std::string_view name, std::string text) {
  const auto found = std::ranges::find_if(
      files_, [kind, name](const CatalogFile& file) { return file.kind == kind && file.name == name; });
  if (found == files_.end()) throw InputError(fmt::format("error: the catalogue has no {}/{}.yaml\n", kind, name));
  found->text = std::move(text);
}

std::optional<hw_models::GpuSpec> Catalog::gpu(std::string_view name) const {
  return load(find("gpus", name), load_gpu);
}

std::optional<hw_models::NodeSpec> Catalog::node(std::string_view name) const {
  return load(find("nodes", name), load_node);
}

std::optional<hw_models::FabricSpec> Catalog::fabric(std::string_view name) const {
  return load(find("fabrics", name), load_fabric);
}

std::optional<SoftwareStack> Catalog::software(std::string_view name) const {
  return load(find("software", name), load_software);
}

std::optional<strategies::ModelSpec> Catalog::model(std::string_view name) const {
  return load(find("models", name), load_model);
}

}  // namespace scenarios

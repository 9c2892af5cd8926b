#include <fmt/format.h>

#include <system_error>

#include "scenarios/load/catalog_choice.h"
#include "scenarios/load/hf_config.h"
#include "scenarios/load/load_catalog.h"
#include "scenarios/load/sections.h"

namespace scenarios {
namespace {

constexpr std::uintmax_t kMaximumConfigBytes = std::uintmax_t{16} << 20;

bool is_path(std::string_view text) { return text.find('/') != std::string_view::npos || text.ends_with(".json"); }

/// Why the file cannot be read; empty = it can be tried.
std::string file_defect(const std::filesystem::path& path) {
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (status.type() == std::filesystem::file_type::not_found) return "there is no such file";
  if (problem) return problem.message();
  if (std::filesystem::is_directory(status)) return "it is a directory";
  if (!std::filesystem::is_regular_file(status)) return "it is not a regular file";
  const std::uintmax_t size = std::filesystem::file_size(path, problem);
  return !problem && size > kMaximumConfigBytes ? "it is larger than 16 MiB" : "";
}

std::optional<strategies::ModelSpec> read_config(const Value& value, Reading& reading) {
  const std::filesystem::path path = reading.folder / value.text();
  const std::string defect = file_defect(path);
  if (!defect.empty()) {
    reading.diagnostics.error(value.place(),
                              fmt::format("cannot read the model's '{}': {}", shortened(value.text(), 100), defect),
                              "a path is relative to the folder of the scenario");
    return std::nullopt;
  }
  try {
    return load_hf_config(path);
  } catch (const InputError& problem) {
    reading.other_files += problem.what();
    return std::nullopt;
  }
}

}  // namespace

std::optional<strategies::ModelSpec> read_model(const Value& value, Reading& reading) {
  if (value.kind() == Value::Kind::kScalar && is_path(value.text())) return read_config(value, reading);
  return read_choice<strategies::ModelSpec>(value, "models", "", &Catalog::model, load_model, reading);
}

}  // namespace scenarios

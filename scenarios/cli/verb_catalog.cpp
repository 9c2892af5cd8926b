// `trainyard catalog`: what is known, with its sources.
#include "scenarios/cli/verb_catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>

#include "scenarios/cli/catalog_figures.h"
#include "scenarios/cli/command_line.h"
#include "scenarios/load/catalog_fields.h"
#include "scenarios/report/table.h"
#include "strategies/pipeline/schedule.h"

namespace scenarios {
namespace {

using Json = nlohmann::ordered_json;

/// One entry of any kind, ready to print.
struct Entry {
  std::string name;
  std::vector<Figure> figures;
  EntryNotes notes;
};

template <class Spec>
Entry file_entry(const Catalog& catalog, std::string_view kind, const std::string& name,
                 std::optional<Spec> (Catalog::*load)(std::string_view) const) {
  Entry entry{.name = name, .figures = figures((catalog.*load)(name).value()), .notes = {}};
  const CatalogFile& file = *catalog.find(kind, name);
  Diagnostics diagnostics(file.path, file.text);
  if (const std::optional<Value> root = parse_yaml(file.text, diagnostics)) {
    entry.notes = entry_notes(*root, name, diagnostics);
  }
  return entry;
}

std::vector<std::string> schedule_names(const Catalog&) {
  std::vector<std::string> names;
  for (const strategies::Schedule& schedule : strategies::schedules()) names.emplace_back(schedule.name);
  return names;
}

/// Everything that differs between kinds; a new kind is one line in kViews.
struct KindView {
  std::string_view kind, summary;
  std::vector<std::string_view> columns;  ///< labels shown in the list
  std::vector<std::string> (*names)(const Catalog& catalog);
  Entry (*entry)(const Catalog& catalog, const std::string& name);
};

const std::vector<KindView>& views() {
  static const std::vector<KindView> kViews{
      {"gpus",
       "accelerators",
       {"architecture", "bf16 peak", "fp16 peak", "fp8 peak", "memory", "memory bandwidth", "active power"},
       [](const Catalog& catalog) { return catalog.names("gpus"); },
       [](const Catalog& catalog, const std::string& name) {
         return file_entry(catalog, "gpus", name, &Catalog::gpu);
       }},
      {"nodes",
       "servers and cloud instances",
       {"GPUs", "GPU", "scale-up", "scale-up bandwidth", "NICs", "NIC bandwidth", "USD per hour"},
       [](const Catalog& catalog) { return catalog.names("nodes"); },
       [](const Catalog& catalog, const std::string& name) {
         return file_entry(catalog, "nodes", name, &Catalog::node);
       }},
      {"fabrics",
       "networks between nodes",
       {"kind", "nodes per unit", "oversubscription", "efficiency", "switch latency", "endpoint latency"},
       [](const Catalog& catalog) { return catalog.names("fabrics"); },
       [](const Catalog& catalog, const std::string& name) {
         return file_entry(catalog, "fabrics", name, &Catalog::fabric);
       }},
      {"software",
       "training stacks: what they decide and what they cost",
       {"attention", "gradient", "logits", "overlap gradient reduce", "blocking sends", "kernel launch"},
       [](const Catalog& catalog) { return catalog.names("software"); },
       [](const Catalog& catalog, const std::string& name) {
         return file_entry(catalog, "software", name, &Catalog::software);
       }},
      {"models",
       "transformers",
       {"parameters", "active", "layers", "hidden", "heads", "kv heads", "vocabulary"},
       [](const Catalog& catalog) { return catalog.names("models"); },
       [](const Catalog& catalog, const std::string& name) {
         return file_entry(catalog, "models", name, &Catalog::model);
       }},
      {"schedules", "pipeline schedules", {"summary"}, schedule_names, [](const Catalog&, const std::string& name) {
         const strategies::Schedule& schedule = *strategies::find_schedule(name);
         EntryNotes notes;
         notes.sources.emplace_back(schedule.source);
         return Entry{.name = name, .figures = figures(schedule), .notes = notes};
       }}};
  return kViews;
}

Json entry_json(const Entry& entry) {
  Json figures = Json::object();
  for (const Figure& figure : entry.figures) figures[figure.key] = figure.value;
  Json json{{"name", entry.name}, {"figures", figures}, {"source", entry.notes.sources}};
  if (!entry.notes.confidence.empty()) json["confidence"] = entry.notes.confidence;
  if (!entry.notes.note.empty()) json["note"] = entry.notes.note;
  return json;
}

std::string print_kinds(const Catalog& catalog, bool json) {
  if (json) {
    Json kinds = Json::array();
    for (const KindView& view : views()) {
      kinds.push_back({{"kind", view.kind}, {"summary", view.summary}, {"names", view.names(catalog)}});
    }
    return Json{{"kinds", kinds}}.dump(2) + "\n";
  }
  std::vector<std::vector<std::string>> rows{{"kind", "entries", "what"}};
  for (const KindView& view : views()) {
    rows.push_back({std::string(view.kind), std::to_string(view.names(catalog).size()), std::string(view.summary)});
  }
  return table(rows);
}

std::string print_list(const Catalog& catalog, const KindView& view, bool json) {
  std::vector<std::vector<std::string>> rows{{"name"}};
  rows.front().insert(rows.front().end(), view.columns.begin(), view.columns.end());
  Json entries = Json::array();
  for (const std::string& name : view.names(catalog)) {
    const Entry entry = view.entry(catalog, name);
    entries.push_back(entry_json(entry));
    rows.push_back({name});
    for (const std::string_view column : view.columns) {
      const auto figure = std::ranges::find(entry.figures, column, &Figure::label);
      const bool known = figure != entry.figures.end() && !figure->text.empty();
      rows.back().push_back(known ? figure->text : "-");
    }
  }
  if (json) return Json{{"kind", view.kind}, {"entries", entries}}.dump(2) + "\n";
  return table(rows);
}

std::string print_entry(const Entry& entry, const KindView& view, bool json) {
  if (json) {
    Json result{{"kind", view.kind}};
    result.update(entry_json(entry));
    return result.dump(2) + "\n";
  }
  std::vector<std::vector<std::string>> rows;
  for (const Figure& figure : entry.figures) {
    if (!figure.text.empty()) rows.push_back({"  " + figure.label, figure.text});
  }
  std::string text = fmt::format("{} ({})\n{}", entry.name, view.kind, table(rows));
  if (!entry.notes.note.empty()) text += fmt::format("\n  note: {}\n", entry.notes.note);
  if (!entry.notes.confidence.empty()) {
    text += fmt::format(
        "\n  confidence: {} of the main figures (A = read in a source, B = vendor value not re-read, C = uncertain);\n "
        " an estimate is marked as one below\n",
        entry.notes.confidence);
  }
  text += "\n  sources\n";
  for (const std::string& source : entry.notes.sources) text += fmt::format("  - {}\n", source);
  return text;
}

std::string unknown(std::string_view what, const std::string& word, const std::vector<std::string>& known) {
  const std::optional<std::string> near = nearest(word, known);
  return fmt::format(
      "error: unknown {} '{}'\n  {}\n", what, shortened(word),
      near ? fmt::format("did you mean '{}'?", *near) : fmt::format("known: {}", fmt::join(known, ", ")));
}

const KindView& find_view(const std::string& kind) {
  const auto view = std::ranges::find(views(), kind, &KindView::kind);
  if (view != views().end()) return *view;
  std::vector<std::string> kinds;
  for (const KindView& each : views()) kinds.emplace_back(each.kind);
  throw InputError(unknown("kind of entries", kind, kinds));
}

std::string print(const Catalog& catalog, const std::vector<std::string>& words, bool json) {
  if (words.empty()) return print_kinds(catalog, json);
  const KindView& view = find_view(words[0]);
  if (words.size() == 1) return print_list(catalog, view, json);
  const std::vector<std::string> names = view.names(catalog);
  if (std::ranges::find(names, words[1]) == names.end()) {
    throw InputError(unknown(fmt::format("entry of '{}'", view.kind), words[1], names));
  }
  return print_entry(view.entry(catalog, words[1]), view, json);
}

std::string help(const boost::program_options::options_description& options) {
  std::string text =
      "usage: trainyard catalog [KIND] [NAME] [options]\n\n"
      "Lists what is known: without KIND the kinds, with KIND its entries, with NAME all figures and their "
      "sources.\n\n";
  std::vector<std::vector<std::string>> rows;
  for (const KindView& view : views()) rows.push_back({"  " + std::string(view.kind), std::string(view.summary)});
  return text + table(rows) + fmt::format("\n{}", [&options] {
           std::ostringstream stream;
           stream << options;
           return stream.str();
         }());
}

}  // namespace

int run_catalog(const std::vector<std::string>& arguments) {
  namespace po = boost::program_options;
  po::options_description shown("options");
  shown.add_options()("catalog", po::value<std::string>()->value_name("DIR"),
                      "lay your own files DIR/KIND/NAME.yaml over the catalogue")(
      "json", po::bool_switch(), "one JSON object, figures in base units")("help,h", po::bool_switch(), "this text");
  po::options_description all;
  all.add(shown).add_options()("words", po::value<std::vector<std::string>>());
  po::positional_options_description positions;
  positions.add("words", 2);
  const po::variables_map given = parse_command_line("catalog", arguments, all, positions);
  if (given["help"].as<bool>()) {
    fmt::print("{}", help(shown));
    return 0;
  }
  const std::vector<std::string> words =
      given.count("words") > 0 ? given["words"].as<std::vector<std::string>>() : std::vector<std::string>{};
  fmt::print("{}", print(Catalog(catalog_overlay(given)), words, given["json"].as<bool>()));
  return 0;
}

}  // namespace scenarios

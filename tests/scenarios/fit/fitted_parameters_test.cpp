#include "scenarios/fit/fitted_parameters.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "scenarios/fit/fit_problem.h"
#include "scenarios/load/diagnostics.h"
#include "tests/scenarios/cli/run_binary.h"
#include "tests/scenarios/whole_tables.h"

namespace scenarios {
namespace {

/// Throws InputError when the file no longer loads.
void load(const Catalog& catalog, const std::string& kind, const std::string& name) {
  const bool loads = kind == "gpus"      ? catalog.gpu(name).has_value()
                     : kind == "nodes"   ? catalog.node(name).has_value()
                     : kind == "fabrics" ? catalog.fabric(name).has_value()
                                         : catalog.software(name).has_value();
  EXPECT_TRUE(loads);
}

TEST(FittedParameters, AreInTheCatalogueWithinTheirBounds) {
  const Catalog catalog;
  std::set<std::string> names;
  for (const FittedParameter& parameter : fitted_parameters()) {
    SCOPED_TRACE(parameter.name);
    EXPECT_TRUE(names.insert(parameter.name).second);
    EXPECT_GT(parameter.low, 0);
    EXPECT_FALSE(parameter.why.empty());
    for (const double value : {value_in(catalog, parameter), parameter.prior}) {
      EXPECT_GE(value, parameter.low);
      EXPECT_LE(value, parameter.high);
    }
  }
}

TEST(FittedParameters, AreWrittenAloneAndStillLoad) {
  const std::vector<FittedParameter> parameters = fitted_parameters();
  for (const FittedParameter& parameter : parameters) {
    SCOPED_TRACE(parameter.name);
    for (const double value : {parameter.low, parameter.high}) {
      Catalog catalog;
      set_value(catalog, parameter, value);
      EXPECT_EQ(value_in(catalog, parameter), value);
      for (const std::string& file : parameter.files) load(catalog, parameter.kind, file);
      for (const FittedParameter& other : parameters) {
        if (other.name == parameter.name) continue;
        EXPECT_EQ(value_in(catalog, other), value_in(Catalog(), other));
      }
    }
  }
}

TEST(FittedParameters, DefectsAreNamed) {
  FittedParameter parameter = fitted_parameters().front();
  Catalog catalog;
  catalog.replace("software", "nanotron", "prices:\n  kernel_launch: 7 us\n");
  EXPECT_THROW(value_in(catalog, parameter), InputError);  // the other stack's differs
  parameter.files = {"nanotron"};
  EXPECT_EQ(value_in(catalog, parameter), 7);
  parameter.unit = "ms";
  EXPECT_THROW(value_in(catalog, parameter), InputError);
  parameter.files = {"no-such-stack"};
  EXPECT_THROW(value_in(catalog, parameter), InputError);
}

/// The first published run of every group: each parameter moves some of them.
TEST(FittedParameters, MovePredictions) {
  if (!kWholeTables) GTEST_SKIP() << kNoWholeTables;
  const std::string folder = std::string(TRAINYARD_SOURCE_DIR) + "/tests/data/published/";
  std::set<std::string> seen;
  std::vector<MeasuredRun> runs;
  for (const MeasuredRun& run : read_run_files({folder + "runs.csv", folder + "runs2.csv"})) {
    if (seen.insert(run.family + run.group).second) runs.push_back(run);
  }
  const FitProblem problem(runs, Catalog(), fitted_parameters());
  const Eigen::VectorXd theta = problem.start();
  const Eigen::MatrixXd jacobian = problem.jacobian(theta, problem.residuals(theta));
  for (std::size_t k = 0; k < problem.parameters().size(); ++k) {
    EXPECT_GT(jacobian.col(static_cast<Eigen::Index>(k)).cwiseAbs().maxCoeff(), 0.01) << problem.parameters()[k].name;
  }
}

std::string last_word(const std::string& key) { return key.substr(key.find('.') + 1); }

/// "a, b: fitted to ..." in a catalogue's source lines: a and b are in the table, for that file.
TEST(FittedParameters, AreAllThatTheCatalogueCallsFitted) {
  std::set<std::string> known;
  for (const FittedParameter& parameter : fitted_parameters()) {
    for (const std::string& file : parameter.files) known.insert(file + ": " + last_word(parameter.key));
  }
  std::set<std::string> said;
  const Catalog catalog;
  for (const std::string_view kind : kCatalogKinds) {
    for (const std::string& name : catalog.names(kind)) {
      const std::string& text = catalog.find(kind, name)->text;
      for (std::size_t at = text.find(": fitted"); at != std::string::npos; at = text.find(": fitted", at + 1)) {
        const std::size_t begin = text.find_last_of("\";", at) + 1;
        std::istringstream keys(text.substr(begin, at - begin));
        for (std::string key; keys >> key;) said.insert(name + ": " + key.substr(0, key.find(',')));
      }
    }
  }
  EXPECT_GT(said.size(), 5u);
  for (const std::string& figure : said) EXPECT_TRUE(known.contains(figure)) << figure;
}

TEST(FittedParameters, AreListedInTheDocs) {
  std::string table = "|---|---|---|---|\n";
  for (const FittedParameter& parameter : fitted_parameters()) {
    table += fmt::format("| {} | `{}` of {} | {:g}{}{} | {} |\n", parameter.name, parameter.key,
                         fmt::join(parameter.files, ", "), parameter.prior, parameter.unit.empty() ? "" : " ",
                         parameter.unit, parameter.why);
  }
  const std::string page = read_file(std::string(TRAINYARD_SOURCE_DIR) + "/docs/accuracy.md");
  EXPECT_NE(page.find(table + "\n"), std::string::npos) << "docs/accuracy.md, section Fitting, must hold\n" << table;
}

}  // namespace
}  // namespace scenarios

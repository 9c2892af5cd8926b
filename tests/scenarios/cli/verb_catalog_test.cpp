#include "scenarios/cli/verb_catalog.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "scenarios/catalog.h"
#include "scenarios/load/diagnostics.h"
#include "strategies/model.h"
#include "strategies/pipeline/schedule.h"

namespace scenarios {
namespace {

std::string output_of(const std::vector<std::string>& arguments) {
  testing::internal::CaptureStdout();
  const int code = run_catalog(arguments);
  std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0);
  return text;
}

nlohmann::json json_of(std::vector<std::string> arguments) {
  arguments.emplace_back("--json");
  return nlohmann::json::parse(output_of(arguments));
}

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    run_catalog(arguments);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const std::vector<std::string> kKinds{"gpus", "nodes", "fabrics", "software", "models", "schedules"};

std::vector<std::string> names_of(const std::string& kind) {
  if (kind != "schedules") return Catalog().names(kind);
  std::vector<std::string> names;
  for (const strategies::Schedule& schedule : strategies::schedules()) names.emplace_back(schedule.name);
  return names;
}

TEST(VerbCatalog, KindsWithCounts) {
  const nlohmann::json kinds = json_of({})["kinds"];
  ASSERT_EQ(kinds.size(), kKinds.size());
  const std::string text = output_of({});
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    EXPECT_EQ(kinds[i]["kind"], kKinds[i]);
    EXPECT_EQ(kinds[i]["names"], names_of(kKinds[i]));
    EXPECT_NE(text.find("\n" + kKinds[i] + " "), std::string::npos);
  }
}

TEST(VerbCatalog, EveryKindListsEveryEntryInTextAndJson) {
  for (const std::string& kind : kKinds) {
    SCOPED_TRACE(kind);
    const nlohmann::json entries = json_of({kind})["entries"];
    const std::vector<std::string> names = names_of(kind);
    ASSERT_EQ(entries.size(), names.size());
    std::istringstream lines(output_of({kind}));
    std::string line;
    std::getline(lines, line);
    EXPECT_TRUE(line.starts_with("name "));
    for (std::size_t i = 0; i < names.size(); ++i) {
      ASSERT_TRUE(std::getline(lines, line));
      EXPECT_TRUE(line.starts_with(names[i])) << line;
      EXPECT_EQ(entries[i]["name"], names[i]);
    }
    EXPECT_FALSE(std::getline(lines, line));
  }
}

TEST(VerbCatalog, EveryEntryShowsItsFiguresAndSources) {
  for (const std::string& kind : kKinds) {
    for (const std::string& name : names_of(kind)) {
      SCOPED_TRACE(kind + " " + name);
      const nlohmann::json json = json_of({kind, name});
      EXPECT_EQ(json["kind"], kind);
      EXPECT_EQ(json["name"], name);
      EXPECT_FALSE(json["figures"].empty());
      ASSERT_FALSE(json["source"].empty());
      const std::string text = output_of({kind, name});
      EXPECT_TRUE(text.starts_with(name + " (" + kind + ")\n"));
      for (const auto& source : json["source"]) {
        EXPECT_NE(text.find("  - " + source.get<std::string>() + "\n"), std::string::npos);
      }
    }
  }
}

TEST(VerbCatalog, FiguresAreInBaseUnits) {
  const nlohmann::json gpu = json_of({"gpus", "h100-sxm-80gb"})["figures"];
  EXPECT_EQ(gpu["bf16_peak_flops_per_s"], 989e12);
  EXPECT_EQ(gpu["memory_bytes"], 81559LL << 20);
  EXPECT_EQ(gpu["memory_bandwidth_bytes_per_s"], 3350e9);
  const nlohmann::json node = json_of({"nodes", "dgx-h100"})["figures"];
  EXPECT_EQ(node["nic_bandwidth_bytes_per_s"], 50e9);
  const nlohmann::json software = json_of({"software", "megatron-core"})["figures"];
  EXPECT_EQ(software["attention"], "flash");
  EXPECT_DOUBLE_EQ(software["collective_launch_s"].get<double>(), 30e-6);
}

TEST(VerbCatalog, TextHasUnits) {
  const std::string text = output_of({"gpus", "h100-sxm-80gb"});
  for (const char* line : {"bf16 peak          989 TFLOP/s\n", "active power       700 W\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("nvfp4 peak"), std::string::npos);  // not supported, not shown
  EXPECT_NE(output_of({"nodes", "dgx-h100"}).find("NIC bandwidth         400 Gb/s\n"), std::string::npos);
}

TEST(VerbCatalog, ModelsShowTheirParameterCount) {
  const Catalog catalog;
  for (const std::string& name : catalog.names("models")) {
    const strategies::ParameterCount count = strategies::count_parameters(catalog.model(name).value());
    const nlohmann::json figures = json_of({"models", name})["figures"];
    EXPECT_EQ(figures["parameters"], count.total) << name;
    EXPECT_EQ(figures["active_parameters"], count.active) << name;
  }
}

TEST(VerbCatalog, UnknownWordsGetTheNearestSuggestion) {
  EXPECT_EQ(error_of({"gpu"}), "error: unknown kind of entries 'gpu'\n  did you mean 'gpus'?\n");
  EXPECT_EQ(error_of({"engines"}),
            "error: unknown kind of entries 'engines'\n"
            "  known: gpus, nodes, fabrics, software, models, schedules\n");
  EXPECT_EQ(error_of({"gpus", "h100-sxm-80g"}),
            "error: unknown entry of 'gpus' 'h100-sxm-80g'\n  did you mean 'h100-sxm-80gb'?\n");
  EXPECT_EQ(error_of({"schedules", "1f1"}), "error: unknown entry of 'schedules' '1f1'\n  did you mean '1f1b'?\n");
}

TEST(VerbCatalog, BadUsageIsAnInputError) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--jsn"}, {"gpus", "a100-sxm-80gb", "third"}, {"--catalog"}, {"--catalog", "/no/such/directory"}}) {
    EXPECT_NE(error_of(arguments).find("error: "), std::string::npos) << arguments.front();
  }
}

TEST(VerbCatalog, HelpNamesEveryKindAndOption) {
  const std::string text = output_of({"--help"});
  for (const std::string& kind : kKinds) EXPECT_NE(text.find("  " + kind + " "), std::string::npos) << kind;
  for (const char* option : {"--catalog", "--json", "--help"}) EXPECT_NE(text.find(option), std::string::npos);
}

}  // namespace
}  // namespace scenarios

#include "scenarios/catalog.h"

#include <gtest/gtest.h>

#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "hw_models/cluster.h"
#include "scenarios/load/catalog_fields.h"
#include "scenarios/load/load_catalog.h"
#include "strategies/build_program.h"
#include "strategies/program/check.h"
#include "tests/programs/small_plans.h"

namespace scenarios {
namespace {

namespace fs = std::filesystem;
using hw_models::DType;

/// A directory that disappears with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "catalog_test_XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path_ / file).parent_path());
    std::ofstream(path_ / file, std::ios::binary) << text;
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string error_of(const fs::path& overlay) {
  try {
    const Catalog catalog(overlay);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kOwnGpu =
    "multiprocessors: 10\nmatrix_peak: {bf16: 100 TFLOP/s}\nvector_peak: 5 TFLOP/s\n"
    "memory: 10 GiB\nmemory_bandwidth: 500 GB/s\nsource: measured here\n";

TEST(Catalog, EveryEntryLoadsWithoutAnyFindingAndHasSourcesAndAConfidence) {
  const Catalog catalog;
  using Check = bool (*)(const Value&, const std::string&, Diagnostics&);
  const std::map<std::string_view, Check> loads{
      {"gpus", [](const Value& v, const std::string& n, Diagnostics& d) { return load_gpu(v, n, d).has_value(); }},
      {"nodes", [](const Value& v, const std::string& n, Diagnostics& d) { return load_node(v, n, d).has_value(); }},
      {"fabrics",
       [](const Value& v, const std::string& n, Diagnostics& d) { return load_fabric(v, n, d).has_value(); }},
      {"software",
       [](const Value& v, const std::string& n, Diagnostics& d) { return load_software(v, n, d).has_value(); }},
      {"models", [](const Value& v, const std::string& n, Diagnostics& d) { return load_model(v, n, d).has_value(); }}};
  for (const std::string_view kind : kCatalogKinds) {
    EXPECT_GE(catalog.names(kind).size(), 10U) << kind;
    for (const std::string& name : catalog.names(kind)) {
      SCOPED_TRACE(std::string(kind) + "/" + name);
      const CatalogFile* file = catalog.find(kind, name);
      ASSERT_NE(file, nullptr);
      Diagnostics diagnostics(file->path, file->text);
      const std::optional<Value> root = parse_yaml(file->text, diagnostics);
      ASSERT_TRUE(root.has_value());
      EXPECT_TRUE(loads.at(kind)(*root, name, diagnostics));
      EXPECT_EQ(diagnostics.print(), "");
      const EntryNotes notes = entry_notes(*root, name, diagnostics);
      EXPECT_FALSE(notes.sources.empty());
      EXPECT_TRUE(kind == "models" || !notes.confidence.empty());
    }
  }
}

TEST(Catalog, GpuFiguresAreComplete) {
  const Catalog catalog;
  for (const std::string& name : catalog.names("gpus")) {
    SCOPED_TRACE(name);
    const hw_models::GpuSpec gpu = catalog.gpu(name).value();
    EXPECT_EQ(gpu.name, name);
    EXPECT_FALSE(gpu.vendor.empty());
    EXPECT_FALSE(gpu.architecture.empty());
    EXPECT_GT(gpu.boost_clock_hz, 1e9);
    EXPECT_GT(gpu.l2.value(), 0);
    EXPECT_GT(gpu.idle_power.value(), 0);
    EXPECT_GT(gpu.active_power, gpu.idle_power * 3);
    EXPECT_GT(gpu.peak(DType::kFp32).value(), 0);  // every card can multiply fp32, if slowly
    EXPECT_GE(gpu.peak(DType::kFp32), gpu.vector_peak * 0.999);
    EXPECT_GE(gpu.matrix_efficiency, 0.5);
    EXPECT_GE(gpu.memory_efficiency, 0.6);
    // Narrower formats are never slower, and at most four times faster from one to the next.
    double previous = 0;
    for (const DType dtype : {DType::kFp32, DType::kTf32, DType::kBf16, DType::kFp8, DType::kMxfp8, DType::kNvfp4}) {
      const double peak = gpu.peak(dtype).value();
      if (peak == 0) continue;
      EXPECT_GE(peak, previous);
      previous = peak;
    }
  }
}

TEST(Catalog, PeaksAreDenseNotSparse) {
  const Catalog catalog;
  struct Case {
    const char* gpu;
    DType dtype;
    double teraflops;
  };
  const Case cases[] = {{"v100-sxm2-32gb", DType::kFp16, 125},
                        {"v100-sxm2-32gb", DType::kBf16, 0},
                        {"a100-sxm-80gb", DType::kBf16, 312},
                        {"h100-sxm-80gb", DType::kBf16, 989},
                        {"h100-sxm-80gb", DType::kFp8, 1979},
                        {"h200-sxm", DType::kBf16, 989},
                        {"b200-sxm", DType::kBf16, 2250},
                        {"gb200", DType::kBf16, 2500},
                        {"mi300x", DType::kBf16, 1307},
                        {"l40s", DType::kBf16, 362},
                        {"rtx-4090", DType::kBf16, 165.2},
                        {"a10g", DType::kBf16, 70},
                        {"h100-sxm-96gb-hbm2e", DType::kFp8, 1979}};
  for (const Case& c : cases) {
    EXPECT_NEAR(catalog.gpu(c.gpu).value().peak(c.dtype).value(), c.teraflops * 1e12, 1e9) << c.gpu;
  }
  // A tensor core makes 4096 dense half-precision FLOP per clock and multiprocessor on Hopper, 2048 on Ampere.
  const hw_models::GpuSpec h100 = catalog.gpu("h100-sxm-80gb").value();
  EXPECT_NEAR(h100.multiprocessors * h100.boost_clock_hz * 4096, h100.peak(DType::kBf16).value(), 1e12);
  const hw_models::GpuSpec a100 = catalog.gpu("a100-sxm-80gb").value();
  EXPECT_NEAR(a100.multiprocessors * a100.boost_clock_hz * 2048, a100.peak(DType::kBf16).value(), 1e12);
}

TEST(Catalog, MemoryIsWhatTheDriverReports) {
  const Catalog catalog;
  const std::pair<const char*, std::int64_t> cases[] = {
      {"h100-sxm-80gb", 81559}, {"h200-sxm", 143771}, {"b200-sxm", 183359},     {"gb200", 189471},
      {"b300-sxm", 275040},     {"gb300", 284208},    {"a100-sxm-80gb", 81920}, {"a100-sxm-40gb", 40960}};
  for (const auto& [name, mib] : cases) EXPECT_EQ(catalog.gpu(name).value().memory.value(), mib << 20) << name;
}

TEST(Catalog, EveryNodeNamesAGpuAndBuildsAsACluster) {
  const Catalog catalog;
  const hw_models::FabricSpec fabric = catalog.fabric("rail-optimized").value();
  for (const std::string& name : catalog.names("nodes")) {
    SCOPED_TRACE(name);
    const hw_models::NodeSpec node = catalog.node(name).value();
    EXPECT_TRUE(catalog.gpu(node.gpu).has_value()) << node.gpu;
    EXPECT_GT(node.overhead_power.value(), 0);
    EXPECT_EQ(node.usd_per_hour > 0, !node.price_date.empty());
    const int nodes = node.nics > 0 ? 2 : 1;
    const hw_models::Cluster cluster({node, nodes, fabric});
    EXPECT_EQ(cluster.gpus(), nodes * node.gpus);
    EXPECT_EQ(cluster.route(0, cluster.gpus() - 1).empty(), cluster.gpus() == 1);
  }
}

TEST(Catalog, NodeBandwidthsAreBytesAndPerDirection) {
  const Catalog catalog;
  const hw_models::NodeSpec h100 = catalog.node("dgx-h100").value();
  EXPECT_DOUBLE_EQ(h100.nic_bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(h100.scale_up_bandwidth.value(), 450e9);
  const hw_models::NodeSpec p4d = catalog.node("p4d.24xlarge").value();
  EXPECT_DOUBLE_EQ(p4d.nic_bandwidth.value() * p4d.nics / p4d.gpus, 6.25e9);
  EXPECT_EQ(catalog.node("gb200-nvl72").value().scale_up_domain, 72);
}

TEST(Catalog, SoftwareStacksDifferWhereTheyShould) {
  const Catalog catalog;
  const SoftwareStack core = catalog.software("megatron-core").value();
  const SoftwareStack old = catalog.software("megatron-lm").value();
  EXPECT_EQ(core.implementation.name, "megatron-core");
  EXPECT_EQ(core.prices.name, "megatron-core");
  EXPECT_EQ(core.implementation.attention, hw_models::AttentionKernel::kFlash);
  EXPECT_EQ(old.implementation.attention, hw_models::AttentionKernel::kUnfused);
  EXPECT_TRUE(core.implementation.overlap_gradient_reduce);
  EXPECT_FALSE(old.implementation.overlap_gradient_reduce);
  EXPECT_EQ(old.implementation.bucket_parameters, 0);
  EXPECT_DOUBLE_EQ(core.prices.collective_launch.value(), 30e-6);
}

TEST(Catalog, UnknownNamesAreNothing) {
  const Catalog catalog;
  EXPECT_FALSE(catalog.gpu("h1000").has_value());
  EXPECT_FALSE(catalog.node("").has_value());
  EXPECT_FALSE(catalog.fabric("nodes").has_value());
  EXPECT_FALSE(catalog.software("gpus/h100-sxm-80gb").has_value());
  EXPECT_FALSE(catalog.model("no-such-model").has_value());
  EXPECT_EQ(catalog.find("gpus", "h1000"), nullptr);
  EXPECT_TRUE(catalog.names("engines").empty());
}

TEST(Catalog, NamesAreSortedAndUnique) {
  const Catalog catalog;
  for (const std::string_view kind : kCatalogKinds) {
    const std::vector<std::string> names = catalog.names(kind);
    EXPECT_TRUE(std::ranges::is_sorted(names)) << kind;
    EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size()) << kind;
  }
}

TEST(CatalogOverlay, ReplacesAndAdds) {
  const Folder folder;
  folder.write("gpus/h100-sxm-80gb.yaml", kOwnGpu);
  folder.write("gpus/aaa.yaml", kOwnGpu);
  folder.write("gpus/README.txt", "not an entry");
  const Catalog plain;
  const Catalog catalog(folder.path());
  EXPECT_EQ(catalog.names("gpus").size(), plain.names("gpus").size() + 1);
  EXPECT_EQ(catalog.names("gpus").front(), "a100-pcie-40gb");
  EXPECT_TRUE(std::ranges::is_sorted(catalog.names("gpus")));
  EXPECT_DOUBLE_EQ(catalog.gpu("h100-sxm-80gb").value().peak(DType::kBf16).value(), 100e12);
  EXPECT_EQ(catalog.gpu("aaa").value().multiprocessors, 10);
  EXPECT_EQ(catalog.find("gpus", "aaa")->path, (folder.path() / "gpus/aaa.yaml").string());
  EXPECT_EQ(catalog.names("nodes"), plain.names("nodes"));
}

TEST(CatalogOverlay, MissingDirectoryOrFileInsteadOfDirectory) {
  const Folder folder;
  folder.write("file", "x");
  const std::string missing = (folder.path() / "no").string();
  EXPECT_EQ(error_of(missing), missing + ": error: the catalogue directory does not exist\n");
  const std::string file = (folder.path() / "file").string();
  EXPECT_EQ(error_of(file), file + ": error: the catalogue is not a directory\n");
}

TEST(CatalogOverlay, DirectoryWithoutEntriesOrWithAMisspeltKind) {
  const Folder folder;
  EXPECT_EQ(error_of(folder.path()), folder.path().string() +
                                         ": error: no catalogue files; expected "
                                         "{gpus,nodes,fabrics,software,models}/NAME.yaml\n");
  folder.write("gpu/a.yaml", kOwnGpu);
  EXPECT_EQ(error_of(folder.path()),
            (folder.path() / "gpu").string() + ": error: not a kind of catalogue entries; did you mean 'gpus'?\n");
}

TEST(CatalogOverlay, DefectsOfAllFilesAtOnce) {
  const Folder folder;
  folder.write("gpus/a.yaml", std::string("\x7f\x45LF\x00\xff\xfe", 7));
  folder.write("gpus/b.yaml", std::string(kOwnGpu) + "clok: 3\n");
  folder.write("nodes/c.yaml", "");
  folder.write("fabrics/d.yaml", "kind: fat-tree\n");
  folder.write("software/e.yaml", "[1, 2]");
  folder.write("gpus/f.yaml", std::string(kOwnGpu) + "name: g\n");
  const std::string text = error_of(folder.path());
  for (const char* part : {"gpus/a.yaml:", "not text", "gpus/b.yaml:", "unknown key 'clok'", "nodes/c.yaml",
                           "the file is empty", "fabrics/d.yaml:", "'source' is missing",
                           "software/e.yaml:", "must be a map", "'name: g' differs from the file's name"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nin\n" << text;
  }
}

TEST(CatalogOverlay, EntriesThatAreNoReadableFiles) {
  const Folder folder;
  fs::create_directories(folder.path() / "gpus/x.yaml");
  EXPECT_EQ(error_of(folder.path()), (folder.path() / "gpus/x.yaml").string() + ": error: this is a directory\n");
  fs::remove(folder.path() / "gpus/x.yaml");
  folder.write("gpus/x.yaml", std::string(2 << 20, '#'));
  EXPECT_EQ(error_of(folder.path()), (folder.path() / "gpus/x.yaml").string() +
                                         ": error: more than 1048576 bytes are too many for a catalogue file\n");
}

TEST(Catalog, ReplacesTheTextOfAKnownFile) {
  Catalog catalog;
  catalog.replace("gpus", "a100-sxm-80gb", kOwnGpu);
  EXPECT_EQ(catalog.gpu("a100-sxm-80gb")->multiprocessors, 10);
  EXPECT_EQ(Catalog().gpu("a100-sxm-80gb")->multiprocessors, 108);
  EXPECT_THROW(catalog.replace("gpus", "no-such-gpu", kOwnGpu), InputError);
}

// Latent attention, extra prediction layers and windows, as every stack writes them.
TEST(Catalog, EveryStackTrainsEveryAttention) {
  const Catalog catalog;
  strategies::ModelSpec model = tests::small_latent();
  model.window = {.tokens = 8, .full_every = 2};
  for (const std::string& name : catalog.names("software")) {
    const strategies::Implementation implementation = catalog.software(name)->implementation;
    for (const auto recompute : {strategies::Recompute::kNone, strategies::Recompute::kSelective,
                                 strategies::Recompute::kUpProjection, strategies::Recompute::kFull}) {
      strategies::PlanSpec plan;
      plan.tensor = plan.pipeline = plan.data = 2;
      plan.sequence_parallel = true;
      plan.zero = 1;
      plan.recompute = recompute;
      const strategies::Program program = build_program(model, tests::small_training(), plan, implementation);
      EXPECT_TRUE(check_program(program).empty()) << name << ' ' << static_cast<int>(recompute);
    }
  }
}

}  // namespace
}  // namespace scenarios

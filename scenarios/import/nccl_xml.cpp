#include "scenarios/import/nccl_xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <pugixml.hpp>

#include "scenarios/load/diagnostics.h"

namespace scenarios {
namespace {

using hw_models::BytesPerSecond;
using pugi::xml_node;

constexpr int kDeepest = 64;
constexpr int kMostElements = 10'000;  // NCCL itself stops at a few hundred for one server

/// Payload of one lane in 100 Mb/s, NCCL 2.30 topo.h (kvDictPciGen). Files write "16 GT/s", "16.0 GT/s PCIe" ...
struct PcieRate {
  std::string_view gigatransfers;
  double lane;
};
constexpr std::array<PcieRate, 6> kPcieRates{
    {{"2.5", 15}, {"5", 30}, {"8", 60}, {"16", 120}, {"32", 240}, {"64", 480}}};

/// One NVLink, GB/s per direction, by compute capability; NCCL 2.30 topo.h.
struct LaneRate {
  std::string_view generation;
  double gigabytes;
};
constexpr std::array<LaneRate, 7> kNvlinkRates{
    {{"60", 18.0}, {"70", 20.0}, {"80", 20.0}, {"86", 12.0}, {"90", 20.6}, {"100", 40.1}, {"103", 40.1}}};
/// One xGMI link, GB/s per direction; RCCL topo.h: 24, 36 and 48 for gfx906/908, gfx90a, gfx94x.
constexpr std::array<LaneRate, 6> kXgmiRates{{{"906", 24},  // MI50, MI60
                                              {"908", 24},
                                              {"gfx908", 24},
                                              {"910", 36},  // gfx90a as a decimal
                                              {"gfx90a", 36},
                                              {"gfx942", 48}}};

/// PCI device ids (pci-ids.ucw.cz) of GPUs in the catalogue.
struct PciModel {
  std::string_view vendor, device, model;
};
constexpr std::array<PciModel, 16> kPciModels{{{"0x10de", "0x1db1", "v100-sxm2-16gb"},
                                               {"0x10de", "0x1db5", "v100-sxm2-32gb"},
                                               {"0x10de", "0x20b0", "a100-sxm-40gb"},
                                               {"0x10de", "0x20b2", "a100-sxm-80gb"},
                                               {"0x10de", "0x20b5", "a100-pcie-80gb"},
                                               {"0x10de", "0x20f1", "a100-pcie-40gb"},
                                               {"0x10de", "0x2237", "a10g"},
                                               {"0x10de", "0x2330", "h100-sxm-80gb"},
                                               {"0x10de", "0x2331", "h100-pcie-80gb"},
                                               {"0x10de", "0x2335", "h200-sxm"},
                                               {"0x10de", "0x2901", "b200-sxm"},
                                               {"0x10de", "0x26b9", "l40s"},
                                               {"0x1002", "0x740c", "mi250x"},
                                               {"0x1002", "0x7408", "mi250x"},
                                               {"0x1002", "0x74a1", "mi300x"},
                                               {"0x1002", "0x74a5", "mi325x"}}};

constexpr std::string_view kNvSwitchClass = "0x0680";

template <class Table>
double lane_rate(const Table& table, std::string_view generation) {
  const auto found = std::ranges::find(table, generation, &LaneRate::generation);
  return found == table.end() ? 0 : found->gigabytes;
}

std::string_view text_of(const xml_node& element, const char* attribute) {
  return element.attribute(attribute).as_string();
}

bool starts(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

TopologyKind kind_of_class(std::string_view pci_class) {
  if (starts(pci_class, {"0x0604", "0x0680"})) return TopologyKind::kPcieSwitch;
  if (starts(pci_class, {"0x03", "0x12"})) return TopologyKind::kGpu;
  if (starts(pci_class, {"0x0200", "0x0207"})) return TopologyKind::kNic;
  return TopologyKind::kUnknown;
}

/// "32.0 GT/s PCIe" x16 -> 48 GB/s; nullopt for absurd or missing data.
std::optional<BytesPerSecond> pcie_payload(std::string_view speed, std::string_view width) {
  std::string_view rate = speed.substr(0, speed.find(' '));
  if (rate.ends_with(".0")) rate.remove_suffix(2);
  int lanes = 0;
  std::from_chars(width.data(), width.data() + width.size(), lanes);
  const auto known = std::ranges::find(kPcieRates, rate, &PcieRate::gigatransfers);
  if (known == kPcieRates.end() || lanes < 1 || lanes > 32) return std::nullopt;
  return BytesPerSecond(known->lane * lanes / 80 * 1e9);
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NodeTopology run() {
    pugi::xml_document document;
    const pugi::xml_parse_result parsed =
        document.load_buffer(text_.data(), text_.size(), pugi::parse_default | pugi::parse_doctype);
    if (!parsed)
      fail(parsed.offset, fmt::format("not well-formed XML: {}", parsed.description()), "is the file whole?");
    for (const xml_node& child : document.children()) {
      if (child.type() == pugi::node_doctype) fail(child.offset_debug(), "a document type", "topology files have none");
    }
    const xml_node root = document.document_element();
    check_root(root);
    topology_.source = "NCCL topology file";
    for (const xml_node& child : root.children()) read(child, -1, 1);
    resolve_links();
    // Files written by hand name PCI devices only and leave the links to NCCL.
    topology_.shows_scale_up = !generation_.empty() && left_out_.empty();
    finish_notes();
    return std::move(topology_);
  }

 private:
  [[noreturn]] void fail(std::ptrdiff_t offset, const std::string& message, const std::string& advice) const {
    const std::size_t at = std::min(text_.size(), static_cast<std::size_t>(std::max<std::ptrdiff_t>(offset, 0)));
    const std::string_view before = text_.substr(0, at);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 = 0
    throw InputError(fmt::format("{}:{}:{}: error: {}\n  {}\n", file_, line, column, message, advice));
  }

  void check_root(const xml_node& root) const {
    const std::string_view name = root.name();
    if (name == "system") return;
    if (name == "graphs") {
      fail(root.offset_debug(), "these are NCCL's search results (NCCL_GRAPH_FILE), not a topology",
           "write the topology with NCCL_TOPO_DUMP_FILE=topo.xml");
    }
    if (name == "topology") {
      fail(root.offset_debug(), "this is hwloc's XML (lstopo), not NCCL's",
           "write NCCL's with NCCL_TOPO_DUMP_FILE=topo.xml");
    }
    fail(root.offset_debug(), fmt::format("<{}> is not a topology", shortened(name)),
         "NCCL's topology files begin with <system version=\"1\">");
  }

  TopologyDevice& device(int index) { return topology_.devices[static_cast<std::size_t>(index)]; }

  int add(TopologyDevice added) {
    topology_.devices.push_back(std::move(added));
    return static_cast<int>(topology_.devices.size()) - 1;
  }

  std::string numbered(TopologyKind kind) const {
    return fmt::format("{}{}{}", name(kind), kind == TopologyKind::kGpu || kind == TopologyKind::kNic ? "" : " ",
                       topology_.all(kind).size());
  }

  void read(const xml_node& element, int parent, int depth) {
    const std::string_view tag = element.name();
    if (element.type() != pugi::node_element) return;
    if (++elements_ > kMostElements) fail(element.offset_debug(), "more than 10000 elements", "is this one server?");
    if (depth > kDeepest) fail(element.offset_debug(), "elements nested deeper than 64 levels", "is this a topology?");
    int here = parent;
    if (tag == "cpu") here = read_cpu(element);
    if (tag == "pci") here = read_pci(element, parent);
    if (tag == "gpu") read_gpu(element, parent);
    if (tag == "net") read_net(element, parent);
    if (tag == "nvlink" || tag == "xgmi") links_.push_back({element, parent});
    for (const xml_node& child : element.children()) read(child, here, depth + 1);
  }

  int read_cpu(const xml_node& element) {
    return add({TopologyKind::kCpu, fmt::format("CPU{}", text_of(element, "numaid")), "", -1, {}, {}, ""});
  }

  int read_pci(const xml_node& element, int parent) {
    const std::string_view id = text_of(element, "busid");
    if (id.empty()) fail(element.offset_debug(), "<pci> without busid", "every device has one");
    TopologyKind kind = kind_of_class(text_of(element, "class"));
    if (element.child("pci")) kind = TopologyKind::kPcieSwitch;
    if (element.child("gpu")) kind = TopologyKind::kGpu;
    if (element.child("nic")) kind = TopologyKind::kNic;
    TopologyDevice added{kind, numbered(kind), std::string(id), parent, uplink_of(element), {}, ""};
    if (kind == TopologyKind::kGpu) added.model = model_of(element);
    const int index = add(std::move(added));
    if (!by_id_.emplace(id, index).second) {
      fail(element.offset_debug(), fmt::format("bus id '{}' stands twice", shortened(id)), "is this one server?");
    }
    return index;
  }

  std::optional<BytesPerSecond> uplink_of(const xml_node& element) {
    const std::string_view speed = text_of(element, "link_speed"), width = text_of(element, "link_width");
    if (speed.empty() && width.empty()) return std::nullopt;
    const std::optional<BytesPerSecond> payload = pcie_payload(speed, width);
    // No GPU server has slower links than x4 of generation 3 (3 GB/s): that is what virtual machines report.
    if (payload && payload->value() >= 3e9) return payload;
    ++absurd_links_[fmt::format("'{}' x{}", shortened(speed), shortened(width))];
    return std::nullopt;
  }

  static std::string model_of(const xml_node& element) {
    for (const PciModel& known : kPciModels) {
      if (known.vendor == text_of(element, "vendor") && known.device == text_of(element, "device")) {
        return std::string(known.model);
      }
    }
    return "";
  }

  void read_gpu(const xml_node& element, int parent) {
    if (parent < 0) fail(element.offset_debug(), "<gpu> outside of <pci>", "a GPU is a PCI device");
    device(parent).name = fmt::format("GPU{}", text_of(element, "dev"));
    generation_[parent] = text_of(element, element.attribute("gcn") ? "gcn" : "sm");
  }

  /// The port of a NIC that is a PCI device, or one that hangs directly on a CPU.
  void read_net(const xml_node& element, int parent) {
    const bool own = parent < 0 || device(parent).kind != TopologyKind::kNic || device(parent).rate;
    const int index =
        own ? add({TopologyKind::kNic, numbered(TopologyKind::kNic), "", parent_of_port(parent), {}, {}, ""}) : parent;
    TopologyDevice& nic = device(index);
    if (const std::string_view port = text_of(element, "name"); !port.empty()) {
      nic.name += fmt::format(" ({})", shortened(port));
    }
    const double megabits = element.attribute("speed").as_double();
    // NCCL writes 10 Mb/s for a port that does not tell its rate; none that trains is slower than 1 Gb/s.
    if (megabits > 0 && megabits < 1000) ++slow_ports_;
    if (megabits >= 1000) nic.rate = BytesPerSecond(megabits * 1e6 / 8);
  }

  /// A second port of a card is a NIC beside the first.
  int parent_of_port(int parent) {
    return parent >= 0 && device(parent).kind == TopologyKind::kNic ? device(parent).parent : parent;
  }

  struct PendingLink {
    xml_node element;
    int gpu;
  };

  void resolve_links() {
    for (const PendingLink& pending : links_) {
      const xml_node& e = pending.element;
      if (pending.gpu < 0 || device(pending.gpu).kind != TopologyKind::kGpu) {
        fail(e.offset_debug(), fmt::format("<{}> outside of <gpu>", e.name()), "scale-up links belong to a GPU");
      }
      const int lanes = e.attribute("count").as_int();
      if (lanes < 1 || lanes > 64) {
        fail(e.offset_debug(), fmt::format("{} links between two devices", lanes), "count is 1 to 64");
      }
      add_link(e, pending.gpu, lanes);
    }
  }

  void add_link(const xml_node& e, int gpu, int lanes) {
    const std::string_view target = text_of(e, "target");
    const auto found = by_id_.find(target);
    const std::string& generation = generation_[gpu];
    const double lane =
        std::string_view(e.name()) == "xgmi" ? lane_rate(kXgmiRates, generation) : lane_rate(kNvlinkRates, generation);
    if (starts(text_of(e, "tclass"), {kNvSwitchClass})) return to_switches(gpu, lanes, lane);
    if (found == by_id_.end() || found->second == gpu) {
      ++left_out_[found == by_id_.end() ? "devices that are not in the file" : "themselves"];
      return;
    }
    const int other = found->second;
    const auto same = std::ranges::find_if(topology_.scale_up, [&](const ScaleUpLink& link) {
      return (link.a == gpu && link.b == other) || (link.a == other && link.b == gpu);
    });
    if (same == topology_.scale_up.end()) topology_.scale_up.push_back({gpu, other, lanes, rate(lanes, lane)});
  }

  static std::optional<BytesPerSecond> rate(int lanes, double lane) {
    return lane > 0 ? std::optional(BytesPerSecond(lanes * lane * 1e9)) : std::nullopt;
  }

  /// A GPU's links to several NVSwitches are one link to the crossbar that they form.
  void to_switches(int gpu, int lanes, double lane) {
    const auto same = std::ranges::find_if(
        topology_.scale_up, [&](const ScaleUpLink& link) { return link.a == gpu && link.b == ScaleUpLink::kSwitches; });
    if (same == topology_.scale_up.end()) {
      topology_.scale_up.push_back({gpu, ScaleUpLink::kSwitches, lanes, rate(lanes, lane)});
      return;
    }
    same->lanes += lanes;
    same->bandwidth = rate(same->lanes, lane);
  }

  void finish_notes() {
    for (const auto& [link, count] : absurd_links_) {
      topology_.notes.push_back(fmt::format("PCIe {} of {} devices is taken as unknown", link, count));
    }
    for (const auto& [what, count] : left_out_) {
      topology_.notes.push_back(fmt::format("scale-up links of {} GPUs to {} are left out", count, what));
    }
    if (slow_ports_ > 0) {
      topology_.notes.push_back(fmt::format("port rates of {} NICs, below 1 Gb/s, are taken as unknown", slow_ports_));
    }
    const std::size_t unknown = topology_.all(TopologyKind::kUnknown).size();
    if (unknown > 0) {
      topology_.notes.push_back(fmt::format(
          "{} devices without a class: a hand-written file; NCCL_TOPO_DUMP_FILE writes the whole one", unknown));
    }
    if (topology_.all(TopologyKind::kGpu).empty() && unknown == 0) {
      throw InputError(fmt::format("{}: error: the topology has no GPU\n  write it with NCCL_TOPO_DUMP_FILE\n", file_));
    }
  }

  std::string_view text_;
  const std::string& file_;
  NodeTopology topology_;
  std::map<std::string, int, std::less<>> by_id_;
  std::map<int, std::string> generation_;
  std::vector<PendingLink> links_;
  std::map<std::string, int> absurd_links_, left_out_;  // how often, by what
  int elements_ = 0, slow_ports_ = 0;
};

}  // namespace

NodeTopology parse_nccl_xml(std::string_view text, const std::string& file) { return Reader(text, file).run(); }

}  // namespace scenarios

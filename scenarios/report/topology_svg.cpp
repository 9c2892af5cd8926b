#include <fmt/format.h>

#include <algorithm>

#include "scenarios/report/markup.h"
#include "scenarios/report/topology_report.h"

namespace scenarios {
namespace {

/// Leaves side by side in the tree's order, joints above the middle of what hangs on them.
class Picture {
 public:
  explicit Picture(const NodeTopology& topology) : topology_(topology), x_(topology.devices.size()), y_(x_.size()) {
    for (const int root : topology.children(-1)) place(root, 0);
    const double depth = y_.empty() ? 0 : *std::ranges::max_element(y_);
    bottom_ = depth;
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const TopologyKind kind = topology.devices[i].kind;
      if (kind == TopologyKind::kGpu || kind == TopologyKind::kNic) y_[i] = bottom_;
    }
  }

  std::string svg() const {
    const double width = std::max(1, leaves_) * kStep + 40, height = (bottom_ + 2) * kRow + 60;
    std::string text = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {:.0f} {:.0f}\" font-family=\"sans-serif\" "
        "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        width, height);
    for (std::size_t i = 0; i < x_.size(); ++i) {
      const int parent = topology_.devices[i].parent;
      if (parent >= 0) text += line(static_cast<int>(i), parent);
    }
    text += scale_up(width);
    for (std::size_t i = 0; i < x_.size(); ++i) text += box(i);
    return text + "</svg>\n";
  }

 private:
  static constexpr double kStep = 96, kRow = 64, kBoxWidth = 88, kBoxHeight = 30;

  double x(int i) const { return 20 + (x_[static_cast<std::size_t>(i)] + 0.5) * kStep; }
  double y(int i) const { return 30 + y_[static_cast<std::size_t>(i)] * kRow; }

  void place(int index, int depth) {
    const auto i = static_cast<std::size_t>(index);
    y_[i] = depth;
    const std::vector<int> below = topology_.children(index);
    for (const int child : below) place(child, depth + 1);
    x_[i] = below.empty()
                ? leaves_++
                : (x_[static_cast<std::size_t>(below.front())] + x_[static_cast<std::size_t>(below.back())]) / 2;
  }

  std::string line(int a, int b) const {
    return fmt::format("<line x1=\"{:.0f}\" y1=\"{:.0f}\" x2=\"{:.0f}\" y2=\"{:.0f}\" stroke=\"#999\"/>\n", x(a), y(a),
                       x(b), y(b));
  }

  std::string scale_up(double width) const {
    std::string text;
    const double below = 30 + (bottom_ + 1) * kRow;
    bool switched = false;
    for (const ScaleUpLink& link : topology_.scale_up) {
      const double from = y(link.a);
      if (link.b == ScaleUpLink::kSwitches) {
        switched = true;
        text += fmt::format(
            "<line x1=\"{0:.0f}\" y1=\"{1:.0f}\" x2=\"{0:.0f}\" y2=\"{2:.0f}\" stroke=\"#76b900\" "
            "stroke-width=\"3\"/>\n",
            x(link.a), from, below);
        continue;
      }
      text += fmt::format(
          "<path d=\"M{:.0f} {:.0f} Q{:.0f} {:.0f} {:.0f} {:.0f}\" fill=\"none\" stroke=\"#76b900\" "
          "stroke-width=\"{}\"/>\n",
          x(link.a), from + kBoxHeight / 2, (x(link.a) + x(link.b)) / 2, from + kRow * 1.6, x(link.b),
          y(link.b) + kBoxHeight / 2, std::min(link.lanes, 6));
    }
    if (switched) {
      text += fmt::format(
          "<rect x=\"20\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{}\" rx=\"4\" fill=\"#d7f0b0\" stroke=\"#76b900\"/>\n"
          "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">scale-up switches, {} lanes per GPU</text>\n",
          below - kBoxHeight / 2, width - 40, kBoxHeight, width / 2, below + 4, topology_.scale_up.front().lanes);
    }
    return text;
  }

  std::string box(std::size_t i) const {
    static constexpr const char* kFills[] = {"#ffe0b3", "#ffeecc", "#e6e6e6", "#d7f0b0", "#cfe2ff", "#f5f5f5"};
    const TopologyDevice& device = topology_.devices[i];
    const int index = static_cast<int>(i);
    return fmt::format(
        "<g><title>{} {} {}</title><rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"#666\"/><text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text></g>\n",
        escape_markup(device.name), escape_markup(device.model), escape_markup(device.id), x(index) - kBoxWidth / 2,
        y(index) - kBoxHeight / 2, kBoxWidth, kBoxHeight, kFills[static_cast<std::size_t>(device.kind)], x(index),
        y(index) + 4, escape_markup(device.name.substr(0, 15)));
  }

  const NodeTopology& topology_;
  std::vector<double> x_, y_;  // in steps and rows
  double bottom_ = 0;
  int leaves_ = 0;
};

}  // namespace

std::string topology_svg(const NodeTopology& topology) { return Picture(topology).svg(); }

}  // namespace scenarios

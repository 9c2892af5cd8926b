// A log-log scatter plot: measured step on the x axis, predicted on the y axis, a colour per family.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "scenarios/accuracy/accuracy_report.h"
#include "scenarios/report/markup.h"

namespace scenarios {
namespace {

constexpr double kSize = 720, kMargin = 60;
constexpr std::array<const char*, 10> kColours{"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
                                               "#aa3377", "#bbbbbb", "#000000", "#ee7733", "#009988"};

/// Common logarithmic scale of both axes.
struct Scale {
  double low = 0, high = 1;  ///< decimal logarithms, whole

  double x(double seconds) const {
    return kMargin + (std::log10(seconds) - low) / (high - low) * (kSize - 2 * kMargin);
  }
  double y(double seconds) const { return kSize - x(seconds); }
};

Scale scale_of(const AccuracyReport& report) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const RowResult& row : report.rows) {
    if (!row.scored()) continue;
    for (const double seconds : {*report.runs[row.run].step_s, row.predicted_s}) {
      low = std::min(low, std::floor(std::log10(seconds)));
      high = std::max(high, std::ceil(std::log10(seconds)));
    }
  }
  return low < high ? Scale{low, high} : Scale{0, 1};
}

std::string axes(const Scale& scale) {
  std::string svg;
  for (double decade = scale.low; decade <= scale.high; ++decade) {
    const double seconds = std::pow(10, decade), at = scale.x(seconds);
    svg += fmt::format(R"(<path class="grid" d="M{0:.1f} {1}V{2}M{1} {3:.1f}H{2}"/>)", at, kMargin, kSize - kMargin,
                       scale.y(seconds));
    svg +=
        fmt::format(R"(<text x="{:.1f}" y="{}" text-anchor="middle">{:g} s</text>)", at, kSize - kMargin + 20, seconds);
    svg += fmt::format(R"(<text x="{}" y="{:.1f}" text-anchor="end">{:g} s</text>)", kMargin - 6, scale.y(seconds) + 4,
                       seconds);
  }
  // Equality, and 20 % to either side.
  const double low = std::pow(10, scale.low), high = std::pow(10, scale.high);
  for (const double factor : {1.0, 1.2, 1 / 1.2}) {
    svg += fmt::format(R"svg(<path class="{}" clip-path="url(#plot)" d="M{:.1f} {:.1f}L{:.1f} {:.1f}"/>)svg",
                       factor == 1 ? "equal" : "near", scale.x(low), scale.y(low * factor), scale.x(high),
                       scale.y(high * factor));
  }
  svg += fmt::format(R"svg(<text x="{}" y="{}" text-anchor="middle">measured step</text>)svg", kSize / 2, kSize - 12);
  svg += fmt::format(R"svg(<text transform="rotate(-90)" x="{}" y="14" text-anchor="middle">predicted step</text>)svg",
                     -kSize / 2);
  return svg;
}

}  // namespace

std::string accuracy_html(const AccuracyReport& report) {
  const Scale scale = scale_of(report);
  std::string points, legend;
  std::size_t colour = 0;
  for (const FamilyAccuracy& family : report.families) {
    if (family.errors.rows == 0) continue;
    // More families than colours: the others are rings.
    const char* kind = colour < kColours.size() ? "dot" : "ring";
    const char* fill = kColours[colour++ % kColours.size()];
    for (const RowResult& row : report.rows) {
      const MeasuredRun& run = report.runs[row.run];
      if (!row.scored() || run.family != family.family) continue;
      points += fmt::format(
          R"(<circle class="{}" cx="{:.1f}" cy="{:.1f}" r="3" color="{}"><title>{} {:+.1f} %</title></circle>)", kind,
          scale.x(*run.step_s), scale.y(row.predicted_s), fill, escape_markup(run.id), 100 * row.error);
    }
    legend += fmt::format(R"(<li><b class="{}" style="color:{}"></b>{}: {} rows, median {:.1f} %</li>)", kind, fill,
                          escape_markup(family.family), family.errors.rows, 100 * family.errors.median);
  }
  return fmt::format(
      R"(<!doctype html><html lang="en"><meta charset="utf-8"><title>Trainyard: predicted and measured steps</title>
<style>body{{font:14px sans-serif;margin:24px}}svg{{max-width:100%}}.grid{{stroke:#ddd;fill:none}}.equal{{stroke:#333}}
.near{{stroke:#999;stroke-dasharray:4 4}}circle.dot{{fill:currentColor;fill-opacity:.6}}circle.ring{{fill:none;stroke:currentColor}}ul{{padding:0}}li{{list-style:none}}
b{{display:inline-block;width:6px;height:6px;border:2px solid;border-radius:5px;margin-right:6px}}b.dot{{background:currentColor}}pre{{overflow-x:auto}}</style>
<h1>Predicted and measured steps</h1>
<svg viewBox="0 0 {0} {0}" width="{0}" height="{0}"><clipPath id="plot"><rect x="{1}" y="{1}" width="{2}" height="{2}"/></clipPath>{3}{4}</svg>
<ul>{5}</ul><pre>{6}</pre></html>
)",
      kSize, kMargin, kSize - 2 * kMargin, axes(scale), points, legend, escape_markup(accuracy_text(report)));
}

}  // namespace scenarios

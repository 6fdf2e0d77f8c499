#include "src/report/html_arena.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/base/text.h"
#include "src/report/html.h"
#include "src/report/text_table.h"

namespace edgesage::report {
namespace {

constexpr double kWidth = 1120, kHeight = 460, kLeft = 76, kRight = 16, kTop = 26, kBottom = 38;

constexpr std::string_view kStyle =
    ".arena{width:100%;height:auto;display:block}.arena text{font:12px system-ui,sans-serif;"
    "fill:var(--soft)}.arena .label{fill:#fff;font-size:11px;pointer-events:none}"
    ".blocks path{stroke:var(--page);stroke-width:.7;vector-effect:non-scaling-stroke}"
    ".blocks path:hover{stroke:var(--ink);stroke-width:2}"
    ".r-i{fill:var(--input)}.r-o{fill:var(--output)}.r-a{fill:var(--activation)}"
    ".r-s{fill:var(--scratch)}.r-v{fill:var(--variable)}"
    ".blocks.same path{fill:none;stroke:#fff;stroke-dasharray:3 2;pointer-events:all}"
    ".arena .grid{stroke:var(--line);fill:none}.arena .peak{stroke:var(--peak);stroke-width:1.5;"
    "stroke-dasharray:5 4;fill:none}.arena .now{fill:var(--peak);fill-opacity:.13;stroke:none;"
    "pointer-events:none}.arena text.peak-text{fill:var(--peak);stroke:none;font-weight:600}"
    ".key{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem;color:var(--soft);"
    "margin:.4rem 0}.key i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;"
    "margin-right:.4rem;vertical-align:-1px}.at{min-height:3.2em;font-size:.85rem;"
    "white-space:pre-line;color:var(--soft);margin:.2rem 0 0}"
    ".bar{display:inline-block;height:.6rem;border-radius:2px;vertical-align:middle}";

// Free of characters that XML gives a meaning, so that the page is well-formed as XML, too.
constexpr std::string_view kScript =
    "document.addEventListener('mouseover',function(e){if(!e.target.closest('.blocks'))return;"
    "var t=e.target.querySelector('title');if(!t)return;"
    "e.target.closest('.plan').querySelector('.at').textContent=t.textContent;});";

char role_letter(const ArenaEntry& entry) {
  return entry.role == "input"      ? 'i'
         : entry.role == "output"   ? 'o'
         : entry.role == "scratch"  ? 's'
         : entry.role == "variable" ? 'v'
                                    : 'a';
}

std::string_view role_colour(const ArenaEntry& entry) {
  switch (role_letter(entry)) {
    case 'i':
      return "var(--input)";
    case 'o':
      return "var(--output)";
    case 's':
      return "var(--scratch)";
    case 'v':
      return "var(--variable)";
    default:
      return "var(--activation)";
  }
}

std::string entry_name(const ArenaEntry& entry, size_t limit) {
  if (entry.tensor < 0) return fmt::format("{} of operator {}", shown(entry.name, limit), entry.op);
  return entry.name.empty() ? fmt::format("tensor {}", entry.tensor) : shown(entry.name, limit);
}

std::string operators_text(const ArenaEntry& entry) {
  return entry.first == entry.last ? fmt::format("operator {}", entry.first)
                                   : fmt::format("operators {} to {}", entry.first, entry.last);
}

bool is_drawn(const ArenaEntry& entry) { return entry.memory == "arena" && entry.offset; }

// Data to pixels.
struct Axes {
  int64_t steps = 1, bytes = 1;
  [[nodiscard]] double x(double step) const {
    return kLeft + step / static_cast<double>(steps) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double byte) const {
    return kHeight - kBottom - byte / static_cast<double>(bytes) * (kHeight - kTop - kBottom);
  }
};

// A round step that gives at most `most` ticks.
int64_t tick_step(int64_t range, int64_t most) {
  int64_t step = 1;
  for (int64_t power = 1;; power *= 10)
    for (const int64_t factor : {1, 2, 5}) {
      step = power * factor;
      if (range / step <= most) return step;
    }
}

std::string grid(const Axes& axes) {
  std::string text;
  const int64_t bytes = tick_step(axes.bytes, 8);
  for (int64_t at = 0; at <= axes.bytes; at += bytes) {
    const double y = axes.y(static_cast<double>(at));
    text += fmt::format(
        "<path class=\"grid\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text x=\"{:.0f}\" y=\"{:.1f}\" "
        "text-anchor=\"end\">{}</text>",
        kLeft, y, kWidth - kRight, kLeft - 6, y + 4, human_bytes(at));
  }
  const int64_t steps = tick_step(axes.steps, 20);
  for (int64_t at = 0; at < axes.steps; at += steps)
    text += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"middle\">{}</text>",
                        axes.x(static_cast<double>(at) + 0.5), kHeight - kBottom + 16, at);
  text += fmt::format(
      "<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\">operator, in order of execution "
      "(offset in the arena upwards)</text>",
      (kLeft + kWidth - kRight) / 2, kHeight - 5);
  return text;
}

// What is shown of a block. Large graphs get short words, so that a page of thousands of operators
// stays small.
std::string title_of(const ArenaEntry& entry, bool brief) {
  if (brief)
    return fmt::format("{}\n{} bytes at {}", entry_name(entry, 20), grouped(entry.bytes),
                       grouped(*entry.offset));
  std::string text = entry_name(entry, 80);
  if (!entry.type.empty()) text += fmt::format("\n{} {}", entry.type, shape_text(entry.shape));
  text += fmt::format("\n{} bytes at {}", grouped(entry.bytes), grouped(*entry.offset));
  if (entry.shares >= 0) text += fmt::format(", in the place of tensor {}", entry.shares);
  return text + "\n" + operators_text(entry);
}

// The blocks that `wanted` picks, as paths in units of steps and bytes.
template <class Wanted>
std::string group(const ArenaPlan& plan, std::string_view style, Wanted wanted) {
  constexpr size_t kMany = 2000;
  std::string paths;
  for (const ArenaEntry& entry : plan.entries) {
    if (!is_drawn(entry) || !wanted(entry)) continue;
    const int32_t steps = entry.last - entry.first + 1;
    paths += fmt::format("<path d=\"M{} {}h{}v{}h-{}z\"><title>{}</title></path>", entry.first,
                         *entry.offset, steps, entry.bytes, steps,
                         escaped(title_of(entry, plan.entries.size() > kMany)));
  }
  return paths.empty() ? "" : fmt::format("<g class=\"blocks {}\">{}</g>", style, paths);
}

// The transformation makes pixels of steps and bytes.
std::string blocks(const ArenaPlan& plan, const Axes& axes) {
  std::string text =
      fmt::format("<g transform=\"matrix({:.8g} 0 0 {:.8g} {:.3f} {:.3f})\">",
                  axes.x(1) - axes.x(0), axes.y(1) - axes.y(0), axes.x(0), axes.y(0));
  for (const char role : std::string_view("ioasv"))
    text += group(plan, fmt::format("r-{}", role), [&](const ArenaEntry& entry) {
      return entry.shares < 0 && role_letter(entry) == role;
    });
  text += group(plan, "same", [](const ArenaEntry& entry) { return entry.shares >= 0; });
  return text + "</g>";
}

// What goes into a rectangle of so many letters: the name, or who makes the tensor.
std::string label_of(const ArenaEntry& entry, const Inspection& model, size_t letters) {
  const std::string name = entry.tensor < 0 ? shown(entry.name) : entry_name(entry, 200);
  if (name.size() <= letters) return name;
  const auto maker = static_cast<size_t>(entry.first);
  if (entry.role == "input" || entry.tensor < 0 || maker >= model.operators.size())
    return shown(name, letters);
  const std::string kind = fmt::format("{} {}", maker, shown(model.operators[maker].kind));
  return kind.size() <= letters ? kind : std::to_string(maker);
}

std::string labels(const ArenaPlan& plan, const Inspection& model, const Axes& axes) {
  std::string text;
  for (const ArenaEntry& entry : plan.entries) {
    if (!is_drawn(entry) || entry.shares >= 0) continue;
    const double width = axes.x(entry.last + 1) - axes.x(entry.first);
    const double height = axes.y(0) - axes.y(static_cast<double>(entry.bytes));
    constexpr double kLetter = 6.4, kLine = 13;
    const auto letters = static_cast<size_t>(std::max(0.0, (width - 6) / kLetter));
    if (height < kLine || letters < 4) continue;
    text += fmt::format(
        "<text class=\"label\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>",
        axes.x((entry.first + entry.last + 1) / 2.0),
        axes.y(static_cast<double>(*entry.offset) + static_cast<double>(entry.bytes) / 2) + 4,
        escaped(label_of(entry, model, letters)));
  }
  return text;
}

std::string peak_marks(const ArenaPlan& plan, const Axes& axes) {
  std::string text = fmt::format(
      "<path class=\"peak\" d=\"M{:.0f} {:.1f}H{:.0f}\"/><text class=\"peak-text\" x=\"{:.0f}\" "
      "y=\"{:.1f}\" text-anchor=\"end\">{} bytes</text>",
      kLeft, axes.y(static_cast<double>(axes.bytes)), kWidth - kRight, kWidth - kRight,
      axes.y(static_cast<double>(axes.bytes)) - 7, grouped(axes.bytes));
  if (plan.peak_operator < 0) return text;
  const double x = axes.x(plan.peak_operator);
  const double width = std::max(1.5, axes.x(1) - axes.x(0));
  const bool at_end = x > kWidth * 0.6;
  text += fmt::format(
      "<rect class=\"now\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{:.0f}\"/>"
      "<text class=\"peak-text\" x=\"{:.1f}\" y=\"{:.0f}\" text-anchor=\"{}\">peak at operator "
      "{}</text>",
      x, kTop, width, kHeight - kTop - kBottom, at_end ? kLeft + 4 : x, kTop - 7, "start",
      plan.peak_operator);
  return text;
}

std::string picture(const ArenaPlan& plan, const Inspection& model) {
  const Axes axes{std::max<int64_t>(1, model.subgraphs.front().operators),
                  std::max<int64_t>(1, *plan.arena_bytes)};
  return fmt::format(
             "<svg class=\"arena\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"arena "
             "over time\">",
             kWidth, kHeight) +
         grid(axes) + blocks(plan, axes) + labels(plan, model, axes) + peak_marks(plan, axes) +
         "</svg>";
}

std::string colour_key(const ArenaPlan& plan) {
  std::string text = "<div class=\"key\">";
  const auto add = [&](std::string_view role, std::string_view words) {
    const auto found = std::ranges::find_if(plan.entries, [&](const ArenaEntry& entry) {
      return is_drawn(entry) && entry.role == role;
    });
    if (found != plan.entries.end())
      text +=
          fmt::format("<span><i style=\"background:{}\"></i>{}</span>", role_colour(*found), words);
  };
  add("input", "graph input");
  add("activation", "activation");
  add("output", "graph output");
  add("scratch", "buffer of a kernel");
  return text + "<span>dashed outline: written over its input</span></div>";
}

std::string sizes(const ArenaPlan& plan) {
  std::string text = "<table><tr><th>part</th><th class=\"n\">bytes</th><th></th></tr>";
  const auto row = [&](std::string_view part, std::optional<int64_t> bytes,
                       std::string_view words) {
    if (bytes)
      text += fmt::format("<tr><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>", part,
                          grouped(*bytes), words);
  };
  row("activations", plan.size.activations_bytes, "the arena with the network's tensors alone");
  row("scratch", plan.size.scratch_bytes, "what buffers of kernels add to it");
  row("runtime", plan.size.runtime_bytes, "allocated beside the arena: state, tables, the heap");
  row("<strong>total</strong>", plan.size.total_bytes, escaped(plan.runtime));
  return text + "</table>";
}

std::vector<const ArenaEntry*> at_peak(const ArenaPlan& plan) {
  std::vector<const ArenaEntry*> entries;
  for (const ArenaEntry& entry : plan.entries)
    if (is_drawn(entry) && entry.shares < 0 && entry.first <= plan.peak_operator &&
        plan.peak_operator <= entry.last)
      entries.push_back(&entry);
  std::ranges::stable_sort(entries, std::greater{}, &ArenaEntry::bytes);
  return entries;
}

std::string operator_label(const Inspection& model, int32_t index) {
  const auto i = static_cast<size_t>(index);
  if (index < 0 || i >= model.operators.size()) return fmt::format("operator {}", index);
  return fmt::format("operator {} ({})", index, shown(model.operators[i].kind));
}

std::string peak_table(const ArenaPlan& plan, const Inspection& model) {
  constexpr size_t kMost = 20;
  const std::vector<const ArenaEntry*> entries = at_peak(plan);
  std::string text = fmt::format(
      "<h3>In the arena at its peak, {}</h3><p>{} of {} bytes are in use there{}.</p><table><tr>"
      "<th class=\"n\">bytes</th><th></th><th>tensor</th><th>type and shape</th>"
      "<th class=\"n\">offset</th><th>needed by</th></tr>",
      escaped(operator_label(model, plan.peak_operator)), grouped(plan.peak_live_bytes),
      grouped(*plan.arena_bytes),
      plan.peak_live_bytes < *plan.arena_bytes
          ? fmt::format("; {} lie in gaps", grouped(*plan.arena_bytes - plan.peak_live_bytes))
          : "");
  for (size_t i = 0; i < std::min(kMost, entries.size()); ++i) {
    const ArenaEntry& entry = *entries[i];
    const double share =
        100.0 * static_cast<double>(entry.bytes) / static_cast<double>(*plan.arena_bytes);
    text += fmt::format(
        "<tr><td class=\"n\">{}</td><td><span class=\"bar\" "
        "style=\"width:{:.2f}rem;background:{}\">"
        "</span> {:.1f} %</td><td>{}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td></tr>",
        grouped(entry.bytes), share / 12, role_colour(entry), share, escaped(entry_name(entry, 70)),
        entry.type.empty() ? "" : escaped(entry.type + " " + shape_text(entry.shape)),
        grouped(*entry.offset), operators_text(entry));
  }
  text += "</table>";
  if (entries.size() > kMost) text += fmt::format("<p>and {} more</p>", entries.size() - kMost);
  return text;
}

std::string savings_table(const ArenaPlan& plan) {
  std::string text = "<h3>What would lower the peak</h3>";
  if (plan.savings.empty())
    return text +
           "<p>No single tensor of the peak, no kernel's buffers and no other order that was tried "
           "lowers the arena.</p>";
  text +=
      "<p>Each line is a plan made again with that one change.</p><table><tr><th>change</th>"
      "<th class=\"n\">arena then</th><th class=\"n\">saved</th><th class=\"n\"></th></tr>";
  for (const ArenaSaving& saving : plan.savings) {
    const int64_t saved = *plan.arena_bytes - saving.arena_bytes;
    text += fmt::format(
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{:.1f} "
        "%</td></tr>",
        escaped(shown(saving.what, 110)), grouped(saving.arena_bytes), grouped(saved),
        100.0 * static_cast<double>(saved) / static_cast<double>(*plan.arena_bytes));
  }
  text += "</table>";
  for (const ArenaSaving& saving : plan.savings) {
    if (saving.order.empty()) continue;
    constexpr size_t kMost = 2000;
    std::string order;
    for (size_t i = 0; i < std::min(kMost, saving.order.size()); ++i)
      order += fmt::format("{}{}", i == 0 ? "" : " ", saving.order[i]);
    text += fmt::format("<details><summary>that order</summary><p>{}{}</p></details>", order,
                        saving.order.size() > kMost ? " ..." : "");
  }
  return text;
}

}  // namespace

std::string_view arena_style() { return kStyle; }

std::string_view arena_script() { return kScript; }

std::string arena_section(const ArenaPlan& plan, const Inspection& model, std::string_view id) {
  std::string text = fmt::format("<section class=\"plan\" id=\"{}\">", id);
  if (!plan.size.total_bytes || !plan.arena_bytes)
    return text + fmt::format("<p>No plan: {}.</p></section>", escaped(plan.size.reason));
  text += sizes(plan);
  if (*plan.arena_bytes > 0)
    text += colour_key(plan) + picture(plan, model) +
            "<p class=\"at\">Point at a rectangle to see what it is.</p>" +
            peak_table(plan, model) + savings_table(plan);
  for (const std::string& line : plan.not_counted)
    text += fmt::format("<p class=\"note\">Not counted: {}.</p>", escaped(shown(line, 200)));
  return text + "</section>";
}

}  // namespace edgesage::report

#include "src/report/html.h"

#include <fmt/format.h>

namespace edgesage::report {
namespace {

constexpr std::string_view kStyle =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1c2330;--soft:#5b6577;--line:#e3e7ee;"
    "--card:#f6f8fb;--peak:#c4392b;--input:#2f8f6b;--output:#8a5bb5;--activation:#2867b2;"
    "--scratch:#c77c1e;--variable:#7a7f8a}"
    "@media(prefers-color-scheme:dark){:root{--page:#12161d;--ink:#e4e8ef;--soft:#9aa5b5;"
    "--line:#2a313d;--card:#1a202a;--peak:#ff7a6b;--input:#3aa57d;--output:#9d74c6;"
    "--activation:#3f7fca;--scratch:#cf8a33;--variable:#7f8896}}"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:74rem;margin:2rem auto;padding:0 1.2rem;"
    "color:var(--ink);background:var(--page)}h1{font-size:1.5rem;margin:0 0 .2rem;"
    "overflow-wrap:anywhere}h2{font-size:1.2rem;margin:2.2rem 0 .6rem}h3{font-size:1rem;"
    "margin:1.6rem 0 .4rem}p{margin:.5rem 0}table{border-collapse:collapse;margin:.5rem 0;"
    "font-size:.9rem}td,th{padding:.22rem .8rem .22rem 0;text-align:left;vertical-align:top;"
    "border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:600}"
    "td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".ops :is(td,th):is(:nth-child(1),:nth-child(5),:nth-child(6),:nth-child(7)){text-align:right;"
    "font-variant-numeric:tabular-nums;white-space:nowrap}"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(11rem,1fr));gap:.7rem;"
    "margin:1rem 0}.cards div{background:var(--card);border:1px solid var(--line);"
    "border-radius:8px;padding:.6rem .9rem}.cards b{display:block;font-size:1.25rem}"
    ".cards span,.note,.sub{color:var(--soft);font-size:.85rem}.wide{overflow-x:auto}"
    "details summary{cursor:pointer}.pick{margin:.6rem 0}.pick label{margin-right:1rem}";

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string page(std::string_view title, std::string_view body, std::string_view style,
                 std::string_view script) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\"/><meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/><title>{}</title><style>{}{}</style>"
      "</head><body>{}<script>{}</script></body></html>\n",
      escaped(title), kStyle, style, body, script);
}

void card(std::string& text, std::string_view value, std::string_view label) {
  text += fmt::format("<div><b>{}</b><span>{}</span></div>", escaped(value), escaped(label));
}

}  // namespace edgesage::report

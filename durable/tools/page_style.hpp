// The style of the page that `tickwheel-jobs report` writes.
#pragma once

namespace tickwheel::jobs {

inline constexpr const char *report_style = R"(
:root { color-scheme: light dark; --page: #f6f7f9; --card: #fff; --ink: #1b2330; --soft: #5c6878; --line: #e1e5ea;
  --bad: #b42318; --bad-page: #fdecea; --warm: #8a5a00; --warm-page: #fff4dc;
  --c0: #2f6fde; --c1: #12876f; --c2: #c2740b; --c3: #8a4fd0; --c4: #c23b73; --c5: #7b8794 }
@media (prefers-color-scheme: dark) { :root { --page: #12161c; --card: #1a2029; --ink: #e6eaf0; --soft: #98a4b3;
  --line: #2b333f; --bad: #ff8a7d; --bad-page: #3a1d1b; --warm: #f2c063; --warm-page: #35290f;
  --c0: #6ea2ff; --c1: #45c4a6; --c2: #f0a944; --c3: #b98af0; --c4: #f07ba7; --c5: #93a0af } }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); overflow-wrap: anywhere;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
header, main { max-width: 64rem; margin: 0 auto; padding: 0 1rem }
header { padding-top: 2rem }
h1 { margin: 0; font-size: 1.6rem; letter-spacing: -.02em }
header p { margin: .2rem 0 1.2rem; color: var(--soft) }
header p b { color: var(--ink); font-weight: 600 }
h2 { margin: 0 0 .8rem; font-size: 1rem; font-weight: 650 }
h2 small { margin-left: .3rem; color: var(--soft); font-size: inherit; font-weight: 400 }
ul { margin: 0; padding: 0; list-style: none }
section { margin: 0 0 1rem; padding: 1.1rem 1.2rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .7rem }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .6rem; margin-bottom: 1rem }
.tiles li { padding: .7rem .9rem; background: var(--card); border: 1px solid var(--line); border-radius: .7rem }
.tiles b { display: block; font-size: 1.5rem; font-weight: 650; line-height: 1.2; font-variant-numeric: tabular-nums }
.tiles span { color: var(--soft) }
.tiles .bad { background: var(--bad-page); border-color: transparent }
.tiles .bad b, .tiles .bad span { color: var(--bad) }
.tiles .warm { background: var(--warm-page); border-color: transparent }
.tiles .warm b, .tiles .warm span { color: var(--warm) }
.warnings { margin-bottom: 1rem }
.warnings li { margin-bottom: .4rem; padding: .5rem .9rem; background: var(--warm-page); color: var(--warm);
  border-radius: .5rem }
table { width: 100%; border-collapse: collapse; font-variant-numeric: tabular-nums }
th { padding: 0 1rem .35rem 0; color: var(--soft); font-size: .82rem; font-weight: 500; text-align: left; white-space: nowrap }
td { padding: .45rem 1rem .45rem 0; border-top: 1px solid var(--line); vertical-align: top; min-width: 3.5rem }
td:last-child, th:last-child { padding-right: 0; min-width: 9rem }
td[data-head=Due], td[data-head=When], td[data-head=First], td[data-head=Lease], td[data-head=Joined],
td[data-head="Handled by"] {
  white-space: nowrap }
td[data-head=Kind] { min-width: 5rem }
td[data-head=Key] { min-width: 9rem }
td[data-head=Why] { min-width: 18rem; color: var(--soft) }
td:first-child { font-weight: 600 }
.note, .calm { margin: .7rem 0 0; color: var(--soft) }
.tiles .calm, section .calm { margin: 0 }
.tiles .calm b { color: var(--ink) }
.note { font-size: .87rem }
figure { margin: 0 }
svg { display: block; width: 100%; height: 9rem; border-bottom: 1px solid var(--line) }
.scale { margin: 0; color: var(--soft); font-size: .82rem; border-bottom: 1px dashed var(--line) }
.hours { display: grid; grid-template-columns: repeat(8, 1fr); color: var(--soft); font-size: .82rem }
.legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; margin-top: .7rem }
.legend i { display: inline-block; width: .75em; height: .75em; margin-right: .45em; border-radius: .2em }
.legend b { font-weight: 600; font-variant-numeric: tabular-nums }
.c0 { fill: var(--c0); background: var(--c0) } .c1 { fill: var(--c1); background: var(--c1) }
.c2 { fill: var(--c2); background: var(--c2) } .c3 { fill: var(--c3); background: var(--c3) }
.c4 { fill: var(--c4); background: var(--c4) } .c5 { fill: var(--c5); background: var(--c5) }
@media (max-width: 45rem) {
  header { padding-top: 1.2rem }
  .tiles { grid-template-columns: repeat(3, 1fr); gap: .4rem }
  .tiles li { padding: .5rem }
  .tiles b { font-size: 1.05rem }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  table, tbody, tr, td { display: block; width: auto }
  table td, table td[data-head] { min-width: 0; white-space: normal }
  tr { padding: .5rem 0; border-top: 1px solid var(--line) }
  tr:first-child { padding-top: 0; border-top: 0 }
  td { display: grid; grid-template-columns: 6.5rem 1fr; padding: .1rem 0; border: 0 }
  td::before { content: attr(data-head); color: var(--soft); font-weight: 400 }
  td.none { display: none }
  .hours { font-size: .72rem }
}
@media print { section, .tiles li { break-inside: avoid } }
)";

}  // namespace tickwheel::jobs

// SPDX-License-Identifier: Apache-2.0
// The style of the page, light and dark. It contains no ">" and no "&", since it passes through an
// XML writer.
#pragma once

namespace mote::tool {

constexpr const char* kPageStyle = R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #59636e; --line: #d1d9e0;
  --panel: #f6f8fa; --good: #116329; --good-back: #dafbe1; --bad: #a40e26; --bad-back: #ffebe9;
  --square: #e6eaef; --wrong1: #f9c9b6; --wrong2: #f09a7d; --wrong3: #e06a4b; --wrong4: #bf3b24;
  --wrong5: #8a1508; --bar: #b35900; --bar2: #4b7bb5; }
@media (prefers-color-scheme: dark) { :root { --back: #0d1117; --text: #e6edf3; --soft: #9198a1;
  --line: #3d444d; --panel: #161b22; --good: #5fd37a; --good-back: #12301c; --bad: #ff8f85;
  --bad-back: #3c1618; --square: #232a33; --wrong1: #5e2d22; --wrong2: #8b3f2b; --wrong3: #bb5637;
  --wrong4: #e8785a; --wrong5: #ffb09c; --bar: #e3953d; --bar2: #6ea8e8; } }
body { background: var(--back); color: var(--text); font: 15px/1.5 system-ui, sans-serif;
  max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1, h2 { line-height: 1.2; } h2 { display: inline; font-size: 1.1rem; } h4 { margin: 1rem 0 0.2rem; }
h1, h2, h3 { overflow-wrap: anywhere; } h1.failed, h2.failed { color: var(--bad); } h1.passed, h2.passed { color: var(--good); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 0.8rem 0; }
th, td { border: 1px solid var(--line); padding: 0.25rem 0.6rem; text-align: left; }
thead th { background: var(--panel); } tbody th { font-weight: 600; }
td.value { text-align: right; font-variant-numeric: tabular-nums; }
td.passed { background: var(--good-back); } td.passed a { color: var(--good); }
td.failed { background: var(--bad-back); } td.failed a { color: var(--bad); font-weight: 600; }
td.none, td.none a, h2.none, .reason, .legend, figcaption { color: var(--soft); }
td a { text-decoration: none; } td a:hover, td a:focus { text-decoration: underline; }
section { border-top: 1px solid var(--line); padding: 0.8rem 0; }
summary { cursor: pointer; }
p.diagnosis { margin: 0.2rem 0; }
article { border-left: 4px solid var(--bad); padding: 0.1rem 0 0.4rem 1rem; margin: 1rem 0; }
pre { background: var(--panel); padding: 0.6rem; overflow-x: auto; white-space: pre-wrap;
  overflow-wrap: anywhere; }
figure { display: inline-block; margin: 0.5rem 1.5rem 0.5rem 0; vertical-align: top; }
svg { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.1rem 1rem; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
rect.right { fill: var(--square); } rect.wrong1 { fill: var(--wrong1); }
rect.wrong2 { fill: var(--wrong2); } rect.wrong3 { fill: var(--wrong3); }
rect.wrong4 { fill: var(--wrong4); } rect.wrong5 { fill: var(--wrong5); }
rect.unwritten { fill: var(--back); stroke: var(--bad); stroke-width: 2; stroke-dasharray: 3 2; }
rect.unknown { fill: var(--back); stroke: var(--line); stroke-dasharray: 1 2; }
.errors td { min-width: 6rem; }
.bar { display: inline-block; height: 0.7rem; border-radius: 2px; margin-right: 0.4rem; }
.bar.error { background: var(--bar); } .bar.allowed { background: var(--bar2); }
.number { font-variant-numeric: tabular-nums; }
@media (max-width: 40rem) { body { margin: 0.5rem auto; padding: 0 0.6rem; font-size: 14px; }
  dl { display: block; } dd { margin: 0 0 0.4rem 0; } h1 { font-size: 1.4rem; }
  article { padding-left: 0.5rem; } figure { margin: 0.5rem 0; max-width: 100%; }
  th, td { padding: 0.2rem 0.35rem; } .errors td { min-width: 0; } .reason, p { overflow-wrap: anywhere; } }
)";

}  // namespace mote::tool

"""The look of a report, light or dark as the reader's system is."""

STYLE = """
.blockscope { --back: #ffffff; --panel: #f6f8fa; --line: #d5dae1; --ink: #1c2330; --soft: #57606e;
  --error: #b3261e; --warning: #8a5a00; --note: #1b5fb4; --clean: #1a6e3c;
  --mark: #fdeceb; --also: #eef3fb; --keyword: #8b1fa9; --string: #0b6b3a; --comment: #6a7280;
  --number: #9a4a00; --builtin: #1b5fb4;
  color: var(--ink); background: var(--back); line-height: 1.5; font-size: 15px;
  font-family: system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
@media (prefers-color-scheme: dark) { .blockscope { --back: #12161d; --panel: #1a202a;
  --line: #333c4a; --ink: #e3e8f0; --soft: #a0aaba; --error: #ff8f86; --warning: #f0b95c;
  --note: #86b8ff; --clean: #7bd39a; --mark: #3a2024; --also: #1d2a3e; --keyword: #d7a0f2;
  --string: #8fd6a8; --comment: #8b95a5; --number: #f2b27c; --builtin: #86b8ff; }
  body:has(> .blockscope) { background: #12161d; } }
body:has(> .blockscope) { margin: 0; }
main.blockscope { max-width: 1120px; margin: 0 auto; padding: 24px 20px 64px; }
.blockscope.part { padding: 4px 12px 12px; border-radius: 6px; }
.blockscope * { box-sizing: border-box; }
.blockscope h1 { font-size: 24px; margin: 0 0 8px; font-weight: 650; }
.blockscope h2 { font-size: 17px; margin: 0; font-weight: 600; display: inline;
  overflow-wrap: anywhere; }
.blockscope h3 { font-size: 14px; margin: 12px 0 4px; font-weight: 600; overflow-wrap: anywhere; }
.blockscope h4 { font-size: 14px; margin: 12px 0 4px; }
.blockscope code, .blockscope pre, .blockscope .code { font-size: 13px; line-height: 1.55;
  font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.blockscope code { background: none; color: inherit; padding: 0; }
.blockscope .tally { margin: 8px 0 12px; }
.blockscope .chip { display: inline-block; border: 1px solid var(--line); border-radius: 12px;
  padding: 1px 10px; margin-right: 4px; color: var(--soft); font-weight: 600; font-size: 14px; }
.blockscope .chip.error { color: var(--error); border-color: var(--error); }
.blockscope .chip.warning { color: var(--warning); border-color: var(--warning); }
.blockscope .chip.note { color: var(--note); border-color: var(--note); }
.blockscope .chip.clean { color: var(--clean); border-color: var(--clean); }
.blockscope dl { display: grid; grid-template-columns: max-content minmax(0, 1fr);
  gap: 2px 14px; margin: 10px 0 0; font-size: 14px; text-align: left; }
.blockscope dt { color: var(--soft); font-weight: 400; margin: 0; }
.blockscope dd { margin: 0; overflow-wrap: anywhere; }
.blockscope .said { border-left: 3px solid var(--warning); margin: 14px 0; padding: 4px 0 4px 28px;
  overflow-wrap: anywhere; }
.blockscope .wide { overflow-x: auto; margin: 18px 0 6px; }
.blockscope table { border-collapse: collapse; font-size: 14px; width: 100%; border: 0; }
.blockscope .list td, .blockscope .list th { text-align: left; vertical-align: top; border: 0;
  border-bottom: 1px solid var(--line); padding: 5px 12px 5px 0; background: none; }
.blockscope .list th { color: var(--soft); font-weight: 400; }
.blockscope .list td:nth-child(-n+3) { white-space: nowrap; }
.blockscope .list td:nth-child(4) { overflow-wrap: break-word; max-width: 15em; }
.blockscope .list td:last-child { overflow-wrap: anywhere; min-width: 280px; }
.blockscope a { color: var(--note); text-underline-offset: 2px; }
.blockscope .severity { font-size: 12px; font-weight: 700; letter-spacing: .03em;
  text-transform: uppercase; color: var(--note); }
.blockscope .error .severity { color: var(--error); }
.blockscope .warning .severity { color: var(--warning); }
.blockscope .finding { border: 1px solid var(--line); border-left: 4px solid var(--note);
  border-radius: 6px; padding: 14px 18px 16px; margin: 18px 0 0; }
.blockscope .finding.error { border-left-color: var(--error); }
.blockscope .finding.warning { border-left-color: var(--warning); }
.blockscope .finding header { margin-bottom: 10px; }
.blockscope .finding .severity { margin-right: 6px; }
.blockscope .place { margin: 4px 0 0; color: var(--soft); overflow-wrap: anywhere; }
.blockscope .file { color: var(--soft); font-size: 13px; margin: 10px 0 4px;
  overflow-wrap: anywhere; }
.blockscope .code { background: var(--panel); border: 1px solid var(--line); border-radius: 4px;
  padding: 6px 0; overflow-x: auto; white-space: pre; tab-size: 8; text-align: left; }
.blockscope .code > div { min-width: max-content; padding-right: 16px; }
.blockscope .code .n { display: inline-block; width: 4.5em; padding-right: 1.2em;
  text-align: right; color: var(--comment); user-select: none; }
.blockscope .code .line.main { background: var(--mark); }
.blockscope .code .line.also { background: var(--also); }
.blockscope .code .line.main .n { color: var(--error); font-weight: 700; }
.blockscope .code .caret { color: var(--note); }
.blockscope .code .caret.main { color: var(--error); }
.blockscope .warning .code .caret.main, .blockscope .warning .code .line.main .n {
  color: var(--warning); }
.blockscope .note .code .caret.main, .blockscope .note .code .line.main .n { color: var(--note); }
.blockscope .warning .code .line.main, .blockscope .note .code .line.main {
  background: var(--also); }
.blockscope .code .gap { color: var(--comment); padding-left: 2.4em; }
.blockscope .k { color: var(--keyword); }
.blockscope .s { color: var(--string); }
.blockscope .c { color: var(--comment); font-style: italic; }
.blockscope .m { color: var(--number); }
.blockscope .b { color: var(--builtin); }
.blockscope .sides { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px; }
@media (max-width: 760px) { .blockscope .sides { grid-template-columns: minmax(0, 1fr); } }
.blockscope .side h3 { margin-top: 0; }
.blockscope .hint { background: var(--panel); border-radius: 4px; padding: 8px 12px;
  margin: 10px 0 0; overflow-wrap: anywhere; }
.blockscope .hint b { margin-right: 6px; color: var(--clean); }
.blockscope .waiting { margin: 0; padding-left: 20px; overflow-wrap: anywhere; }
.blockscope .shares td { padding: 3px 12px 3px 0; vertical-align: top; border: 0;
  overflow-wrap: anywhere; text-align: left; }
.blockscope .shares td:nth-child(2) { width: 160px; }
.blockscope .percent { text-align: right; width: 4em; font-variant-numeric: tabular-nums; }
.blockscope .bar { background: var(--panel); border: 1px solid var(--line); height: 14px;
  margin-top: 4px; }
.blockscope .bar div { background: var(--note); height: 100%; }
.blockscope figure { margin: 14px 0 0; }
.blockscope figure img { max-width: 100%; border: 1px solid var(--line); border-radius: 4px; }
.blockscope figcaption { color: var(--soft); font-size: 13px; }
.blockscope details { margin-top: 12px; }
.blockscope summary { cursor: pointer; color: var(--soft); font-size: 14px; }
.blockscope .page { border-left: 3px solid var(--line); padding-left: 14px; margin-top: 8px;
  font-size: 14px; max-width: 80ch; }
.blockscope .page pre { background: var(--panel); color: inherit; padding: 8px 12px;
  overflow-x: auto; border-radius: 4px; }
.blockscope .unread { color: var(--soft); }
@media print { .blockscope .finding { break-inside: avoid; } }
"""

/** Style of the documentation page, in the color scheme of the reader's system. */
export const docsStyle = `:root {
  color-scheme: light dark;
  --text: #1b1f24;
  --soft: #57606a;
  --back: #ffffff;
  --raised: #f5f7f9;
  --line: #d5dae0;
  --accent: #0b5cad;
}
@media (prefers-color-scheme: dark) {
  :root {
    --text: #e6e9ed;
    --soft: #9aa4af;
    --back: #14171a;
    --raised: #1d2125;
    --line: #343a41;
    --accent: #7ab7ff;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto;
  max-width: 60rem;
  padding: 1.5rem 1rem 4rem;
  color: var(--text);
  background: var(--back);
  font: 1rem/1.55 system-ui, sans-serif;
}
a { color: var(--accent); }
h1 { margin: 0; }
h2 { margin: 2.5rem 0 0.25rem; }
h3 { margin: 1rem 0 0.25rem; font-size: 0.95rem; }
nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; padding: 0; list-style: none; }
code, pre { font: 0.875rem/1.5 ui-monospace, monospace; }
pre { overflow-x: auto; padding: 0.75rem; border-radius: 0.375rem; background: var(--raised); }
details { border: 1px solid var(--line); border-radius: 0.375rem; margin: 0.5rem 0; padding: 0 0.75rem; }
details[open] { padding-bottom: 0.75rem; }
summary { cursor: pointer; padding: 0.5rem 0; overflow-wrap: anywhere; }
summary:focus-visible, a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
summary span { color: var(--soft); margin-left: 0.5rem; }
.method { display: inline-block; min-width: 4.5rem; font-weight: 700; color: var(--accent); }
.table { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.375rem 0.75rem 0.375rem 0; border-bottom: 1px solid var(--line); }
th { color: var(--soft); font-weight: 600; }
`

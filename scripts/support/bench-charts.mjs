/**
 * Small SVG charts with colors for light and dark screens, and every figure as text.
 */
const style = `<style>
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600; font-size: 13px }
  .faint { fill: #57606a }
  .bar { fill: #2f81f7 } .missed { fill: #bf8700 }
  .spread { stroke: #24292f; stroke-width: 1.5 } .aim { stroke: #cf222e; stroke-width: 2 }
  .grid { stroke: #d0d7de } .back { fill: #ffffff }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .faint { fill: #9198a1 } .spread { stroke: #e6edf3 } .aim { stroke: #ff7b72 }
    .grid { stroke: #3d444d } .back { fill: #0d1117 } .missed { fill: #d29922 }
  }
</style>`

const lineColours = [
  '#2f81f7',
  '#bf8700',
  '#2da44e',
  '#a371f7',
  '#db61a2',
  '#768390',
  '#d1570a',
  '#0a9396',
  '#6e40c9',
]

const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
const escaped = (text) => String(text).replace(/[&<>"]/g, (character) => escapes[character])
const at = (value) => Number(value.toFixed(1))

function text(x, y, content, attributes = '') {
  return `<text x="${at(x)}" y="${at(y)}"${attributes}>${escaped(content)}</text>`
}

function line(kind, x1, y1, x2, y2) {
  return `<line class="${kind}" x1="${at(x1)}" y1="${at(y1)}" x2="${at(x2)}" y2="${at(y2)}"/>`
}

function document(width, height, title, parts) {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    style,
    `<rect class="back" width="${width}" height="${height}" rx="6"/>`,
    text(12, 22, title, ' class="title"'),
    ...parts,
    '</svg>',
    '',
  ].join('\n')
}

/** Maps values to positions, logarithmically if they span several powers of ten. */
function scaleOf(values, from, to) {
  const [least, most] = [Math.min(...values), Math.max(...values)]
  if (least > 0 && most / least > 50) {
    const [low, high] = [Math.floor(Math.log10(least)), Math.ceil(Math.log10(most))]
    const place = (value) => from + ((Math.log10(value) - low) / (high - low)) * (to - from)
    return { place, ticks: Array.from({ length: high - low + 1 }, (_, i) => 10 ** (low + i)) }
  }
  const step = niceStep(most / 4)
  const end = Math.ceil((most * 1.02) / step) * step
  const place = (value) => from + (value / end) * (to - from)
  return { place, ticks: Array.from({ length: Math.round(end / step) + 1 }, (_, i) => i * step) }
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough))
  return [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((step) => step >= rough)
}

const tick = (value) => String(Number(value.toPrecision(3)))

/** A bar for each ratio, a line from the smallest to the largest round, and a mark at the target. */
export function ratioChart({ title, rows }) {
  const names = rows.map(({ name }) => name)
  const left = 24 + 6.3 * Math.max(...names.map((name) => name.length))
  const width = Math.round(left + 440)
  const [top, rowHeight] = [40, 22]
  const bottom = top + rows.length * rowHeight
  const aims = rows.flatMap(({ aim }) => (aim ? [aim.atLeast ?? aim.atMost] : []))
  const values = [...rows.flatMap(({ ratio }) => [ratio.median, ratio.least, ratio.most]), ...aims]
  const { place, ticks } = scaleOf(values, left, width - 60)
  const parts = ticks.flatMap((value) => [
    line('grid', place(value), top - 4, place(value), bottom),
    text(place(value), bottom + 16, tick(value), ' text-anchor="middle" class="faint"'),
  ])
  for (const [i, { name, ratio, aim, reached }] of rows.entries()) {
    const y = top + i * rowHeight
    const kind = reached === false ? 'bar missed' : 'bar'
    const end = place(ratio.median)
    parts.push(
      text(left - 8, y + 14, name, ' text-anchor="end"'),
      `<rect class="${kind}" x="${at(left)}" y="${y + 3}" width="${at(Math.max(1, end - left))}" height="${rowHeight - 8}" rx="2"/>`,
      line('spread', place(ratio.least), y + rowHeight / 2 - 1, place(ratio.most), y + rowHeight / 2 - 1),
      text(Math.max(end, place(ratio.most)) + 6, y + 14, tick(ratio.median)),
    )
    if (aim) {
      const x = place(aim.atLeast ?? aim.atMost)
      parts.push(line('aim', x, y, x, y + rowHeight))
    }
  }
  const legend =
    aims.length > 0
      ? 'ratio; thin line: least to most of the rounds; red: aim'
      : 'ratio; thin line: least to most'
  parts.push(text(left, bottom + 34, legend, ' class="faint"'))
  return document(width, bottom + 46, title, parts)
}

/** Figures by size, on a logarithmic axis. */
export function lineChart({ title, unit, xs, series }) {
  const [left, top, bottom, right] = [64, 40, 320, 480]
  const names = series.map(({ name }) => name)
  const width = Math.round(right + 40 + 6.6 * Math.max(...names.map((name) => name.length)))
  const logs = xs.map(Math.log10)
  const span = Math.max(1e-9, logs.at(-1) - logs[0])
  const placeX = (i) => left + ((logs[i] - logs[0]) / span) * (right - left)
  const { place, ticks } = scaleOf(
    series.flatMap(({ ys }) => ys),
    bottom,
    top,
  )
  const parts = ticks.flatMap((value) => [
    line('grid', left, place(value), right, place(value)),
    text(left - 6, place(value) + 4, tick(value), ' text-anchor="end" class="faint"'),
  ])
  for (const [i, x] of xs.entries()) {
    parts.push(text(placeX(i), bottom + 18, x.toLocaleString('en-US'), ' text-anchor="middle" class="faint"'))
  }
  for (const [number, { name, ys }] of series.entries()) {
    const colour = lineColours[number % lineColours.length]
    const points = ys.map((y, i) => `${at(placeX(i))},${at(place(y))}`).join(' ')
    const y = top + 10 + number * 20
    parts.push(
      `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2"/>`,
      ...ys.map(
        (value, i) => `<circle cx="${at(placeX(i))}" cy="${at(place(value))}" r="3" fill="${colour}"/>`,
      ),
      `<rect x="${right + 14}" y="${y - 9}" width="10" height="10" fill="${colour}"/>`,
      text(right + 30, y, name),
    )
  }
  parts.push(text(left, bottom + 36, `${unit}, against entries`, ' class="faint"'))
  return document(width, bottom + 48, title, parts)
}

/** Generates the figures of docs/operations/performance.md and those of docs/scaling.md from a run. */
import { spreadOf } from '../../bench/support/figures.mjs'
import { aimText, shown, spreadText } from '../../bench/support/text-report.mjs'

/** Replaces everything between the page's markers and keeps the rest. */
export function pageWith(markdown, run) {
  const parts = new Map([
    ['machine', machinePart(run)],
    ['figures', figuresPart(run)],
  ])
  const known = new Set()
  const page = markdown.replace(
    /(<!-- bench:([\w-]+) -->\n)[\s\S]*?(<!-- \/bench:\2 -->)/g,
    (_, begin, name, end) => {
      known.add(name)
      return `${begin}\n${parts.get(name)}\n${end}`
    },
  )
  const missing = [...parts.keys()].filter((name) => !known.has(name))
  if (missing.length > 0) throw new Error(`The page has no place for ${missing.join(', ')}.`)
  return page
}

/** The page on scaling computes with figures of the run. Each follows words that the page has once. */
export function scalingWith(markdown, { results }) {
  const rowsOf = (benchmark, table) =>
    results.find(({ name }) => name === benchmark)?.tables.find(({ id }) => id === table)?.rows ?? []
  const rowOf = (benchmark, table, row) => rowsOf(benchmark, table).find(({ name }) => name === row)
  const figures = {
    'bytes of an entry as sent: ': rowOf('ingest', 'batches', 'full: 1000 × 16')?.more['bytes an entry'],
    'server, which sends ': rowOf('hits', 'bare', '1 KB, plain')?.sides.bare.median,
    'memory of the service while it receives logs: ': rowsOf('ingest', 'steady').at(-1)?.more['service, MB'],
  }
  let page = markdown
  for (const [words, figure] of Object.entries(figures)) {
    const [before, after, ...others] = page.split(words)
    if (after === undefined || others.length > 0) throw new Error(`The page must have "${words}" once.`)
    if (figure === undefined) throw new Error(`The run has no figure for "${words}".`)
    page = `${before}${words}${after.replace(/^[\d,]+/, shown(Math.round(figure)))}`
  }
  return page
}

function machinePart({ machine, emulated, quick, results }) {
  const minutes = results.reduce((sum, { seconds = 0 }) => sum + seconds, 0) / 60
  const notes = [
    ...(quick ? ['**A quick run**: it shows that everything works, not how fast.\n'] : []),
    ...(emulated
      ? [
          '**The engine was emulated in this run**, and data sets were smaller. Its figures say nothing about a native ' +
            'engine and are not compared with the aims. Do not use the ratios to PostgreSQL and DuckDB, which ran natively.\n',
        ]
      : []),
  ]
  const lines = Object.entries({ run: `${minutes.toFixed(0)} minutes in all`, ...machine })
  return [...notes, lines.map(([name, value]) => `- ${name}: ${value}\n`).join('')].join('\n')
}

/** A line for each table of ratios, and for each figure that stands by itself. */
function figuresPart({ results }) {
  const lines = results.flatMap(({ name, seconds = 0, tables = [], skipped, failed }) => {
    if (failed !== undefined) return [[`\`${name}\``, `failed: ${failed.split('\n')[0]}`, '', '']]
    if (skipped !== undefined) return [[`\`${name}\``, `left out: ${skipped}`, '', '']]
    return tables
      .flatMap(linesOf)
      .map((cells, i) => [i === 0 ? `\`${name}\`, ${Math.round(seconds)} s` : '', ...cells])
  })
  return tableOf(['Benchmark', 'What', 'Median (lowest–highest)', 'Aim'], lines)
}

/** A table as the formatter wants it. */
function tableOf(head, lines) {
  const cells = [head, ...lines].map((line) => line.map((cell) => cell.replaceAll('|', '\\|')))
  const widths = head.map((_, column) => Math.max(...cells.map((line) => line[column].length)))
  const [first, ...others] = cells.map((line) => line.map((cell, column) => cell.padEnd(widths[column])))
  const rule = widths.map((width) => '-'.repeat(width))
  return [first, rule, ...others].map((line) => `| ${line.join(' | ')} |\n`).join('')
}

/** What was compared, its figure, and its aim. A table with `each` has cases that stand for themselves. */
function linesOf({ title, compares = title, each = false, warning, rows }) {
  const compared = rows.filter(({ ratio }) => ratio)
  const single = rows.filter(({ sides, ratio, aim }) => (each ? sides : aim && !ratio))
  const summed =
    each || compared.length === 0 ? [] : [[warned(compares, warning), summedUp(compared), aimOf(compared)]]
  return [...summed, ...single.map((row) => [row.name, figureOf(row), aimOf([row])])]
}

function warned(text, warning) {
  return warning ? `${text} **${warning}**` : text
}

/** The median of the cases' ratios, with the least and the most. */
function summedUp(cases) {
  const medians = cases.map(({ ratio }) => ratio.median)
  const spread = cases.length > 1 ? spreadOf(medians) : cases[0].ratio
  return `${spreadText(spread)}${cases.length > 1 ? `, ${cases.length} cases` : ''}`
}

/** The first side with its unit, and how many times the second one it is if they are compared. */
function figureOf({ unit, sides, ratio }) {
  const [[, spread], second] = Object.entries(sides)
  const figure = unit ? `${spreadText(spread)} ${unit}` : spreadText(spread)
  return ratio ? `${figure}, ${spreadText(ratio)} × ${second[0]}` : figure
}

function aimOf(cases) {
  const aimed = cases.filter(({ aim }) => aim)
  if (aimed.length === 0) return ''
  const judged = aimed.filter(({ reached }) => reached !== null)
  const reached = judged.filter((row) => row.reached).length
  const verdict =
    judged.length === 0
      ? 'not judged'
      : judged.length === 1
        ? ['missed', 'reached'][reached]
        : `reached in ${reached} of ${judged.length}`
  return `${[...new Set(aimed.map(({ aim }) => aimText(aim)))].join(' or ')}: ${verdict}`
}

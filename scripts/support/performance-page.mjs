/** Generates the tables of docs/operations/performance.md and its charts from the figures of a run. */
import { cellsOf } from '../../bench/support/text-report.mjs'
import { lineChart, ratioChart } from './bench-charts.mjs'

/** Replaces everything between the page's markers and keeps the rest. */
export function pageWith(markdown, run) {
  const parts = partsOf(run)
  const known = new Set()
  const page = markdown.replace(
    /(<!-- bench:([\w-]+) -->\n)[\s\S]*?(<!-- \/bench:\2 -->)/g,
    (_, begin, name, end) => {
      known.add(name)
      return `${begin}\n${parts.get(name) ?? 'Not measured in this run.\n'}\n${end}`
    },
  )
  const missing = [...parts.keys()].filter((name) => !known.has(name))
  if (missing.length > 0) throw new Error(`The page has no place for ${missing.join(', ')}.`)
  return page
}

/** The charts of a run, by file name. */
export function chartsOf({ results }) {
  const charts = new Map()
  for (const { name, tables } of results) {
    for (const table of tables) {
      const chart = chartOf(table)
      if (chart !== undefined) charts.set(fileOf(name, table), chart)
    }
  }
  return charts
}

function partsOf(run) {
  const parts = new Map([
    ['machine', machinePart(run)],
    ['aims', aimsPart(run)],
  ])
  for (const result of run.results) parts.set(result.name, benchPart(result))
  return parts
}

function machinePart({ machine, emulated, quick, results }) {
  const rows = Object.entries(machine).map(([what, value]) => [what, value])
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
  return [...notes, markdownTable(['run', `${minutes.toFixed(0)} minutes in all`], rows)].join('\n')
}

function aimsPart({ results }) {
  const rows = []
  for (const { name, tables } of results) {
    for (const { title, rows: cases } of tables) {
      const aimed = cases.filter(({ aim }) => aim)
      if (aimed.length === 0) continue
      const missed = aimed.filter(({ reached }) => reached === false).map((row) => row.name)
      const reached = aimed.filter((row) => row.reached === true).length
      const judged = reached + missed.length
      const verdict = judged === 0 ? 'not judged' : `${reached} of ${judged}`
      rows.push([`\`${name}\``, title, verdict, missed.join('; ')])
    }
  }
  return markdownTable(['benchmark', 'what', 'aims reached', 'missed'], rows)
}

function benchPart(result) {
  const { name, seconds, tables, notes = [], skipped, failed } = result
  if (failed !== undefined) return `This run of it failed: ${failed.split('\n')[0]}\n`
  if (skipped !== undefined) return `Left out in this run: ${skipped}\n`
  const repeat = `\`npm run bench -- ${name}\` took ${Math.round(seconds)} s.\n`
  return [repeat, ...tables.map((table) => tablePart(name, table)), ...notes.map((note) => `${note}\n`)].join(
    '\n',
  )
}

function tablePart(name, table) {
  const { columns, rows } = cellsOf(table)
  const chart = chartOf(table) && `![${table.title}](../images/bench/${fileOf(name, table)})\n`
  return [
    `**${table.title}.**${table.compares ? ` ${table.compares}` : ''}${table.warning ? ` **${table.warning}**` : ''}\n`,
    ...(chart ? [chart] : []),
    markdownTable(columns, rows),
  ].join('\n')
}

function fileOf(name, { id }) {
  return `${name}-${id}.svg`
}

/** Omits ratios that are marked as unusable. */
function chartOf({ title, rows, lines, warning }) {
  if (lines) return lineChart({ title, ...lines })
  const compared = rows.filter(({ ratio }) => ratio)
  return warning || compared.length < 3 ? undefined : ratioChart({ title, rows: compared })
}

function markdownTable(columns, rows) {
  const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ')
  const cells = [columns, ...rows].map((row) => row.map(cell))
  const widths = columns.map((_, i) => Math.max(3, ...cells.map((row) => row[i].length)))
  const line = (row) => `| ${row.map((text, i) => text.padEnd(widths[i])).join(' | ')} |`
  const [head, ...body] = cells
  return `${[line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')}\n`
}

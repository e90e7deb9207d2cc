/** Generates the tables of docs/operations/performance.md and its charts from the figures of a run. */
import { spreadOf } from '../../bench/support/figures.mjs'
import { aimText, spreadText } from '../../bench/support/text-report.mjs'
import { lineChart, ratioChart } from './bench-charts.mjs'

/** Replaces everything between the page's markers and keeps the rest. */
export function pageWith(markdown, run) {
  const parts = new Map([
    ['machine', machinePart(run)],
    ['figures', figuresPart(run)],
    ['charts', chartsPart(run)],
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

/** The charts of a run, by file name. */
export function chartsOf(run) {
  return new Map(chartedTables(run).map(({ file, chart }) => [file, chart]))
}

function chartedTables({ results }) {
  return results.flatMap(({ name, tables }) =>
    tables.flatMap((table) => {
      const chart = chartOf(table)
      return chart === undefined ? [] : { file: `${name}-${table.id}.svg`, title: table.title, chart }
    }),
  )
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
  return [...notes, listOf(lines.map(([name, value]) => `${name}: ${value}`))].join('\n')
}

/** A line for each table of ratios, and for each figure that has an aim of its own. */
function figuresPart({ results }) {
  const lines = results.flatMap(({ name, tables = [], skipped, failed }) => {
    if (failed !== undefined) return [`\`${name}\`: failed: ${failed.split('\n')[0]}`]
    if (skipped !== undefined) return [`\`${name}\`: left out: ${skipped}`]
    return tables.flatMap(({ title, compares = title, warning, rows: cases }) => {
      const compared = cases.filter(({ ratio }) => ratio)
      const single = cases.filter(({ ratio, aim }) => aim && !ratio)
      const what = warning ? `${compares} **${warning}**` : compares
      return [
        ...(compared.length > 0 ? [`\`${name}\`: ${what} ${summedUp(compared)}`] : []),
        ...single.map((row) => `\`${name}\`: ${singleOf(title, row)}${aimOf([row])}`),
      ]
    })
  })
  return listOf(lines)
}

/** The median of the cases' ratios, with the least and the most. */
function summedUp(cases) {
  const medians = cases.map(({ ratio }) => ratio.median)
  const spread = cases.length > 1 ? spreadOf(medians) : cases[0].ratio
  const count = cases.length > 1 ? ` in ${cases.length} cases` : ''
  return `**${spreadText(spread)}**${count}${aimOf(cases)}`
}

function singleOf(title, { name, unit, sides }) {
  const [[side, spread]] = Object.entries(sides)
  return `${title}: ${name}${unit ? `, ${side}, ${unit}` : ''}: **${spreadText(spread)}**`
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
  return `; the aim of ${[...new Set(aimed.map(({ aim }) => aimText(aim)))].join(' or ')} is ${verdict}.`
}

function chartsPart(run) {
  return chartedTables(run)
    .map(({ file, title }) => `![${title}](../images/bench/${file})\n`)
    .join('\n')
}

/** Omits ratios that are marked as unusable. */
function chartOf({ title, rows, lines, warning }) {
  if (lines) return lineChart({ title, ...lines })
  const compared = rows.filter(({ ratio }) => ratio)
  return warning || compared.length < 3 ? undefined : ratioChart({ title, rows: compared })
}

function listOf(lines) {
  return lines.map((line) => `- ${line.replaceAll('\n', ' ')}\n`).join('')
}

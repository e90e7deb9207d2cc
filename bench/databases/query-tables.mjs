import { median, quantile } from '../support/figures.mjs'
import { comparison, observation } from '../support/result.mjs'
import { shown } from '../support/text-report.mjs'
import { partsRead } from './query-sides.mjs'

const aimsOver = { 'logs.all': 25, 'usage.api-counts': 100 }

const unfair = 'Not comparable: the other database runs natively, and the engine is emulated.'

export function queryTables(results, { smaller, steadyRows, emulated, postgres }) {
  const other = (id, title, compares, rows) => ({
    id,
    title,
    compares,
    ...(emulated && { warning: unfair }),
    rows,
  })
  return [
    {
      id: 'engine',
      title: 'Queries over HTTP compared with the same statement on the engine',
      compares: 'p50 over HTTP, divided by that of the same statement on the engine.',
      rows: results.map(overEngine),
    },
    ...(postgres
      ? [
          {
            ...other(
              'smallest',
              'The two smallest cases compared with PostgreSQL',
              "p50 of a query over HTTP, divided by that of the equivalent query in PostgreSQL with Logflare's layout.",
              results.filter(({ call, rows }) => call.isSmallest && rows === smaller).map(overPostgres),
            ),
            each: true,
          },
          other(
            'postgres',
            'PostgreSQL compared with queries over HTTP',
            "p50 in PostgreSQL with Logflare's layout, divided by that over HTTP.",
            results.map((result) => overOther(result, 'postgres', 'PostgreSQL', smaller)),
          ),
        ]
      : []),
    other(
      'duckdb',
      'DuckDB compared with queries over HTTP',
      'p50 in DuckDB, in-process, divided by that over HTTP.',
      results.map((result) => overOther(result, 'duckdb', 'DuckDB', smaller)),
    ),
    {
      id: 'others',
      title: `A project of ${shown(steadyRows)} entries when all others grow fivefold`,
      compares: `p50 among ${shown(5 * smaller)} entries, divided by that among ${shown(smaller)}.`,
      rows: amongMore(results, smaller),
    },
    {
      id: 'granules',
      title: 'Granules that usage.api-counts reads',
      compares: "Granules read out of all granules, from the engine's plan.",
      rows: results.filter(({ call }) => call.endpoint === 'usage.api-counts').map(granules),
    },
  ]
}

const nameOf = ({ rows, call }) => `${call.endpoint} ${call.name}, ${call.tenant}, of ${shown(rows)}`
const p99 = (rounds) => quantile(rounds.flat(), 0.99)

function overEngine(result) {
  const { http, engine } = result.times
  const plannedMs = median(result.planned)
  return comparison({
    name: nameOf(result),
    unit: 'ms',
    sides: { wellhead: http.map(median), 'raw engine': engine.map(median) },
    aim: { atMost: 1.15 },
    more: {
      ...result.size,
      ...partsRead(result.plan),
      'planned, ms': plannedMs,
      'planned × raw': plannedMs / median(engine.map(median)),
      'p99, ms': p99(http),
      'raw p99, ms': p99(engine),
      'p99 ratio': p99(http) / p99(engine),
    },
  })
}

function overOther(result, side, name, smaller) {
  const { http, [side]: other } = result.times
  const atLeast = side === 'postgres' && result.rows > smaller ? aimsOver[result.call.endpoint] : undefined
  return comparison({
    name: nameOf(result),
    unit: 'ms',
    sides: { [name]: other.map(median), wellhead: http.map(median) },
    ...(atLeast && { aim: { atLeast } }),
    more: { [`${name} p99, ms`]: p99(other), 'wellhead p99, ms': p99(http), asked: other.flat().length },
  })
}

function overPostgres(result) {
  const { http, postgres } = result.times
  return comparison({
    name: `${result.call.endpoint} ${result.call.name}, uncached`,
    unit: 'ms',
    sides: { wellhead: http.map(median), PostgreSQL: postgres.map(median) },
    aim: { atMost: 2 },
  })
}

function amongMore(results, smaller) {
  const of = (size) =>
    results.filter(({ rows, call }) => (rows === smaller) === size && call.tenant === 'same size')
  return of(true).map((small, i) => {
    const large = of(false)[i]
    return comparison({
      name: `${small.call.endpoint} ${small.call.name}`,
      unit: 'ms',
      sides: { 'among more': large.times.http.map(median), 'among fewer': small.times.http.map(median) },
      aim: { atMost: 1.3 },
    })
  })
}

/** Each index in the plan lists its granules before and after filtering. */
function granules(result) {
  const steps = [...result.plan.matchAll(/Granules: (\d+)\/(\d+)/g)]
  if (steps.length === 0) throw new Error(`The plan contains no granules:\n${result.plan}`)
  const [read, all] = [Number(steps.at(-1)[1]), Number(steps[0][2])]
  return observation(nameOf(result), { read, 'in all': all, share: read / all })
}

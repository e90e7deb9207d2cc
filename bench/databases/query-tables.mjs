import { median, quantile } from '../support/figures.mjs'
import { comparison, observation } from '../support/result.mjs'
import { shown } from '../support/text-report.mjs'

const aimsOver = { 'logs.all': 25, 'usage.api-counts': 100 }

const unfair =
  'Not to be used: the other side runs natively here and the engine is emulated, which is unfair to Wellhead.'

/** What a run of the queries shows, table by table. */
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
      title: 'Calls over HTTP, over the same statement on the engine',
      compares:
        'p50 of a call over HTTP, over the statement that the service makes of it, given to the engine directly.',
      rows: results.map(overEngine),
    },
    ...(postgres
      ? [
          other(
            'postgres',
            'PostgreSQL over calls over HTTP',
            "p50 of the same question to PostgreSQL, in Logflare's layout, over a call over HTTP.",
            results.map((result) => overOther(result, 'postgres', 'PostgreSQL', smaller)),
          ),
        ]
      : []),
    other(
      'duckdb',
      'DuckDB over calls over HTTP',
      'p50 of the same question to DuckDB, in the process that asks, over a call over HTTP.',
      results.map((result) => overOther(result, 'duckdb', 'DuckDB', smaller)),
    ),
    {
      id: 'others',
      title: `Everybody else has ten times as much: a project of ${shown(steadyRows)} entries`,
      compares: `p50 of a call among ${shown(10 * smaller)} entries, over the same among ${shown(smaller)}.`,
      rows: amongMore(results, smaller),
    },
    {
      id: 'granules',
      title: 'Granules that usage.api-counts reads',
      compares: "Of all that there are, from the engine's plan.",
      rows: results.filter(({ call }) => call.endpoint === 'usage.api-counts').map(granules),
    },
  ]
}

const nameOf = ({ rows, call }) => `${call.endpoint} ${call.name}, ${call.tenant}, of ${shown(rows)}`
const p99 = (rounds) => quantile(rounds.flat(), 0.99)

function overEngine(result) {
  const { http, engine } = result.times
  return comparison({
    name: nameOf(result),
    unit: 'ms',
    sides: { wellhead: http.map(median), 'raw engine': engine.map(median) },
    aim: { atMost: 1.15 },
    more: { 'p99, ms': p99(http), 'raw p99, ms': p99(engine), 'p99 ratio': p99(http) / p99(engine) },
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

/** Each index of the plan tells how many granules came to it and how many it left. */
function granules(result) {
  const steps = [...result.plan.matchAll(/Granules: (\d+)\/(\d+)/g)]
  if (steps.length === 0) throw new Error(`The plan tells no granules:\n${result.plan}`)
  const [read, all] = [Number(steps.at(-1)[1]), Number(steps[0][2])]
  return observation(nameOf(result), { read, 'in all': all, share: read / all })
}

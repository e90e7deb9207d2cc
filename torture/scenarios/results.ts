import { HttpClient, type HttpRequest, type HttpResponse } from '../load/http-client.ts'
import { engineRestarts, loadTarget, percentile } from '../load/load-target.ts'
import { projects, sandboxName, tenantsOf } from '../load/tenants.ts'
import type { Scenario } from '../support/scenario.ts'
import { adminToken } from '../support/target.ts'

const from = 'FROM numbers(100000)'
const longName = 'x'.repeat(40_000)
const manyColumns = (sql: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${sql} AS c${index}`).join(', ')

/** SQL whose result is much larger than allowed. */
const huge: Record<string, string> = {
  'large texts': `SELECT repeat('x', 1000000) AS x ${from}`,
  'large texts that differ': `SELECT concat(toString(number), repeat('x', 999990)) AS x ${from}`,
  'escaped texts': `SELECT repeat('\\0', 1000000) AS x ${from}`,
  'texts of a dictionary': `SELECT toLowCardinality(repeat('x', 1000000)) AS x ${from}`,
  'arrays of texts of a dictionary': `SELECT arrayMap(i -> toLowCardinality(repeat('x', 1000000)), range(100)) AS x ${from}`,
  'tuples of texts of a dictionary': `SELECT arrayMap(i -> (toLowCardinality(repeat('x', 1000000)), toDateTime(i)), range(30)) AS x ${from}`,
  'a long name of an enumeration': `SELECT arrayMap(i -> CAST(1, 'Enum8(''${longName}'' = 1)'), range(1000)) AS x ${from}`,
  'a long name in tuples': `SELECT arrayMap(i -> CAST(tuple(1), 'Tuple(${longName} UInt8)'), range(1000)) AS x ${from}`,
  'a long name of a column': `SELECT range(4000) AS ${longName} ${from}`,
  arrays: `SELECT range(100000) AS x ${from}`,
  'empty tuples': `SELECT arrayMap(i -> tuple(), range(100000)) AS x ${from}`,
  maps: `SELECT mapFromArrays(range(100000), range(100000)) AS x ${from}`,
  'one row': 'SELECT groupArray(number) AS x FROM numbers(100000000)',
  'one row of texts': `SELECT groupArray(repeat('x', 10000)) AS x ${from}`,
  'one row of constants': `SELECT ${manyColumns("repeat('x', 1000000)", 60)}`,
  'many columns': `SELECT ${manyColumns("repeat('x', 100000)", 200)} ${from}`,
  'joined arrays': `SELECT arrayJoin(range(1000)) AS x, repeat('x', 1000000) AS y ${from}`,
  'JSON text': `SELECT toJSONString(range(1000000)) AS x ${from}`,
}

const formats = ['json', 'csv', 'ndjson', 'parquet', 'arrow']

/** In some formats some of these results are small. The limit is 32 MiB, and a format may double that. */
const maxBytes = 64 * 2 ** 20

type Route = (sql: string, format: string) => HttpRequest

const sandboxPath = `/api/endpoints/query/${sandboxName}`
const post = (path: string, token: string, body: unknown): HttpRequest => ({
  path,
  token,
  body: JSON.stringify(body),
})

const adminRoutes: Record<string, Route> = {
  sql: (query, format) => post(`/api/sql?_format=${format}`, adminToken, { query }),
  preview: (query, format) =>
    post(`/api/endpoints/preview?_format=${format}`, adminToken, { endpoint: { name: 'x', query } }),
}

const mcpCall = (token: string, sql: string): HttpRequest => ({
  ...post('/mcp', token, {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: sandboxName.replaceAll('.', '_'), arguments: { sql } },
  }),
  headers: { Accept: 'application/json, text/event-stream' },
})

export const results: Scenario = {
  name: 'results',
  title: 'no result is too large for the engine: it is stopped at the limit, and other callers are served',
  async run(run) {
    const target = await loadTarget(run)
    const { tokens } = await tenantsOf(target)
    const [attacker, bystander] = projects.map((project) => tokens.get(project) as string) as [string, string]
    const http = new HttpClient(await target.url(), 16)
    const before = await engineRestarts(target)
    const counts = { requests: 0, stopped: 0, small: 0, 'served to others': 0, 'refused to others': 0 }
    const faults: string[] = []
    const delays: number[] = []
    let over = false
    let alone = 0

    /** Sends queries of another tenant that read the engine, one after the other. */
    const watch = async () => {
      for (let index = 0; !over; index++) {
        const sql = encodeURIComponent(`SELECT ${index} AS n, count() AS c FROM entries`)
        const { status, text, ms } = await http.send({ path: `${sandboxPath}?sql=${sql}`, token: bystander })
        delays.push(ms)
        if (status === 200) counts['served to others']++
        // A busy machine refuses whoever comes; that is not blame.
        else if (status === 503 && text.includes('"overloaded"')) counts['refused to others']++
        else faults.push(`Another tenant got ${status}: ${text.slice(0, 200)}`)
      }
    }

    // The short form runs beside other tests, which may keep the machine busy until a query is out of time.
    const busy = run.size(0, 1) === 1 ? [503, 504] : []
    const check = (name: string, { status, text }: HttpResponse, allowed: readonly number[] = []) => {
      counts.requests++
      const isStopped = status === 413 || (status === 200 && text.includes('too_large'))
      const isSmall = status === 200 && text.length <= maxBytes && !text.includes('"rate_limited"')
      if (isStopped) counts.stopped++
      else if (isSmall) counts.small++
      else if (!allowed.includes(status)) faults.push(`${name}: ${status} ${text.slice(0, 200)}`)
    }

    const attack = async (name: string, sql: string) => {
      for (const format of formats.slice(0, run.size(formats.length, 2))) {
        // Not every type exists in these formats.
        const refusals = format === 'parquet' || format === 'arrow' ? [422, ...busy] : busy
        const sandbox: Route = (query) => post(`${sandboxPath}?_format=${format}`, attacker, { sql: query })
        for (const [route, request] of Object.entries({ sandbox, ...adminRoutes })) {
          const since = performance.now()
          check(`${name}, ${route}, ${format}`, await http.send(request(sql, format)), refusals)
          run.say(`${name}, ${route}, ${format}: ${Math.round(performance.now() - since)} ms`)
        }
      }
      check(`${name}, mcp`, await http.send(mcpCall(attacker, sql)), busy)
    }

    const watching = watch()
    try {
      const chosen = Object.entries(huge).filter(([name]) => run.match?.test(name) ?? true)
      const cycles = run.cycles(chosen.length, 1)
      for (const [name, sql] of chosen.slice(0, cycles)) await attack(name, sql)
      alone = Math.ceil(percentile(delays, 100))
      const all = chosen.slice(0, cycles).map(async ([name, sql]) => {
        const response = await http.send(post(sandboxPath, attacker, { sql: `${sql} ` }))
        // Waiting for a turn, or memory that others of them use, ends some of them first.
        check(`${name}, all at once`, response, [503, 504])
      })
      await Promise.all(all)
    } finally {
      over = true
      await watching
      http.close()
    }
    const restarts = (await engineRestarts(target)) - before
    if (restarts > 0) faults.push(`The engine restarted ${restarts} times.`)
    return {
      counts: {
        ...counts,
        'longest stall of another caller, one at a time, ms': alone,
        'longest stall of another caller, ms': Math.ceil(percentile(delays, 100)),
        'engine restarts': restarts,
      },
      faults: [...new Set(faults)],
    }
  },
}

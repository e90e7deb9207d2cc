/**
 * Prints the files of src whose functions run for each of several requests, by walk. Its process does nothing else: services of
 * tests would run files, too, and functions that are optimized already are not counted.
 */
import { Session } from 'node:inspector/promises'
import { openService } from '../../../bench/support/service.mjs'

/** The service also does something by itself, but not during each of so many requests, also on a busy machine. */
const repetitions = 20

const { WELLHEAD_ENGINE_NODE: engineNode = process.execPath, WELLHEAD_ENGINE_PATIENCE: patience } =
  process.env
const service = await openService({ engineNode, patience, environment: { WELLHEAD_STATISTICS: 'on' } })
const inspector = new Session()
inspector.connect()
await inspector.post('Profiler.enable')
await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

const call = (path, body) => {
  const headers = { 'X-API-KEY': service.adminToken.token, 'Content-Type': 'application/json' }
  return fetch(service.url + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
}

async function ok(sent) {
  const response = await sent
  const text = await response.text()
  if (response.status >= 300) throw new Error(`${response.url} returned ${response.status}: ${text}`)
}

/** One request comes before, so that everything is prepared. */
async function filesRunBy(send) {
  await ok(send(0))
  const runs = []
  for (let n = 1; n <= repetitions; n++) {
    await inspector.post('Profiler.takePreciseCoverage')
    await ok(send(n))
    const { result } = await inspector.post('Profiler.takePreciseCoverage')
    const ran = result.flatMap(({ url, functions }) => {
      const [, file] = /\/build\/(.+)\.js$/.exec(url) ?? []
      const isRun = functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0]?.count)
      return file && isRun ? `src/${file}.ts` : []
    })
    runs.push(ran)
  }
  return runs[0].filter((file) => runs.every((ran) => ran.includes(file)))
}

const query = 'SELECT count() AS n FROM edge_logs WHERE project = @project'
await ok(call('/api/endpoints', { name: 'walked', query, cache_seconds: 60 }))
const entry = { project: 'demo', event_message: 'x', timestamp: '2026-01-31T12:00:00Z' }
const found = {
  request: await filesRunBy((n) => call(`/api/endpoints/query/walked?project=p${n}`)),
  entry: await filesRunBy(() => call('/api/logs?source=edge_logs', [entry])),
  deployment: await filesRunBy((n) =>
    call('/api/deployments', { endpoints: [{ name: 'deployed', query: `SELECT ${n} AS n FROM edge_logs` }] }),
  ),
}
inspector.disconnect()
await service.close()
console.log(JSON.stringify(found))
process.exit(0)

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openService, type RunningService } from '../../support/service.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${root}docs/architecture.md`, 'utf8')
const source = /`(src\/[^`]+\.ts)`/g

/** Text below a heading of docs/architecture.md. */
const section = (heading: string) =>
  page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) as string
const named = (heading: string) => [...section(heading).matchAll(source)].map(([, file]) => file as string)
const numbered = (heading: string) =>
  [...section(heading).matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file as string)

/** How parts are put together, and what all of them use. */
const everywhere = /^src\/(?:app|base)\//

/** The service also does something by itself, but not during each of so many requests, also on a busy machine. */
const repetitions = 20

let service: RunningService
let inspector: Session

/** The files of src whose functions run for each of several requests. One comes before, so that everything is prepared. */
async function filesRunBy(send: (n: number) => Promise<Response>): Promise<string[]> {
  expect((await send(0)).status).toBeLessThan(300)
  const runs: string[][] = []
  for (let n = 1; n <= repetitions; n++) {
    await inspector.post('Profiler.takePreciseCoverage')
    const response = await send(n)
    await response.arrayBuffer()
    expect(response.status).toBeLessThan(300)
    const { result } = await inspector.post('Profiler.takePreciseCoverage')
    const ran = result.flatMap(({ url, functions }) => {
      const [, file] = /\/(src\/.+\.ts)$/.exec(url) ?? []
      const isRun = functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0]?.count)
      return file && isRun ? file : []
    })
    runs.push(ran)
  }
  return (runs[0] as string[]).filter((file) => runs.every((ran) => ran.includes(file)))
}

const body = (value: unknown) => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(value),
})

/** Services of other tests would run files, too, and functions that are optimized already are not counted. */
const isAlone = process.env.WELLHEAD_TEST_ALONE === 'walks'

test.skipIf(isAlone)('the walks name the files that run, in a process of its own', async () => {
  const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))
  const args = [vitest, 'run', 'test/journeys/docs/walks.test.ts']
  const env = { ...process.env, WELLHEAD_TEST_ALONE: 'walks' }
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: root, env }).catch(
    (error) => error,
  )
  expect(stdout).toMatch(/3 passed/)
})

describe.runIf(isAlone)('measured', () => {
  beforeAll(async () => {
    service = await openService({ engine: 'embedded', environment: { WELLHEAD_STATISTICS: 'on' } })
    inspector = new Session()
    inspector.connect()
    await inspector.post('Profiler.enable')
    await inspector.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  })

  afterAll(async () => {
    inspector.disconnect()
    await service.close()
  })

  test('a request that is not cached runs the files of its walk, and no others', async () => {
    const query = 'SELECT count() AS n FROM edge_logs WHERE project = @project'
    await service.call('/api/endpoints', body({ name: 'walked', query, cache_seconds: 60 }))
    const ran = await filesRunBy((n) => service.call(`/api/endpoints/query/walked?project=p${n}`))
    expect(numbered('A request').filter((file) => !ran.includes(file))).toEqual([])
    expect(ran.filter((file) => !everywhere.test(file) && !named('A request').includes(file))).toEqual([])
  })

  test('an entry runs the files of its walk, and no others', async () => {
    const entry = { project: 'demo', event_message: 'x', timestamp: '2026-01-31T12:00:00Z' }
    const ran = await filesRunBy(() => service.call('/api/logs?source=edge_logs', body([entry])))
    // The body is too small for a worker, and an interface has nothing to run.
    const others = ['src/intake/decoder-worker.ts', 'src/engine/engine.ts']
    expect(numbered('An entry').filter((file) => !ran.includes(file))).toEqual(others)
    const known = [...named('A request'), ...named('An entry')]
    expect(ran.filter((file) => !everywhere.test(file) && !known.includes(file))).toEqual([])
  })

  test('a deployment runs the files of its walk', async () => {
    const ran = await filesRunBy((n) => {
      const endpoints = [{ name: 'deployed', query: `SELECT ${n} AS n FROM edge_logs` }]
      return service.call('/api/deployments', body({ endpoints }))
    })
    expect(numbered('A deployment').filter((file) => !ran.includes(file))).toEqual([])
  })
})

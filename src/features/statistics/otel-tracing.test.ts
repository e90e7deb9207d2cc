import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { log } from '../../../test/support/engines.ts'
import { openTraceReceiver } from '../../../test/support/network/trace-receiver.ts'
import { readTraceContext } from '../../core/base/tracing.ts'
import { exportWarnings, startTracing } from './otel-tracing.ts'

const parent = readTraceContext('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'vendor=1')

describe('traces', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('sends the spans of a request to a collector, with their parents', async () => {
    const receiver = await openTraceReceiver()
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', receiver.url)
    vi.stubEnv('OTEL_SERVICE_NAME', 'my-wellhead')
    const tracing = startTracing(['otlp'], log)
    const call = tracing.start('GET /x', parent, { 'http.request.method': 'GET' })
    expect(call.context).toMatchObject({ traceId: parent?.traceId, flags: 1, state: 'vendor=1' })
    const queue = call.child('queue')
    queue.end()
    const engine = call.child('engine')
    engine.end('query_timeout')
    call.end()
    await tracing.stop()
    receiver.close()
    const of = (name: string) => receiver.spans.find((span) => span.name === name)
    expect(receiver.spans).toHaveLength(3)
    expect(of('GET /x')).toMatchObject({
      service: 'my-wellhead',
      traceId: parent?.traceId,
      parentId: parent?.spanId,
      spanId: call.context.spanId,
    })
    for (const name of ['queue', 'engine']) expect(of(name)?.parentId).toBe(call.context.spanId)
  })

  test('follows the standard sampler, and stops while the collector is unreachable', async () => {
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_off')
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1')
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200')
    const off = startTracing(['otlp'], log)
    expect(off.start('GET /x', undefined, {}).context.flags).toBe(0)
    await off.stop()
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_on')
    const unreachable = startTracing(['otlp'], log)
    unreachable.start('GET /x', undefined, {}).end()
    await unreachable.stop()
  })

  test('loads nothing of OpenTelemetry but its API, which prom-client uses, unless traces are enabled', () => {
    const loaded = (file: string) => {
      const path = JSON.stringify(fileURLToPath(new URL(`../../../build/${file}`, import.meta.url)))
      const program = `import(${path}).then(() => console.log(Object.keys(require('node:module')._cache).filter((name) => /@opentelemetry.(?!api.)/.test(name)).length))`
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
      expect(stderr).toBe('')
      return Number(stdout)
    }
    expect(loaded('app.js')).toBe(0)
    // Proves that the check finds loaded modules.
    expect(loaded('features/statistics/otel-tracing.js')).toBeGreaterThan(0)
  })
})

test('logs failed exports once a minute, without their stack', () => {
  const lines: object[] = []
  let nowMs = 0
  const warn = exportWarnings({ warn: (fields: object) => void lines.push(fields) } as never, () => nowMs)
  const failure = {
    stack: 'Error: Not Found\n    at x',
    message: 'Not Found',
    name: 'OTLPExporterError',
    code: '404',
  }
  warn(JSON.stringify(failure))
  for (let i = 0; i < 5; i++) warn('again')
  nowMs += 60_000
  warn(`gone\n    at ${'x'.repeat(1_000)}`)
  nowMs += 60_000
  warn('y'.repeat(1_000))
  expect(lines).toEqual([{ reason: 'Not Found' }, { reason: 'gone' }, { reason: 'y'.repeat(300) }])
})

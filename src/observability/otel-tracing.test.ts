import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { log } from '../../test/support/engines.ts'
import { openTraceReceiver } from '../../test/support/trace-receiver.ts'
import { readTraceContext } from '../base/tracing.ts'
import { startTracing } from './otel-tracing.ts'

const parent = readTraceContext('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', 'vendor=1')

describe('traces', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('spans of a call go to a collector, each below the one that began it', async () => {
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

  test('the standard sampler decides, and a collector that is away keeps nobody from stopping', async () => {
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_off')
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', 'http://127.0.0.1:1')
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '200')
    const off = startTracing(['otlp'], log)
    expect(off.start('GET /x', undefined, {}).context.flags).toBe(0)
    await off.stop()
    vi.stubEnv('OTEL_TRACES_SAMPLER', 'always_on')
    const away = startTracing(['otlp'], log)
    away.start('GET /x', undefined, {}).end()
    await away.stop()
  })

  test('nothing of OpenTelemetry but its interface, which the metrics use, is loaded where nobody asks for it', () => {
    const loaded = (file: string) => {
      const path = JSON.stringify(fileURLToPath(new URL(`../../dist/${file}`, import.meta.url)))
      const program = `import(${path}).then(() => console.log(Object.keys(require('node:module')._cache).filter((name) => /@opentelemetry.(?!api.)/.test(name)).length))`
      const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
      expect(stderr).toBe('')
      return Number(stdout)
    }
    expect(loaded('app.js')).toBe(0)
    // The way to look is one that would see it.
    expect(loaded('observability/otel-tracing.js')).toBeGreaterThan(0)
  })
})

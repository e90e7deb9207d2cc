import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { OTLPLogExporter as JsonExporter } from '@opentelemetry/exporter-logs-otlp-http'
import { OTLPLogExporter as ProtobufExporter } from '@opentelemetry/exporter-logs-otlp-proto'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchLogRecordProcessor, LoggerProvider } from '@opentelemetry/sdk-logs'
import { pino } from 'pino'
import { createWriteStream } from 'pino-logflare'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import pinoTransport from '../../../client/pino.ts'
import { ask, makeToken } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

export function describeLogSenders(service: () => RunningService): void {
  const { recent } = logClient(service)

  describe('existing clients', () => {
    test('works with a pino transport for Logflare', async () => {
      const stream = createWriteStream({
        apiKey: service().adminToken.token,
        sourceName: 'gotrue.logs.prod',
        apiBaseUrl: service().url,
        size: 1,
      })
      pino({ base: { project: 'from-pino' } }, stream).info({ user: { id: 7 } }, 'signed in')
      const seen = async () =>
        (await recent('auth_logs')).filter(({ event_message }) => event_message === 'signed in')
      await vi.waitFor(async () => expect(await seen()).toHaveLength(1))
      const [entry] = await seen()
      expect(JSON.stringify(entry?.metadata)).toContain('"user":{"id":7}')
    })

    test('works with winston and the core of the transports for Logflare', async () => {
      const { token } = service().adminToken
      const require = createRequire(import.meta.url)
      // The package names a main file that it does not have.
      const WinstonTransport = require('winston-logflare/dist/main.js')
      const winston = require('winston')
      const alias = '6f1c3f0b-7a11-4f0e-8c39-9d0e5f0b7a11'
      await ask(service(), token, 'POST', '/api/sources', { name: 'winston_logs', aliases: [alias] })
      const transport = new WinstonTransport({ apiKey: token, sourceToken: alias, apiBaseUrl: service().url })
      const logger = winston.createLogger({ transports: [transport] })
      for (let i = 0; i < 100; i++) logger.warn(`winston ${i}`, { project: 'from-winston', i })
      const { HttpClient } = require('logflare-transport-core')
      const named = [{ sourceToken: alias }, { sourceName: 'winston_logs' }]
      for (const [index, one] of named.entries()) {
        const client = new HttpClient({ apiKey: token, apiBaseUrl: service().url, ...one })
        await client.postLogEvents([{ message: `core ${index}`, metadata: { project: 'from-core' } }])
      }
      const query = `SELECT countIf(project = 'from-winston' AND metadata.level::Nullable(String) = 'warn') AS winston,
        countIf(project = 'from-core') AS core, countIf(metadata LIKE '%${alias}%') AS leaked FROM winston_logs`
      const counts = async () => (await ask(service(), token, 'POST', '/api/sql', { query })).body.result
      await vi.waitFor(async () => expect(await counts()).toEqual([{ winston: 100, core: 2, leaked: 0 }]))
    })

    test('names the source in every way of Logflare, in the address, a header, beside the batch and in an event', async () => {
      const { token } = service().adminToken
      const names = ['source', 'source_name', 'collection', 'collection_name']
      for (const name of ['named_logs', 'other_named_logs']) {
        await ask(service(), token, 'POST', '/api/sources', { name })
      }
      const send = async (id: string, path: string, body: object, headers: Record<string, string> = {}) => {
        const sent = await ask(service(), token, 'POST', path, body, headers)
        expect([id, sent.status, sent.body.accepted]).toEqual([id, 200, 1])
      }
      const batch = (id: string) => ({ batch: [{ id, message: 'named' }] })
      const other = 'other_named_logs'
      const ids = []
      for (const path of ['/logs', '/api/logs']) {
        for (const name of names) {
          const id = `${path} ${name}`
          await send(
            `${id} query`,
            `${path}?${name}=named_logs`,
            { ...batch(`${id} query`), source: other },
            { 'X-Source': other },
          )
          await send(`${id} batch`, path, { [name]: 'named_logs', ...batch(`${id} batch`) })
          await send(`${id} event`, path, { [name]: 'named_logs', id: `${id} event`, message: 'named' })
          ids.push(`${id} query`, `${id} batch`, `${id} event`)
        }
        for (const header of ['x-source', 'X-Collection']) {
          const id = `${path} ${header}`
          await send(id, path, { collection: other, ...batch(id) }, { [header]: 'named_logs' })
          ids.push(id)
        }
        // The first of several names counts.
        const id = `${path} first`
        await send(id, path, {
          collection_name: other,
          source: 'named_logs',
          collection: other,
          ...batch(id),
        })
        ids.push(id)
      }
      const stored = await recent('named_logs')
      expect(stored.map((entry) => entry.id).toSorted()).toEqual(ids.toSorted())
      const besideBatch = stored.filter((entry) => !String(entry.id).endsWith('event'))
      expect(besideBatch.filter((entry) => JSON.stringify(entry.metadata) !== '{}')).toEqual([])
      const unknown = await ask(service(), token, 'POST', '/logs', {
        collection: 'no_such_logs',
        ...batch('x'),
      })
      expect([unknown.status, unknown.body.error.code]).toEqual([404, 'source_not_found'])
      const owned = await makeToken(service(), { scopes: ['ingest:named_logs'], project: 'blue' })
      const refused = await ask(service(), owned.token, 'POST', '/logs', { collection: other, ...batch('y') })
      expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden'])
    })

    test('the pino transport of the client stores everything before the process ends', async () => {
      const program = `
        const { default: pino } = await import('pino')
        const [target, url, token, flushTimeoutMs] = process.argv.slice(1)
        const options = { url, token, source: 'auth_logs', flushTimeoutMs: Number(flushTimeoutMs) }
        const log = pino({ base: { project: 'own-pino' } }, pino.transport({ target, options }))
        for (let i = 0; i < 20; i++) log.info({ i }, 'kept')
        process.exit(0)`
      const target = createRequire(new URL('../../../client/package.json', import.meta.url)).resolve(
        '@wellhead/client/pino',
      )
      const run = (url: string, flushTimeoutMs: number) =>
        promisify(execFile)(process.execPath, [
          ...['--input-type=module', '-e', program, target, url, service().adminToken.token],
          String(flushTimeoutMs),
        ])
      await run(service().url, 9000)
      const counted =
        "SELECT count() AS n, uniq(metadata.i::Int64) AS kept FROM auth_logs WHERE project = 'own-pino'"
      const { body } = await ask(service(), service().adminToken.token, 'POST', '/api/sql', {
        query: counted,
      })
      expect(body.result).toEqual([{ n: 20, kept: 20 }])
      const nobody = await run('http://127.0.0.1:9', 100)
      expect(nobody.stderr).toContain(
        '20 entries were not sent before the process ended. http://127.0.0.1:9 cannot be',
      )
    })

    test('the pino transport sends again what failed, once, and reports what it drops', async () => {
      const keys: unknown[] = []
      const proxy = createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk as Buffer)
        keys.push(request.headers['idempotency-key'])
        if (keys.length === 1) return void response.writeHead(503, { 'Retry-After': '0' }).end()
        const sent = ['content-type', 'content-encoding', 'x-api-key', 'idempotency-key']
        const headers = Object.fromEntries(sent.map((name) => [name, String(request.headers[name])]))
        const stored = await fetch(`${service().url}${request.url}`, {
          method: 'POST',
          headers,
          body: Buffer.concat(chunks),
        })
        // Stored, but the sender does not learn it.
        if (keys.length === 2) return void request.socket.destroy()
        response.writeHead(stored.status).end(await stored.text())
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => void proxy.close())
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const { token } = service().adminToken
      const sender = pinoTransport({ url, token, source: 'auth_logs', maxBufferBytes: 1000, intervalMs: 10 })
      const line = (text: string) => `${JSON.stringify({ project: 'again-pino', msg: text })}\n`
      sender.write(line('a') + line('b').slice(0, 9))
      sender.write(line('b').slice(9))
      sender.write(line('x'.repeat(1000)))
      await new Promise<void>((resolve) => void sender.end(resolve))
      expect(new Set(keys).size).toBe(1)
      expect(keys).toHaveLength(3)
      const own = (await recent('auth_logs')).filter(({ project }) => project === 'again-pino')
      expect(own.map(({ event_message }) => event_message).sort()).toEqual(['a', 'b'])
      expect(() => pinoTransport({ url, token, source: '' })).toThrow('requires the option source')
    })

    test('the pino transport takes nothing but a response of the service for success, and ends in time', async () => {
      const requests: string[] = []
      const strange = [
        (response: ServerResponse) => response.end('<html>Sign in</html>'),
        (response: ServerResponse) => response.writeHead(302, { Location: '/sign-in' }).end(),
        (response: ServerResponse) => response.writeHead(200, { 'Content-Length': '99' }).write('{"acc'),
      ]
      const proxy = createServer(async (request, response) => {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk as Buffer)
        if (request.url?.endsWith('hang')) return void proxy.emit('hanging')
        requests.push(`${request.method} ${request.url}`)
        const answer = strange.shift()?.(response)
        // The promised rest never arrives.
        if (answer === true) return void request.socket.end()
        if (answer) return
        const sent = ['content-type', 'content-encoding', 'x-api-key', 'idempotency-key']
        const headers = Object.fromEntries(sent.map((name) => [name, String(request.headers[name])]))
        const body = Buffer.concat(chunks)
        const stored = await fetch(`${service().url}${request.url}`, { method: 'POST', headers, body })
        response.writeHead(stored.status).end(await stored.text())
      })
      await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
      onTestFinished(() => proxy.closeAllConnections())
      onTestFinished(() => void proxy.close())
      const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const options = { url, token: service().adminToken.token, intervalMs: 1 }
      const ended = [0, 1, 2].map((n) => {
        const sender = pinoTransport({ ...options, source: 'auth_logs' })
        return new Promise<void>((resolve) => {
          sender.end(`${JSON.stringify({ project: 'strange-pino', msg: `m${n}` })}\n`, () => resolve())
        })
      })
      await Promise.all(ended)
      expect(requests).toEqual(Array(6).fill('POST /api/logs?source=auth_logs'))
      const own = (await recent('auth_logs')).filter(({ project }) => project === 'strange-pino')
      expect(own.map(({ event_message }) => event_message).sort()).toEqual(['m0', 'm1', 'm2'])

      const limits = { timeoutMs: 3_600_000, flushTimeoutMs: 20 }
      const sender = pinoTransport({ ...options, ...limits, source: 'hang' })
      const hanging = once(proxy, 'hanging')
      sender.write('{"msg":"never answered"}\n')
      await hanging
      await new Promise<void>((resolve) => void sender.end(resolve))
    })

    test.each([
      ['protobuf', ProtobufExporter],
      ['JSON', JsonExporter],
    ] as const)("OpenTelemetry's exporter for %s works unchanged", async (encoding, Exporter) => {
      const exporter = new Exporter({
        url: `${service().url}/v1/logs`,
        headers: { 'X-API-KEY': service().adminToken.token },
        compression: 'gzip' as never,
      })
      const provider = new LoggerProvider({
        resource: resourceFromAttributes({ 'service().name': 'shop', project: 'otel' }),
        processors: [new BatchLogRecordProcessor({ exporter })],
      })
      provider.getLogger('checkout', '1.2').emit({
        body: `paid by ${encoding}`,
        severityNumber: 9,
        severityText: 'INFO',
        attributes: { 'order.id': 42 },
      })
      await provider.forceFlush()
      await provider.shutdown()
      const entry = (await recent('otel_logs')).find(
        ({ event_message }) => event_message === `paid by ${encoding}`,
      )
      expect(entry).toMatchObject({
        project: 'otel',
        metadata: {
          resource: { 'service().name': 'shop' },
          attributes: { 'order.id': 42 },
          severity_text: 'INFO',
        },
      })
    })

    test('reports rejected OpenTelemetry records as a partial success', async () => {
      const record = (source: string) => ({
        body: { stringValue: 'x' },
        attributes: [{ key: 'wellhead.source', value: { stringValue: source } }],
      })
      const body = {
        resourceLogs: [{ scopeLogs: [{ logRecords: [record('edge_logs'), record('nowhere')] }] }],
      }
      const post = (text: string, type = 'application/json') =>
        service().call('/v1/logs', { method: 'POST', headers: { 'Content-Type': type }, body: text })
      const partial = await post(JSON.stringify(body))
      expect([partial.status, await partial.json()]).toEqual([
        200,
        { partialSuccess: { rejectedLogRecords: '1', errorMessage: 'No source has the name "nowhere".' } },
      ])
      expect((await post('{')).status).toBe(400)
      expect((await post('{}', 'text/plain')).status).toBe(415)
      expect(await (await post('{}')).json()).toEqual({})
    })
  })
}

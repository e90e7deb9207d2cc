import { expect, test } from 'vitest'
import { ServiceFailure } from '../service-client.ts'
import { type LogBatch, sendBatch } from './log-batches.ts'

const batch: LogBatch = { body: Buffer.from('x\n'), lines: [7] }
const stored = { accepted: 1, rejected: 0, errors: [] }

async function send(
  responses: (typeof stored | ServiceFailure)[],
  { wasReached = true, repeated = false } = {},
) {
  const pauses: number[] = []
  const keys: unknown[] = []
  const result = await sendBatch(batch, 'key', {
    client: {
      request: async (_method, _path, request) => {
        keys.push(request?.headers?.['Idempotency-Key'])
        const next = responses.shift()
        if (next instanceof Error) throw next
        const headers = new Headers(repeated ? { 'Idempotency-Replayed': 'true' } : {})
        return new Response(JSON.stringify(next), { headers })
      },
      read: async (response) => Buffer.from(await response.arrayBuffer()),
      parse: (body) => JSON.parse(body.toString()),
    },
    source: 'edge_logs',
    pause: async (ms) => void pauses.push(ms),
    onWait: () => {},
    maxAttempts: 5,
    wasReached,
  }).catch((error) => error)
  expect(new Set(keys)).toEqual(new Set(['key']))
  return { result, pauses }
}
const failure = (status: number, code = 'x', retryAfterSeconds?: number) =>
  new ServiceFailure('no', { status, code, retryAfterSeconds })

test('pauses longer after each failure, and at least as long as Retry-After', async () => {
  const responses = [failure(429), failure(503, 'x', 4), failure(507), failure(0), stored]
  expect(await send(responses)).toEqual({
    result: { ...stored, withoutProject: 0, repeated: false },
    pauses: [500, 4_000, 2_000, 4_000],
  })
})

test.each([408, 522])('tries again after %d of a proxy', async (status) => {
  expect((await send([failure(status), stored])).pauses).toEqual([500])
})

test('reports a replay, unless an attempt of its own may have stored the batch', async () => {
  expect((await send([stored], { repeated: true })).result.repeated).toBe(true)
  expect((await send([failure(503), stored], { repeated: true })).result.repeated).toBe(false)
})

test('gives up after the maximum number of attempts', async () => {
  const { result, pauses } = await send(Array.from({ length: 9 }, () => failure(503)))
  expect([result.details.status, pauses.length]).toEqual([503, 4])
})

test.each([400, 401, 403, 404, 413])('does not retry after %d', async (status) => {
  const { result, pauses } = await send([failure(status)])
  expect([result.details.status, pauses]).toEqual([status, []])
})

test('does not wait for a service that has never responded', async () => {
  const { result, pauses } = await send([failure(0)], { wasReached: false })
  expect([result.details.status, pauses]).toEqual([0, []])
})

test('rejects every line of a batch in which no line is JSON', async () => {
  const { result } = await send([failure(400, 'invalid_body')])
  const errors = [{ index: 0, reason: 'the line is not valid JSON' }]
  expect(result).toEqual({ accepted: 0, rejected: 1, errors, withoutProject: 0, repeated: false })
})

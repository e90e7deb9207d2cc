import { describe, expect, test } from 'vitest'
import { ServiceFailure } from '../service-client.ts'
import { BatchKeys, type BatchOrRejection, gatherBatches, type LogBatch } from './log-batches.ts'
import { sendBatch } from './send-batch.ts'

async function gather(texts: (string | Buffer)[], bounds = { maxBytes: 20, maxEntries: 3 }) {
  async function* entries() {
    for (const [i, text] of texts.entries()) yield { text: Buffer.from(text), line: i + 1 }
  }
  const found: BatchOrRejection[] = []
  for await (const piece of gatherBatches({ kind: 'entries', entries: entries() }, bounds)) found.push(piece)
  return found
}

describe('batches', () => {
  test('are bounded in bytes and in entries, and know the line of each', async () => {
    const found = await gather(['1', '2', '3', '4', 'a'.repeat(30), '5'])
    expect(
      found.map((piece) => 'batch' in piece && [piece.batch.body.toString(), piece.batch.lines]),
    ).toEqual([
      ['1\n2\n3\n', [1, 2, 3]],
      ['4\n', [4]],
      [`${'a'.repeat(30)}\n`, [5]],
      ['5\n', [6]],
    ])
  })

  test('leave out what is no text, since it would make the whole batch unreadable', async () => {
    const [rejected, kept] = await gather([Buffer.from([0x7b, 0xff, 0x7d]), '{}'])
    expect(rejected).toEqual({ rejection: { line: 1, reason: 'is not valid UTF-8' } })
    expect(kept).toMatchObject({ batch: { lines: [2] } })
  })
})

describe('keys', () => {
  const keysOf = (source: string, ...texts: string[]) => {
    const keys = new BatchKeys(source)
    return texts.map((text) => keys.next({ body: Buffer.from(text) }))
  }

  test('are the same when the same is sent again', () => {
    expect(keysOf('edge_logs', 'a', 'b', 'a')).toEqual(keysOf('edge_logs', 'a', 'b', 'a'))
  })

  test('differ by content, source, and place among equal batches', () => {
    const [one, two, again] = keysOf('edge_logs', 'a', 'b', 'a')
    const [elsewhere] = keysOf('auth_logs', 'a')
    expect(new Set([one, two, again, elsewhere]).size).toBe(4)
  })
})

describe('sending a batch', () => {
  const batch: LogBatch = { body: Buffer.from('x\n'), contentType: 'application/x-ndjson', lines: [7] }
  const stored = { accepted: 1, rejected: 0, errors: [] }

  /** Gives these answers one after the other, and writes down how long was waited before each. */
  async function send(answers: (typeof stored | ServiceFailure)[], known = true, replayed = false) {
    const waits: number[] = []
    const keys: unknown[] = []
    const answer = await sendBatch(batch, 'key', {
      client: {
        answer: async (_method, _path, _shape, request) => {
          keys.push(request?.headers?.['Idempotency-Key'])
          const next = answers.shift()
          if (next instanceof Error) throw next
          const headers = new Headers(replayed ? { 'Idempotency-Replayed': 'true' } : {})
          return { body: next as never, headers }
        },
      },
      source: 'edge_logs',
      pause: async (ms) => void waits.push(ms),
      onWait: () => {},
      maxAttempts: 5,
      known,
    }).catch((error) => error)
    expect(new Set(keys)).toEqual(new Set(['key']))
    return { answer, waits }
  }
  const failure = (status: number, code = 'x', retryAfterSeconds?: number) =>
    new ServiceFailure('no', { status, code, retryAfterSeconds })

  test('waits as long as it is told, and longer each time', async () => {
    const answers = [failure(429), failure(503, 'x', 4), failure(507), failure(0), stored]
    expect(await send(answers)).toEqual({
      answer: { ...stored, replayed: false },
      waits: [500, 4_000, 2_000, 4_000],
    })
  })

  test('knows what was stored before, unless an attempt of its own may have stored it', async () => {
    expect((await send([stored], true, true)).answer.replayed).toBe(true)
    expect((await send([failure(503), stored], true, true)).answer.replayed).toBe(false)
  })

  test('gives up in the end', async () => {
    const { answer, waits } = await send(Array.from({ length: 9 }, () => failure(503)))
    expect([answer.status, waits.length]).toEqual([503, 4])
  })

  test.each([400, 401, 403, 404, 413])('does not come back after %d', async (status) => {
    const { answer, waits } = await send([failure(status)])
    expect([answer.status, waits]).toEqual([status, []])
  })

  test('does not wait for a service that was never there', async () => {
    const { answer, waits } = await send([failure(0)], false)
    expect([answer.status, waits]).toEqual([0, []])
  })

  test('lines of which none is JSON are all rejected', async () => {
    const { answer } = await send([failure(400, 'invalid_body')])
    expect(answer).toEqual({
      accepted: 0,
      rejected: 1,
      errors: [{ index: 0, reason: 'the line is not valid JSON' }],
      replayed: false,
    })
  })
})

import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import { describe, expect, test, vi } from 'vitest'
import type { RunningService } from '../../support/service.ts'
import { type LimitedIntake, openLimitedIntake } from './limited-intake.ts'

const post = (url: string, body: string | Buffer, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body, headers })

const logs = ({ url }: LimitedIntake) => `${url}/api/logs?source=function_logs`
const otlp = ({ url }: LimitedIntake) => `${url}/v1/logs`
const otlpRecord = JSON.stringify({
  resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: 'x' } }] }] }],
})
const json = { 'Content-Type': 'application/json' }

const refusalOf = async (response: Response) => [
  response.status,
  response.headers.get('retry-after'),
  ((await response.json()) as { error?: { message: string } }).error?.message,
]

export function describeLogLimits(service: () => RunningService): void {
  test('entries count as arrived as soon as a query can read them, and after their request', async () => {
    const seen: boolean[] = []
    const look = () => seen.push(limited.arrivals.hasNew(0, ['function_logs']))
    const limited = await openLimitedIntake(service(), { onStored: look })
    try {
      look()
      expect((await post(logs(limited), '{}')).status).toBe(200)
      look()
      expect(seen).toEqual([false, true, true])
    } finally {
      await limited.close()
    }
  })

  describe('overload', () => {
    test('returns 507 while the disk is nearly full, and queries still work', async () => {
      let free = 999
      const limited = await openLimitedIntake(service(), { freeBytes: () => free })
      try {
        expect(await refusalOf(await post(logs(limited), '{}'))).toEqual([
          507,
          '30',
          expect.stringContaining('too little disk'),
        ])
        const refused = await post(otlp(limited), otlpRecord, json)
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([507, '30'])
        expect(await refused.json()).toEqual({ message: expect.stringContaining('too little disk') })
        expect((await service().call('/api/sources/function_logs/recent')).status).toBe(200)
        free = 1_000
        limited.clock.advance(1_000)
        expect((await post(logs(limited), '{}')).status).toBe(200)
        expect((await post(otlp(limited), otlpRecord, json)).status).toBe(200)
      } finally {
        await limited.close()
      }
    })

    test('returns 429 while too many lines wait, and stores requests atomically', async () => {
      // The lines of these entries are several times as long as the bodies, so that the limit of lines is reached first.
      const limited = await openLimitedIntake(service(), { maxPendingBytes: 2_000 })
      const id = `full-${Date.now()}`
      const batch = (number: number) =>
        JSON.stringify(Array.from({ length: 10 }, () => ({ project: id, id: number })))
      try {
        const answers = await Promise.all(Array.from({ length: 4 }, (_, i) => post(logs(limited), batch(i))))
        const stored = answers.flatMap(({ status }, number) => (status === 200 ? [String(number)] : []))
        const refused = answers.filter(({ status }) => status !== 200)
        expect(stored.length).toBeGreaterThan(0)
        expect(refused.length).toBeGreaterThan(0)
        const full = 'Too many entries are waiting to be stored. Send this request again later.'
        for (const answer of refused) expect(await refusalOf(answer)).toEqual([429, '1', full])
        expect((await post(otlp(limited), otlpRecord, json)).status).toBe(200)
        const { body } = await service().engine.query(
          {
            sql: 'SELECT id FROM function_logs WHERE project = {project:String} GROUP BY id HAVING count() = 10',
            parameters: { project: id },
            format: 'TabSeparatedRaw',
          },
          { deadlineMs: 60_000 },
        )
        expect(body.toString().trim().split('\n').sort()).toEqual(stored.sort())
      } finally {
        await limited.close()
      }
    })

    test('returns 429 while too many body bytes are held, counted after decompression', async () => {
      const limited = await openLimitedIntake(service(), { maxPendingBytes: 8_000 })
      const entry = (length: number) => JSON.stringify({ event_message: 'x'.repeat(length) })
      try {
        const half = entry(3_000)
        const slow = request(logs(limited), { method: 'POST' })
        const answered = new Promise<number | undefined>((resolve, reject) => {
          slow.once('response', (response) => resolve(response.resume().statusCode))
          slow.once('error', reject)
        })
        slow.write(half.slice(0, 2_500))
        await vi.waitFor(() => expect(limited.intake.heldBodyBytes).toBe(2_500))
        const refused = [429, '1', 'Too many request bodies are being read. Send this request again later.']
        expect(await refusalOf(await post(logs(limited), entry(2_000)))).toEqual(refused)
        const packed = gzipSync(entry(2_000))
        const gzip = { 'Content-Encoding': 'gzip' }
        expect(await refusalOf(await post(logs(limited), packed, gzip))).toEqual(refused)
        expect((await post(otlp(limited), packed, { ...json, ...gzip })).status).toBe(429)
        expect((await post(logs(limited), entry(100))).status).toBe(200)
        slow.end(half.slice(2_500))
        expect(await answered).toBe(200)
        expect((await post(logs(limited), packed, gzip)).status).toBe(200)
        expect(limited.intake.heldBodyBytes).toBe(0)
      } finally {
        await limited.close()
      }
    })
  })
}

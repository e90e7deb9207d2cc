import { beforeAll, describe, expect, test } from 'vitest'
import { cursorAfter, type SearchCursor } from '../../../src/core/search/search-cursor.ts'
import { ask } from '../../support/callers.ts'
import { logClient } from '../../support/log-client.ts'
import type { RunningService } from '../../support/service.ts'

/** Pages of a search among entries with the same timestamp and id. */
export function pages(running: () => RunningService): void {
  const admin = (method: string, target: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, target, body)

  describe('pages', () => {
    const source = '/api/sources/repeated'
    const timestamp = new Date(Date.now() - 60_000).toISOString()
    const entry = (id: string, n: number) => ({
      ...{ id, timestamp, project: `p${n % 3}`, event_message: `repeated ${n % 2}` },
      metadata: { n: n % 5 },
    })
    // Some differ in their project, message or metadata alone, and some in nothing. Several requests store several parts.
    const sent = [
      Array.from({ length: 12 }, (_, n) => entry('same', n)),
      Array.from({ length: 12 }, (_, n) => entry('same', n)),
      // The longest id as JSON.
      [entry('\u0001'.repeat(128), 1)],
      [entry('a', 1), entry('z', 2), { ...entry('same', 3), timestamp: new Date(Date.now() - 120_000) }],
    ]
    type Row = { timestamp: number; id: string; metadata: object; project: string; event_message: string }
    const textOf = ({ id, project, event_message, metadata }: Omit<Row, 'timestamp'>) =>
      JSON.stringify([id, project, event_message, metadata])

    beforeAll(async () => {
      await admin('POST', '/api/sources', { name: 'repeated' })
      for (const entries of sent) await logClient(running).send('repeated', JSON.stringify(entries))
    })

    test.each([1, 2, 3, 7, 25, 100])(
      'of %i entries neither skip nor repeat entries with the same timestamp and id',
      async (limit) => {
        const readAll = async (filter: object) => {
          const all = (await admin('POST', `${source}/search`, { ...filter, limit: 1000 })).body as Row[]
          const read: Row[] = []
          for (let before: SearchCursor | undefined; ; before = cursorAfter(read)) {
            const { status, body } = await admin('POST', `${source}/search`, { ...filter, limit, before })
            expect([status, body.length <= limit]).toEqual([200, true])
            read.push(...body)
            if (body.length < limit) break
          }
          expect(read).toEqual(all)
          return read.map(textOf).sort()
        }
        const filters = limit === 3 ? [{}, { query: 'repeated -n:4' }, { project: 'p1' }] : [{}]
        const [all] = await Promise.all(filters.map(readAll))
        expect(all).toEqual(sent.flat().map(textOf).sort())
      },
    )

    test.each([1, 2, 7, 25])('of %i entries continue by the header of the page before', async (limit) => {
      const page = async (body: object) => {
        const response = await running().call(`${source}/search`, {
          method: 'POST',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ limit, ...body }),
        })
        const next = response.headers.get('Wellhead-Next') ?? undefined
        return { status: response.status, next, rows: (await response.json()) as Row[] }
      }
      const all = await page({ limit: 1000 })
      expect([all.rows.length, all.next]).toEqual([sent.flat().length, undefined])
      const read: Row[] = []
      for (let next: string | undefined; ; ) {
        const found = await page(next === undefined ? {} : { next })
        expect(found.status).toBe(200)
        read.push(...found.rows)
        next = found.next
        if (next === undefined) break
      }
      expect(read).toEqual(all.rows)
    })

    test.each([
      ['', 'next is not a value of the header Wellhead-Next.'],
      ['bm9uc2Vuc2U', 'next is not a value of the header Wellhead-Next.'],
      [Buffer.from('{"timestamp":"x","id":"a"}').toString('base64url'), 'next is not a value of the header'],
      ['x'.repeat(1501), 'next'],
    ])('refuses %j as the header of the page before', async (next, message) => {
      const { status, body } = await admin('POST', `${source}/search`, { next })
      expect([status, body.error.parameter]).toEqual([400, 'next'])
      expect(body.error.message).toContain(message)
      const both = { next, before: { timestamp: 0, id: 'a' } }
      expect((await admin('POST', `${source}/search`, both)).status).toBe(400)
    })

    test('without a number of read entries continue after all entries with that timestamp and id', async () => {
      const [first, second] = (await admin('POST', `${source}/search`, { limit: 2 })).body as Row[]
      expect([first?.id, second?.id]).toEqual(['z', 'same'])
      const before = { timestamp: second?.timestamp, id: second?.id }
      const { body } = await admin('POST', `${source}/search`, { before })
      expect(body.map(({ id }: Row) => id)).toEqual(['a', '\u0001'.repeat(128), 'same'])
      for (const skip of [-1, 1.5, 'x', 2_000_000]) {
        const refused = await admin('POST', `${source}/search`, { before: { ...before, skip } })
        expect([refused.status, refused.body.error.parameter]).toEqual([400, 'before.skip'])
      }
    })
  })
}

import { describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import type { RunningService } from '../../support/service.ts'

export function savedSearches(running: () => RunningService): void {
  const admin = (method: string, path: string, body?: unknown) =>
    ask(running(), running().adminToken.token, method, path, body)

  describe('saved searches', () => {
    const mine = { name: 'Failing', source: 'edge_logs', query: 'status:>=500', project: 'a', range: '1h' }

    test('are shared by admins until they are deleted', async () => {
      const saved = await admin('POST', '/api/searches', mine)
      expect([saved.status, saved.body]).toEqual([
        201,
        { ...mine, id: expect.any(String), created_at: expect.any(String), created_by: expect.any(String) },
      ])
      const taken = await admin('POST', '/api/searches', { ...mine, source: 'cloudflare.logs.prod' })
      expect([taken.status, taken.body.error.code]).toEqual([409, 'name_taken'])
      const both = await Promise.all(
        [1, 2].map(() => admin('POST', '/api/searches', { ...mine, name: 'twice' })),
      )
      expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
      expect((await admin('POST', '/api/searches', { ...mine, source: 'auth_logs' })).status).toBe(201)
      const list = (await admin('GET', '/api/searches')).body
      expect(list.map(({ source, name }: typeof mine) => [source, name])).toEqual([
        ['auth_logs', 'Failing'],
        ['edge_logs', 'Failing'],
        ['edge_logs', 'twice'],
      ])
      expect((await admin('DELETE', `/api/searches/${saved.body.id}`)).status).toBe(204)
      expect((await admin('DELETE', `/api/searches/${saved.body.id}`)).status).toBe(404)
      expect((await admin('POST', '/api/searches', mine)).status).toBe(201)
    })

    test.each([
      [{ ...mine, query: 'a (' }, 400, 'query'],
      [{ ...mine, name: ' ' }, 400, 'name'],
      [{ ...mine, source: 'nothing' }, 404, undefined],
      [{ ...mine, more: 1 }, 400, 'more'],
    ])('refuses %j', async (body, status, parameter) => {
      const refused = await admin('POST', '/api/searches', body)
      expect([refused.status, refused.body.error.parameter]).toEqual([status, parameter])
    })
  })
}

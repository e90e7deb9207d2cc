import { expect, test } from 'vitest'
import { newSourceShape, readSource } from './source.ts'

test('a source that was stored before `published` existed is published if it is one of those for senders', () => {
  const stored = (name: string, fields: object = {}) => {
    const { published: _, ...body } = newSourceShape.parse({ name })
    const changed = { changed_at: '', changed_by: '', version: 1, deleted: false }
    const record = {
      kind: 'source',
      id: 'x',
      ...changed,
      body: { ...body, created_at: '', note: '', ...fields },
    }
    return readSource(record as never).published
  }
  expect(
    ['edge_logs', 'pgbouncer_logs', 'quarantine', 'otel_logs', 'orders'].map((name) => stored(name)),
  ).toEqual([true, true, false, false, false])
  expect([stored('edge_logs', { published: false }), stored('orders', { published: true })]).toEqual([
    false,
    true,
  ])
})

import { describe, expect, test } from 'vitest'
import type { Rights } from './caller.ts'
import { commonRights, narrowedRights } from './session-token.ts'

const rights = (scopes: string[], project: string | null = null, parameters = {}): Rights => ({
  scopes,
  project,
  parameters,
})

describe('a new session', () => {
  const narrowed = (token: Rights, requested: Partial<Rights>) =>
    narrowedRights(token, { minutes: 15, ...requested } as never)

  test('has the rights of its token by default', () => {
    const token = rights(['query', 'ingest:edge_logs'], 'demo', { tier: 'PRO' })
    expect(narrowed(token, {})).toEqual(token)
    expect(narrowed(token, { project: null })).toEqual(token)
    expect(narrowed(rights(['admin']), {})).toEqual(rights(['admin']))
  })

  test('can have fewer rights', () => {
    const requested = { scopes: ['query:a', 'query:a'], project: 'demo', parameters: { tier: 'PRO' } }
    const expected = { ...requested, scopes: ['query:a'] }
    expect(narrowed(rights(['query']), requested)).toEqual(expected)
    expect(narrowed(rights(['admin']), requested)).toEqual(expected)
    expect(narrowed(rights(['query'], 'demo', { region: 'eu' }), requested)).toEqual({
      ...expected,
      parameters: { region: 'eu', tier: 'PRO' },
    })
  })

  test.each([
    ['scopes', rights(['query']), { scopes: ['admin'] }],
    ['scopes', rights(['query']), { scopes: ['query', 'ingest'] }],
    ['scopes', rights(['query:a']), { scopes: ['query'] }],
    ['scopes', rights(['query:a']), { scopes: ['query:a.b'] }],
    ['scopes', rights(['ingest']), { scopes: ['query:a'] }],
    ['scopes', rights(['admin']), { project: 'demo' }],
    ['scopes', rights(['admin']), { scopes: ['admin', 'query'], parameters: { tier: 'PRO' } }],
    ['project', rights(['query'], 'demo'), { project: 'other' }],
    ['project', rights(['query'], 'demo'), { project: 'Demo' }],
    ['parameters.tier', rights(['query'], null, { tier: 'FREE' }), { parameters: { tier: 'PRO' } }],
  ])('cannot have wider %s', (parameter, token, requested) => {
    expect(() => narrowed(token, requested)).toThrow(
      expect.objectContaining({ code: 'invalid_parameter', details: { parameter } }),
    )
  })
})

describe('a session whose token changed', () => {
  test('loses what the token lost, and gains nothing', () => {
    const session = rights(['query', 'ingest:b'], null, { tier: 'PRO' })
    const limited = { project: null, parameters: { tier: 'PRO' } }
    expect(commonRights(rights(['admin']), session)).toEqual(session)
    expect(commonRights(rights(['query:a', 'query:c', 'ingest']), session)).toEqual({
      ...limited,
      scopes: ['query:a', 'query:c', 'ingest:b'],
    })
    expect(commonRights(rights(['query'], 'demo', { region: 'eu' }), session)).toEqual({
      scopes: ['query'],
      project: 'demo',
      parameters: { region: 'eu', tier: 'PRO' },
    })
    expect(commonRights(rights(['query'], 'demo'), rights(['admin']))).toEqual(rights(['query'], 'demo'))
  })

  test('ends if nothing is left', () => {
    const session = rights(['query'], 'demo', { tier: 'PRO' })
    expect(commonRights(rights(['ingest']), session)).toBeUndefined()
    expect(commonRights(rights(['query'], 'other'), session)).toBeUndefined()
    expect(commonRights(rights(['query'], 'demo', { tier: 'FREE' }), session)).toBeUndefined()
  })
})

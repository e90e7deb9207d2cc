import { describe, expect, test } from 'vitest'
import { isExpired, readScopes, writeScopes } from './token-permissions.ts'

describe('scopes in the form', () => {
  test.each([
    [['admin']],
    [['query']],
    [['ingest']],
    [['query', 'ingest']],
    [['search']],
    [['read', 'edit', 'deploy']],
    [['query', 'search', 'ingest']],
    [['query:logs.all', 'query:usage.api-counts']],
    [['query:logs.all', 'ingest:edge_logs']],
    [['query', 'search:edge_logs', 'search:auth_logs', 'ingest:storage_logs']],
    [['query', 'ingest:edge_logs', 'ingest:auth_logs']],
    [['dashboard:traffic']],
    [['query', 'dashboard:traffic', 'dashboard:errors']],
  ])('%j are written as they were read', (scopes) => {
    expect(writeScopes(readScopes(scopes))).toEqual(scopes)
  })

  test('an unlimited scope includes the named ones', () => {
    expect(writeScopes(readScopes(['query:logs.all', 'query']))).toEqual(['query'])
  })

  test('admin includes everything', () => {
    expect(writeScopes(readScopes(['query:logs.all', 'admin']))).toEqual(['admin'])
  })
})

test('a token expires at its time, and never without one', () => {
  const expires_at = '2026-01-31T12:00:00Z'
  const atMs = Date.parse(expires_at)
  expect([isExpired({ expires_at }, atMs - 1), isExpired({ expires_at }, atMs)]).toEqual([false, true])
  expect(isExpired({ expires_at: null }, atMs)).toBe(false)
})

import { expect, test } from 'vitest'
import { scopesOf } from './scopes.ts'
import { codeTokens } from './tokens.ts'

const readBy = (sql: string) => {
  const scope = scopesOf(codeTokens(sql)).of[0]
  return [scope?.tables.map(({ name }) => name), scope?.clauses.map(({ keyword }) => keyword)]
}

test.each([
  [
    'SELECT a FROM t WHERE b GROUP BY c ORDER BY d LIMIT 1',
    ['SELECT', 'FROM', 'WHERE', 'GROUP', 'ORDER', 'LIMIT'],
  ],
  ['SELECT count() AS limit FROM t', ['SELECT', 'FROM']],
  ['SELECT toStartOfHour(at) AS interval, 1 AS offset FROM t WHERE 1', ['SELECT', 'FROM', 'WHERE']],
  [
    'SELECT metadata.offset FROM t WHERE metadata.a = t.offset GROUP BY 1',
    ['SELECT', 'FROM', 'WHERE', 'GROUP'],
  ],
  ['SELECT limit FROM t WHERE a = 1 ORDER BY 1', ['SELECT', 'FROM', 'WHERE', 'ORDER']],
  ['SELECT a IS DISTINCT FROM b AS c FROM t', ['SELECT', 'FROM']],
  ['SELECT *, FROM t', ['SELECT', 'FROM']],
  ['SELECT 1 AS n FROM t ORDER BY n WITH FILL FROM 1 TO 5', ['SELECT', 'FROM', 'ORDER']],
])('finds the clauses of %s', (sql, clauses) => {
  expect(readBy(sql)).toEqual([['t'], clauses])
})

import { expect, test } from 'vitest'
import { packageFile } from '../../base/package-file.ts'
import { queryOf } from '../../sql/query.ts'
import { readDefinitions } from './definition-file.ts'
import { bindQuery, factsOf } from './parameters.ts'
import { wrapQuery } from './result-columns.ts'

const text = { name: 'event_message', type: 'String' }
const wrapped = (sql: string, form: 'json' | 'csv' | 'typed' | 'template' | 'text-rows', columns = [text]) =>
  wrapQuery(factsOf(queryOf(sql)), columns, { rows: 2, form })

test('adds nothing to statements whose texts are certainly UTF-8', () => {
  const sql = 'SELECT event_message FROM edge_logs WHERE left(event_message, 1) = @first'
  for (const form of ['json', 'csv', 'typed', 'template'] as const) {
    const expected = `SELECT materialize(\`event_message\`) AS \`event_message\` FROM (\n${sql}\n) LIMIT 2`
    expect(wrapped(sql, form)).toBe(expected)
  }
  expect(wrapped(sql, 'text-rows')).not.toContain('UTF8')
  const mixed = 'SELECT event_message, left(event_message, 3) AS l FROM edge_logs'
  const columns = [text, { name: 'l', type: 'String' }]
  expect(wrapped(mixed, 'csv', columns)).toContain(
    'SELECT materialize(`event_message`) AS `event_message`, materialize(toValidUTF8(`l`)) AS `l` FROM',
  )
  expect(wrapped('SELECT MD5(id) AS n FROM edge_logs', 'csv', [{ name: 'n', type: 'UInt8' }])).not.toContain(
    'UTF8',
  )
})

test.each(
  ['shipped/endpoints', 'shipped/logflare'].flatMap((folder) =>
    readDefinitions(packageFile(folder)).map(
      (definition) => [`${folder} ${definition.name}`, definition] as const,
    ),
  ),
)('adds nothing to the statement of %s', (_name, { query, parameters }) => {
  const { certain } = bindQuery(query, parameters)
  expect(certain.texts.has('any text')).toBe(true)
})

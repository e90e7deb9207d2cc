import { describe, expect, test } from 'vitest'
import { recent, warned } from '../../../../test/support/sql/warned.ts'
import { findWarnings } from './find-warnings.ts'

describe('bytes_as_text', () => {
  const from = `FROM edge_logs WHERE ${recent}`
  const messagesOf = async (sql: string) =>
    (await findWarnings({ sql, declared: [], sandbox: false, columnsOf: () => [] }))
      .filter(({ code }) => code === 'bytes_as_text')
      .map(({ message }) => message)

  test.each([
    ['left(event_message, 3)', 'Use leftUTF8,'],
    ['RIGHT(event_message, 3) AS r', 'Use rightUTF8,'],
    ['substring(event_message, 1, 3) AS s', 'Use substringUTF8,'],
    ['substr(metadata.path::Nullable(String), 2) s', 'Use substringUTF8,'],
    ['MD5(event_message) AS m', 'Use hex(MD5(…))'],
    ['SHA256(project)', 'Use hex(SHA256(…))'],
    ['unhex(event_message)', 'Use hex(unhex(…))'],
  ])('%s is reported', async (expression, help) => {
    const messages = await messagesOf(`SELECT id, ${expression} ${from}`)
    expect(messages).toEqual([expect.stringContaining(help)])
  })

  test.each([
    'leftUTF8(event_message, 3)',
    'hex(MD5(event_message))',
    'lower(hex(SHA256(project)))',
    "left(event_message, 3) = 'GET'",
    'length(left(event_message, 3))',
    'left(id, 8)',
    'left(hex(MD5(id)), 8)',
    'substring(toString(timestamp), 1, 10)',
    "substring('abc', 1, 2)",
    'left',
  ])('%s is not reported', async (expression) => {
    expect(await warned(`SELECT ${expression} AS x ${from}`, /bytes_as_text/)).toEqual([])
  })

  test('a condition or a subquery with bytes is not reported', async () => {
    const inner = `SELECT left(event_message, 3) AS l ${from}`
    expect(await messagesOf(`SELECT id ${from} AND left(event_message, 3) = 'GET'`)).toEqual([])
    expect(await messagesOf(`SELECT count() FROM (${inner}) WHERE l = 'GET'`)).toEqual([])
    expect(await messagesOf(`${inner} UNION ALL ${inner}`)).toHaveLength(2)
  })
})

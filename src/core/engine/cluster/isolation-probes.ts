/** The two tenants of a check. One name begins with the other, so a filter must compare whole names. */
export const own = 'barrier'
export const foreign = 'barrier%'

export interface Probe {
  /** Ends the sentence "Rows of other tenants show in …". */
  in: string
  sql: string
  /** What a tenant with one row must get, as JSON. */
  expected: string
}

/** Two statements of which one matches a foreign row. Not even the number of rows read may tell which. */
export interface ReadProbe {
  in: string
  present: string
  absent: string
}

/** Ways to see rows of others. Optimizations move, merge and drop filters, so every kind of query is a case of its own. */
export function probesOf(table: string): Probe[] {
  // Each fails on a foreign row, and the error tells what is in it.
  // In tables, values can be null, which would not be read as a number.
  const failing = (of = '') => `toUInt8(assumeNotNull(if(${of}project = '${own}', '1', ${of}event_message)))`
  const filtered = `(SELECT * FROM ${table} WHERE id != '')`
  const value = (shown: string, expression: string, rest: string, expected: number | string): Probe => ({
    in: shown,
    sql: `SELECT ${expression} AS v${rest}`,
    expected: JSON.stringify({ v: expected }),
  })
  const count = (shown: string, from: string, expected = 1) =>
    value(shown, 'toUInt32(count())', ` FROM ${from}`, expected)
  return [
    value('a plain query', 'project', ` FROM ${table}`, own),
    count('a count', table),
    value('the largest value', 'max(project)', ` FROM ${table}`, own),
    value('the first row', 'project', ` FROM ${table} ORDER BY project DESC, timestamp DESC LIMIT 1`, own),
    count('a join', `${table} AS l JOIN ${table} AS r ON l.timestamp = r.timestamp`),
    count('an outer join', `numbers(1) AS l RIGHT JOIN ${table} AS r ON toString(l.number) = r.id`),
    count('a subquery', `(SELECT * FROM ${table})`),
    value('a scalar subquery', `(SELECT toUInt32(count()) FROM ${table})`, '', 1),
    value('IN', `'${foreign}' IN (SELECT project FROM ${table})`, '', 0),
    count(
      'a common table expression',
      `(WITH c AS (SELECT * FROM ${table}) SELECT l.id FROM c AS l, c AS r)`,
    ),
    count('a union', `(SELECT id FROM ${table} UNION ALL SELECT id FROM ${table})`, 2),
    count('an error in WHERE', `${table} WHERE ${failing()} = 1`),
    count('an error after another condition', `${filtered} WHERE ${failing()} = 1`),
    count('a division by zero', `${table} WHERE intDiv(1, project = '${own}') = 1`),
    value('a thrown error', `toUInt32(sum(throwIf(project != '${own}')))`, ` FROM ${table}`, 0),
    value('an error in SELECT', `toUInt32(sum(${failing()}))`, ` FROM ${table}`, 1),
    count('an error in ORDER BY', `(SELECT id FROM ${table} ORDER BY ${failing()} LIMIT 1)`),
    count('an error in GROUP BY', `(SELECT ${failing()} AS k FROM ${table} GROUP BY k)`),
    count('an error in a subquery', `${table} WHERE ${failing()} IN (SELECT ${failing()} FROM ${table})`),
    count('an error in a join', `${table} AS l JOIN ${table} AS r ON ${failing('l.')} = ${failing('r.')}`),
    count(
      'an error of a join that filters while it reads',
      `${filtered} AS l SEMI LEFT JOIN (SELECT toUInt8(number) AS k FROM numbers(3)) AS r ON ${failing('l.')} = r.k`,
    ),
  ]
}

export function readProbesOf(table: string): ReadProbe[] {
  const count = (condition: string) => `SELECT toUInt32(count()) AS v FROM ${table} WHERE ${condition}`
  return [
    {
      in: 'the number of rows that an index skips',
      present: count("secret LIKE '%needle%'"),
      absent: count("secret LIKE '%nothing%'"),
    },
    {
      in: 'the number of rows read after others ran the same query',
      present: count("event_message = 'needle'"),
      absent: count("event_message = 'nothing'"),
    },
  ]
}

import { boundValue } from './bound-values.ts'
import type { EngineRequest } from './request.ts'
import { quote, type Statement } from './statement.ts'

export interface ComposedStatement {
  sql: string
  /** The same with placeholders in place of values. It can be parsed, and never run. */
  unbound: string | undefined
  /** What was put behind the statement. */
  tail: string
}

/** Statements that FORMAT and SETTINGS can stand behind. */
const withOutput = new Set(
  'SELECT WITH FROM SHOW DESCRIBE DESC EXPLAIN EXISTS CREATE ALTER DROP TRUNCATE OPTIMIZE RENAME EXCHANGE ATTACH DETACH KILL'.split(
    ' ',
  ),
)

/**
 * One statement that has its settings, values and tag in it, so that nothing of it stays in the session. Undefined where
 * the syntax has no place for them. Another format takes the place of the one that the statement ends with.
 */
export function composeStatement(
  { sql, format, settings, parameters }: Pick<EngineRequest, 'sql' | 'format' | 'settings' | 'parameters'>,
  statement: Statement,
  tag: string,
  newFormat?: string,
): ComposedStatement | undefined {
  const opening = openingOf(statement, format)
  if (opening === undefined) return undefined
  const tail = `${newFormat ?? ''}\n${opening} ${assignments(settings, tag)}`
  const statementEnd = newFormat === undefined ? statement.end : sql.lastIndexOf(' ') + 1
  let bound = ''
  let at = 0
  for (const { name, type, start, end } of statement.placeholders) {
    const value = boundValue(type, parameters.get(name) ?? '')
    if (value === undefined) return undefined
    // Between spaces, since two strings side by side would be one.
    bound += `${sql.slice(at, start)} ${value} `
    at = end
  }
  const unbound = sql.slice(0, statementEnd) + tail
  return { sql: bound + sql.slice(at, statementEnd) + tail, unbound: at > 0 ? unbound : undefined, tail }
}

function openingOf(statement: Statement, format: string): string | undefined {
  const { verb, writes, tail, insertsSelection, hasSettings } = statement
  if (verb === 'INSERT' || (verb === 'WITH' && writes)) return insertsSelection ? 'SETTINGS' : undefined
  // Settings of a SELECT or of a new table are a part of it; behind other statements there is place for one list only.
  if (!withOutput.has(verb) || (writes && hasSettings && verb !== 'CREATE')) return undefined
  if (tail === 'settings') return ','
  return tail === 'format' ? 'SETTINGS' : `FORMAT ${format} SETTINGS`
}

/** The tag comes last, because the last of two equal names counts. */
export function assignments(settings: ReadonlyMap<string, string>, tag: string): string {
  const list = [...settings].map(([name, value]) => `${name} = ${quote(value)}`)
  return [...list, `log_comment = ${quote(tag)}`].join(', ')
}

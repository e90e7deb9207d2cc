import type { EngineRequest } from './request.ts'
import { quote, type Statement } from './statement.ts'

export interface ComposedStatement {
  sql: string
  /** The same with placeholders instead of values: it can be parsed but never runs. */
  unbound: string | undefined
  tail: string
}

/** Statements that can end in FORMAT and SETTINGS. */
const withOutput = new Set(
  'SELECT WITH FROM SHOW DESCRIBE DESC EXPLAIN EXISTS CREATE ALTER DROP TRUNCATE OPTIMIZE RENAME EXCHANGE ATTACH DETACH KILL'.split(
    ' ',
  ),
)

/**
 * Puts settings, values and tag into the statement, so that none of them stays in the session. Undefined if the syntax has
 * no place for them. `newFormat` replaces the format that the statement ends in.
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
    // The spaces keep two adjacent strings from becoming one.
    bound += `${sql.slice(at, start)} ${value} `
    at = end
  }
  const unbound = sql.slice(0, statementEnd) + tail
  return { sql: bound + sql.slice(at, statementEnd) + tail, unbound: at > 0 ? unbound : undefined, tail }
}

function openingOf(statement: Statement, format: string): string | undefined {
  const { verb, writes, tail, insertsSelection, hasSettings } = statement
  if (verb === 'INSERT' || (verb === 'WITH' && writes)) return insertsSelection ? 'SETTINGS' : undefined
  // SELECT and CREATE can have settings inside and at the end; other statements have one list only.
  if (!withOutput.has(verb) || (writes && hasSettings && verb !== 'CREATE')) return undefined
  if (tail === 'settings') return ','
  return tail === 'format' ? 'SETTINGS' : `FORMAT ${format} SETTINGS`
}

/** The tag comes last, because the last of two equal names wins. */
export function assignments(settings: ReadonlyMap<string, string>, tag: string): string {
  const list = [...settings].map(([name, value]) => `${name} = ${quote(value)}`)
  return [...list, `log_comment = ${quote(tag)}`].join(', ')
}

/** Text that means the same as a parameter of this type and in a cast from a string. */
const castable: [type: RegExp, text: RegExp][] = [
  [/^U?Int(?:8|16|32|64)$/, /^-?\d+$/],
  [/^Float64$/, /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/],
  [/^Bool$/, /^(?:true|false|[01])$/],
  [/^DateTime64\([0-9](?:, '[\w/+-]+')?\)$/, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?$/],
  // Seconds since 1970, as the service writes them; a cast reads other numbers of digits differently.
  [/^DateTime64\([0-9](?:, '[\w/+-]+')?\)$/, /^\d{9,10}\.\d{1,9}$/],
]

/** The expression that the engine itself substitutes for a parameter. Undefined if only the engine can tell. */
export function boundValue(type: string, text: string): string | undefined {
  const nullable = /^Nullable\((.*)\)$/.exec(type)?.[1]
  const bare = nullable ?? type
  const cast = (literal: string) => `_CAST(${literal}, ${quote(type)})`
  if (nullable !== undefined && text === '\\N') return cast('NULL')
  if (bare === 'String') {
    const value = unescaped(text)
    if (value === undefined) return undefined
    return nullable === undefined ? quote(value) : cast(quote(value))
  }
  if (!castable.some(([types, texts]) => types.test(bare) && texts.test(text))) return undefined
  return isInRange(bare, text) ? cast(quote(text)) : undefined
}

/** Numbers out of range may overflow differently in the two forms. */
function isInRange(type: string, text: string): boolean {
  const [, unsigned, bits] = /^(U?)Int(\d+)$/.exec(type) ?? []
  if (bits === undefined) return true
  const value = BigInt(text)
  return (unsigned ? BigInt.asUintN(Number(bits), value) : BigInt.asIntN(Number(bits), value)) === value
}

const escaped: Record<string, string> = { '\\': '\\', "'": "'", t: '\t', n: '\n', r: '\r', '0': '\0' }

/** Undefined if the text has an unknown escape or a raw separator. */
function unescaped(text: string): string | undefined {
  if (/[\t\n]/.test(text)) return undefined
  let isValid = true
  const value = text.replace(/\\([\s\S]?)/g, (_, character: string) => {
    const meaning = escaped[character]
    if (meaning === undefined) isValid = false
    return meaning ?? ''
  })
  return isValid ? value : undefined
}

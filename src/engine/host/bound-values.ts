import { quote } from './statement.ts'

/**
 * Texts that the engine reads alike as a parameter of this type and as a cast of a string. Others, and other types, are
 * left to the engine's own parameters.
 */
const castable: [type: RegExp, text: RegExp][] = [
  [/^U?Int(?:8|16|32|64)$/, /^-?\d+$/],
  [/^Float64$/, /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/],
  [/^Bool$/, /^(?:true|false|[01])$/],
  [/^DateTime64\([0-9](?:, '[\w/+-]+')?\)$/, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})?$/],
  // Seconds since 1970, as the service writes instants; with other numbers of digits a cast reads something else.
  [/^DateTime64\([0-9](?:, '[\w/+-]+')?\)$/, /^\d{9,10}\.\d{1,9}$/],
]

/**
 * A parameter's value as the expression that the engine itself puts in its place. Undefined where only the engine can
 * tell what that is.
 */
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

/** Beyond its range the engine wraps a number around in one form, and may not in the other. */
function isInRange(type: string, text: string): boolean {
  const [, unsigned, bits] = /^(U?)Int(\d+)$/.exec(type) ?? []
  if (bits === undefined) return true
  const value = BigInt(text)
  return (unsigned ? BigInt.asUintN(Number(bits), value) : BigInt.asIntN(Number(bits), value)) === value
}

const escaped: Record<string, string> = { '\\': '\\', "'": "'", t: '\t', n: '\n', r: '\r', '0': '\0' }

/** The text of a field without its escapes; undefined where it has ones that are not read here, or ends too soon. */
function unescaped(text: string): string | undefined {
  if (!/[\\\t\n]/.test(text)) return text
  let readable = !/[\t\n]/.test(text)
  const value = text.replace(/\\([\s\S]?)/g, (_, character: string) => {
    const meant = escaped[character]
    if (meant === undefined) readable = false
    return meant ?? ''
  })
  return readable ? value : undefined
}

/** Texts, spaces and numbers, which the engine may write in another way. */
const rewritable = /"[^"\\]*(?:\\.[^"\\]*)*"?|\s+|-?\d[\d.eE+-]*/g
/** Escapes that the engine writes in another way. */
const escaped = /\\[u/]|[\u2028\u2029]/

/** A valid JSON value as the engine reads it: integers of 64 bits, containers as compact JSON. Undefined for null. */
export function valueText(json: string): string | undefined {
  if (json.startsWith('"')) return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
  if (json.startsWith('{') || json.startsWith('[')) return compact(json)
  return json === 'null' ? undefined : scalarText(json)
}

function scalarText(value: string): string {
  if (/^-?\d+$/.test(value)) return value === '-0' ? '0' : value
  if (!/^[-\d]/.test(value)) return value
  const number = Number(value)
  return Object.is(number, -0) ? '-0' : String(number).replace('e+', 'e')
}

/** Everything else is copied in long pieces, since values can be long. */
function compact(json: string): string {
  return json.replace(rewritable, (token) => {
    if (token.startsWith('"')) return escaped.test(token) ? stringText(JSON.parse(token) as string) : token
    return token.trim() === '' ? '' : scalarText(token)
  })
}

/** The engine escapes line separators too, and writes hex digits in upper case. */
const escapes = new Map(
  [...Array.from({ length: 0x20 }, (_, code) => code), 0x22, 0x5c, 0x2028, 0x2029].map((code) => {
    const character = String.fromCharCode(code)
    const short = JSON.stringify(character).slice(1, -1)
    const long = `\\u${code.toString(16).toUpperCase().padStart(4, '0')}`
    return [character, short.length === 2 ? short : long]
  }),
)

function stringText(value: string): string {
  const written = (character: string) => escapes.get(character) as string
  return `"${value.replace(/["\\\0-\x1f\u2028\u2029]/g, written)}"`
}

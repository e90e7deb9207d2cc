import { type JsonScanner, openObject } from './json-scanner.ts'

/** What is known of some keys. Most other keys differ from all of them in length, and are not read. */
export class KeyMap<T> extends Map<string, T> {
  readonly #lengths = new Set<number>()

  override set(key: string, value: T): this {
    this.#lengths.add(Buffer.byteLength(key) + 2)
    return super.set(key, value)
  }

  /** By the last key of the scanner. */
  at({ bytes, keyStart, keyEnd, hasEscape }: JsonScanner): T | undefined {
    if (hasEscape) return this.get(JSON.parse(bytes.toString('utf8', keyStart, keyEnd)) as string)
    if (!this.#lengths.has(keyEnd - keyStart)) return undefined
    return this.get(bytes.toString('utf8', keyStart + 1, keyEnd - 1))
  }
}

interface PathNode {
  readonly children: KeyMap<PathNode>
  /** How many readers want the value here. */
  wanted: number
  name: string
}

export function pathName(keys: readonly string[]): string {
  return JSON.stringify(keys)
}

/** Paths whose values are located in one pass over JSON, however many there are. */
export class JsonPaths {
  /** Changes with the paths. */
  version = 0
  readonly #root: PathNode = { children: new KeyMap(), wanted: 0, name: '' }

  add(keys: readonly string[]): void {
    let node = this.#root
    for (const key of keys) {
      const child: PathNode = node.children.get(key) ?? { children: new KeyMap(), wanted: 0, name: '' }
      node.children.set(key, child)
      node = child
    }
    if (node.wanted++ === 0) this.version++
    node.name = pathName(keys)
  }

  /** Takes back one `add`. */
  remove(keys: readonly string[]): void {
    const nodes = [this.#root]
    for (const key of keys) nodes.push(nodes.at(-1)?.children.get(key) as PathNode)
    for (let depth = keys.length; depth > 0; depth--) {
      const node = nodes[depth] as PathNode
      if (depth === keys.length) node.wanted--
      if (node.wanted > 0 || node.children.size > 0) return
      nodes[depth - 1]?.children.delete(keys[depth - 1] as string)
    }
  }

  /** Start and end of the values in a valid value at the scanner, by the name of their path. */
  locate(scanner: JsonScanner): Map<string, readonly [start: number, end: number]> {
    const found = new Map<string, readonly [number, number]>()
    const walk = (node: PathNode): boolean => {
      if (node.children.size === 0 || scanner.peek() !== openObject) return scanner.value()
      // The engine reads the first of several members with the same key.
      const seen = new Set<PathNode>()
      return scanner.object(() => {
        const child = node.children.at(scanner)
        if (child === undefined || seen.has(child)) return scanner.value()
        seen.add(child)
        const start = scanner.at
        const isValid = walk(child)
        if (child.wanted > 0) found.set(child.name, [start, scanner.at])
        return isValid
      })
    }
    scanner.space()
    walk(this.#root)
    return found
  }
}

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

import { type JsonScanner, openObject } from './json-scanner.ts'

interface PathNode {
  readonly children: Map<string, PathNode>
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
  readonly #root: PathNode = { children: new Map(), wanted: 0, name: '' }

  add(keys: readonly string[]): void {
    let node = this.#root
    for (const key of keys) {
      const child: PathNode = node.children.get(key) ?? { children: new Map(), wanted: 0, name: '' }
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
        const child = node.children.get(keyOf(scanner))
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

function keyOf({ bytes, keyStart, keyEnd, hasEscape }: JsonScanner): string {
  if (hasEscape) return JSON.parse(bytes.toString('utf8', keyStart, keyEnd)) as string
  return bytes.toString('utf8', keyStart + 1, keyEnd - 1)
}

import { KeyMap } from '../../base/json/json-paths.ts'
import { comma, JsonScanner, openArray, openObject } from '../../base/json/json-scanner.ts'
import type { MaskName } from '../../catalog/source-rules.ts'
import { maskJson } from './mask-json.ts'

/** What a rule does to a value. */
export type Edit = { rule: number } & (
  | { kind: 'remove' | 'redact' }
  | { kind: 'mask'; names: readonly MaskName[] }
)

const replacements = { remove: Buffer.from('""'), redact: Buffer.from('"[redacted]"') }

/** A value of compact JSON after an edit; the same buffer if it is not changed. A text that is removed is empty. */
export function edited(value: Buffer, edit: Edit): Buffer {
  if (edit.kind !== 'mask') {
    const by = replacements[edit.kind]
    return by.equals(value) ? value : by
  }
  const masked = maskJson(value.toString('latin1'), edit.names)
  return masked === undefined ? value : Buffer.from(masked, 'latin1')
}

interface Node {
  children: KeyMap<Node>
  edit?: Edit
}

/** The key below which the service puts a member whose key metadata has, too. */
const underscore = 0x5f
/** What a message is, for those who name it by a path. */
const messageKeys = ['event_message', 'body']
const other = /^"_+other"$/

function touches(node: Node, [key, ...rest]: readonly string[]): boolean {
  if (node.edit) return true
  if (key === undefined) return node.children.size > 0
  const child = node.children.get(key)
  return child !== undefined && touches(child, rest)
}

/** Edits of paths of which none is inside of another, applied in one pass over metadata. */
export class PathEdits {
  readonly #root: Node = { children: new KeyMap() }

  /** False, and nothing added, if the path of another edit begins or continues this one. */
  add(keys: readonly string[], edit: Edit): boolean {
    if (touches(this.#root, keys)) return false
    let node = this.#root
    for (const key of keys) {
      const child: Node = node.children.get(key) ?? { children: new KeyMap() }
      node.children.set(key, child)
      node = child
    }
    node.edit = edit
    return true
  }

  /** Whether it is not metadata as a whole that is edited. */
  get hasKeys(): boolean {
    return this.#root.children.size > 0
  }

  /** A message as compact JSON. Paths name its members, also as those of the body that it has been made of. */
  applyToMessage(message: Buffer, onEdit: (rule: number) => void): Buffer {
    const roots = [this.#root, ...messageKeys.flatMap((key) => this.#root.children.get(key) ?? [])]
    return roots.reduce((json, root) => this.apply(json, onEdit, root), message)
  }

  /** Metadata as compact JSON, edited wherever a path is: in each element of an array, and in each of equal keys. */
  apply(metadata: Buffer, onEdit: (rule: number) => void, root = this.#root): Buffer {
    const scanner = new JsonScanner(metadata)
    const pieces: Buffer[] = []
    let copied = 0
    const replace = (from: number, to: number, by?: Buffer) => {
      pieces.push(metadata.subarray(copied, from))
      if (by) pieces.push(by)
      copied = to
    }
    const remove = (from: number, to: number) => {
      const isLast = metadata[to] !== comma
      replace(from, isLast ? to : to + 1)
      if (!isLast) return
      // Nothing may follow the comma of the member before it.
      const last = pieces.findLastIndex(({ length }) => length > 0)
      const piece = pieces[last]
      if (piece?.at(-1) === comma) pieces[last] = piece.subarray(0, -1)
    }
    const walk = (node: Node): boolean => {
      if (node.children.size === 0) return scanner.value()
      if (scanner.peek() === openArray) return scanner.array(() => walk(node))
      if (scanner.peek() !== openObject) return scanner.value()
      return scanner.object(() => {
        const { keyStart, keyEnd } = scanner
        const child = node.children.at(scanner)
        const start = scanner.at
        if (child === undefined) {
          const mayBeOther = node === root && metadata[keyStart + 1] === underscore
          const isOther = mayBeOther && other.test(metadata.toString('latin1', keyStart, keyEnd))
          return isOther ? walk(node) : scanner.value()
        }
        if (!walk(child)) return false
        if (child.edit?.kind === 'remove') {
          remove(keyStart, scanner.at)
          onEdit(child.edit.rule)
        } else if (child.edit) change(start, child.edit)
        return true
      })
    }
    const change = (start: number, edit: Edit) => {
      const value = metadata.subarray(start, scanner.at)
      const by = edited(value, edit)
      if (by === value) return
      replace(start, scanner.at, by)
      onEdit(edit.rule)
    }
    walk(root)
    if (root.edit) change(0, root.edit)
    if (pieces.length === 0) return metadata
    pieces.push(metadata.subarray(copied))
    return Buffer.concat(pieces)
  }
}

import { type Document, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'

/** Line and column, both from 1. */
export interface TextPosition {
  line: number
  column: number
}

export interface YamlFields {
  document: Document
  fields: Record<string, unknown>
  /** If there are any, the fields are empty. */
  syntaxProblems: { at: TextPosition; message: string }[]
  /** Numbers that YAML would read in another form, as 1.10. */
  misreadNumbers: { at: TextPosition; path: string[]; message: string }[]
  /** Position of a field, or of its nearest existing parent. */
  positionOf(path: readonly PropertyKey[]): TextPosition
}

export function readYamlFields(text: string, example: string): YamlFields {
  const lines = new LineCounter()
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const at = (offset: number) => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col }
  }
  const syntaxProblems = [...document.errors, ...document.warnings].map((error) => ({
    at: at(error.pos[0]),
    message: `cannot be read as YAML: ${error.message.replace(/\.$/, '')}`,
  }))
  const refuse = (message: string) => syntaxProblems.push({ at: { line: 1, column: 1 }, message })
  let fields: Record<string, unknown> = {}
  if (syntaxProblems.length === 0) {
    try {
      // Only this finds unknown and endlessly repeated aliases.
      if (isMap(document.contents)) fields = document.toJS() as Record<string, unknown>
      else refuse(`must be a list of fields, such as "${example}"`)
    } catch (error) {
      refuse(`cannot be read as YAML: ${error instanceof Error ? error.message : error}`)
    }
  }
  return {
    document,
    fields,
    syntaxProblems,
    misreadNumbers: misreadNumbers(document).map(({ offset, ...rest }) => ({ at: at(offset), ...rest })),
    positionOf: (path) => at(offsetOf(document, path)),
  }
}

function misreadNumbers(yaml: Document): { offset: number; path: string[]; message: string }[] {
  const found: { offset: number; path: string[]; message: string }[] = []
  visit(yaml, {
    Scalar(_key, node, steps) {
      if (typeof node.value !== 'number' || node.source === String(node.value)) return
      const path = steps.flatMap((step) =>
        'key' in step && isScalar(step.key) ? [String(step.key.value)] : [],
      )
      const message = `would be read as ${node.value}: put ${node.source} in quotes`
      found.push({ offset: node.range?.[0] ?? 0, path, message })
    },
  })
  return found
}

function offsetOf(yaml: Document, path: readonly PropertyKey[]): number {
  let node: unknown = yaml.contents
  let offset = 0
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      if (!pair) break
      offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      const inside = isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined
      offset = inside || offset
    } else break
  }
  return offset
}

import { basename } from 'node:path'
import { type Document, isMap, isScalar, isSeq, LineCounter, parseDocument, visit } from 'yaml'
import { sqlTokens } from '../base/sql-tokens.ts'
import { definitionShape, type EndpointDefinition, fieldProblems } from './definition.ts'
import { parseDuration } from './duration.ts'

/**
 * Reads an endpoint from its file: SQL, with its settings as YAML in a comment before it. The name of the
 * file is the name of the endpoint.
 */
export type DefinitionReading = { definition: EndpointDefinition } | { problems: DefinitionProblem[] }

export interface DefinitionProblem {
  file: string
  line: number
  /** Path of the field, such as "parameters.interval.enum". */
  field: string
  /** Follows the field: "must be …", "is missing". */
  message: string
}

export function describeProblem({ file, line, field, message }: DefinitionProblem): string {
  return `${file}:${line}: ${field} ${message}.`
}

/** Fields that are a duration in a file and a number of seconds everywhere else. */
const durationFields: Record<string, string> = {
  cache: 'cache_seconds',
  warm: 'warm_seconds',
  timeout: 'timeout_seconds',
}
const fileFields = Object.fromEntries(Object.entries(durationFields).map(([file, own]) => [own, file]))

export function readDefinition(file: string, content: string): DefinitionReading {
  const parts = splitFile(content)
  if (parts === undefined) {
    const message = 'is missing: the file must begin with a comment /* … */ that holds the settings'
    return { problems: [{ file, line: 1, field: 'header', message }] }
  }
  const header = readHeader(parts.header)
  const problems: DefinitionProblem[] = []
  const report = (line: number, field: string, message: string) =>
    problems.push({ file, line: parts.headerLine + line - 1, field, message })
  for (const { line, message } of header.syntaxProblems) report(line, 'header', message)
  if (problems.length > 0) return { problems }

  const fields: Record<string, unknown> = { name: basename(file, '.sql'), query: parts.query }
  for (const [field, value] of Object.entries(header.fields)) {
    const own = durationFields[field]
    if (own !== undefined) fields[own] = readDuration(value)
    else if (Object.hasOwn(fields, field) || Object.hasOwn(fileFields, field)) {
      report(header.lineOf([field]), field, 'is no field of a file')
    } else fields[field] = value
  }
  for (const { line, field, message } of header.misreadNumbers) report(line, field, message)
  const parsed = definitionShape.safeParse(fields)
  for (const { path, message } of parsed.success ? [] : fieldProblems(parsed.error)) {
    const [own, ...rest] = path.map(String) as [string, ...string[]]
    const field = fileFields[own] ?? own
    const unreadable = Object.hasOwn(durationFields, field) && Number.isNaN(fields[own])
    const told = unreadable ? 'must be a duration such as 900s, 15m or 1h' : message
    if (own === 'query') problems.push({ file, line: parts.queryLine, field, message })
    else report(header.lineOf([field, ...rest]), [field, ...rest].join('.'), told)
  }
  if (parsed.success && problems.length === 0) return { definition: parsed.data }
  return { problems: problems.sort((a, b) => a.line - b.line) }
}

/** What is no duration becomes NaN, which the shape refuses like any other wrong number. */
function readDuration(value: unknown): number | null {
  if (value === 'none') return null
  return (typeof value === 'string' ? parseDuration(value) : undefined) ?? Number.NaN
}

interface FileParts {
  /** Text between the marks of the comment, and the line that it begins in. */
  header: string
  headerLine: number
  query: string
  queryLine: number
}

function splitFile(content: string): FileParts | undefined {
  for (const { kind, start, end } of sqlTokens(content)) {
    if (kind === 'space') continue
    if (kind !== 'comment' || !content.startsWith('/*', start)) return undefined
    const query = content.slice(end)
    return {
      header: content.slice(start + 2, end - 2),
      headerLine: lineAt(content, start),
      query,
      queryLine: lineAt(content, end + Math.max(0, query.search(/\S/))),
    }
  }
  return undefined
}

function lineAt(content: string, offset: number): number {
  return content.slice(0, offset).split('\n').length
}

interface HeaderReading {
  fields: Record<string, unknown>
  syntaxProblems: { line: number; message: string }[]
  misreadNumbers: { line: number; field: string; message: string }[]
  lineOf(path: readonly string[]): number
}

function readHeader(text: string): HeaderReading {
  const lines = new LineCounter()
  const yaml = parseDocument(text, { lineCounter: lines, prettyErrors: false })
  const line = (offset: number) => lines.linePos(offset).line
  const syntaxProblems = [...yaml.errors, ...yaml.warnings].map((error) => ({
    line: line(error.pos[0]),
    message: `cannot be read as YAML: ${error.message.replace(/\.$/, '')}`,
  }))
  const refuse = (message: string) => syntaxProblems.push({ line: 1, message })
  let fields: Record<string, unknown> = {}
  if (syntaxProblems.length === 0) {
    if (isMap(yaml.contents)) fields = toObject(yaml, refuse)
    else refuse('must be a list of fields, such as "max_rows: 1000"')
  }
  return {
    fields,
    syntaxProblems,
    misreadNumbers: misreadNumbers(yaml).map(({ offset, ...rest }) => ({ line: line(offset), ...rest })),
    lineOf: (path) => line(offsetOf(yaml, path)),
  }
}

/** An alias can be unknown, or repeat itself without end; neither is found before this. */
function toObject(yaml: Document, refuse: (message: string) => void): Record<string, unknown> {
  try {
    return yaml.toJS() as Record<string, unknown>
  } catch (error) {
    refuse(`cannot be read as YAML: ${error instanceof Error ? error.message : error}`)
    return {}
  }
}

/** Values are text, but YAML would make 1.10 a number and lose its zero. */
function misreadNumbers(yaml: Document): { offset: number; field: string; message: string }[] {
  const found: { offset: number; field: string; message: string }[] = []
  visit(yaml, {
    Scalar(_key, node, path) {
      if (typeof node.value !== 'number' || node.source === String(node.value)) return
      const keys = path.flatMap((step) =>
        'key' in step && isScalar(step.key) ? [String(step.key.value)] : [],
      )
      if (keys[0] !== 'parameters') return
      const message = `would be read as ${node.value}: put ${node.source} in quotes`
      found.push({ offset: node.range?.[0] ?? 0, field: keys.join('.'), message })
    },
  })
  return found
}

/** Where the field begins, or the nearest one around it. */
function offsetOf(yaml: Document, path: readonly string[]): number {
  let node: unknown = yaml.contents
  let offset = 0
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === step)
      if (!pair) break
      offset = (isScalar(pair.key) && pair.key.range?.[0]) || offset
      node = pair.value
    } else if (isSeq(node)) {
      node = node.items[Number(step)]
      offset = (isScalar(node) && node.range?.[0]) || offset
    } else break
  }
  return offset
}

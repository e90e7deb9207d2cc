import { basename } from 'node:path'
import { findIllFormed, notWellFormed } from '../../base/validation.ts'
import { readYamlFields, type TextPosition } from '../../base/yaml-fields.ts'
import { sqlTokens } from '../../sql/tokens.ts'
import { definitionShape, type EndpointDefinition, fieldProblems } from './definition.ts'
import { parseDuration } from './duration.ts'

/**
 * Reads an endpoint from its file: SQL, with its settings as YAML in a comment before it. The name of the
 * file is the name of the endpoint.
 */
export type DefinitionReading =
  | { definition: EndpointDefinition; queryAt: TextPosition }
  | { problems: DefinitionProblem[] }

export interface DefinitionProblem extends TextPosition {
  file: string
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
    return { problems: [{ file, line: 1, column: 1, field: 'header', message }] }
  }
  const header = readYamlFields(parts.header, 'max_rows: 1000')
  const problems: DefinitionProblem[] = []
  const report = (at: TextPosition, field: string, message: string) =>
    problems.push({ file, ...within(parts.headerAt, at), field, message })
  for (const { at, message } of header.syntaxProblems) report(at, 'header', message)
  if (problems.length > 0) return { problems }

  const fields: Record<string, unknown> = { name: basename(file, '.sql'), query: parts.query }
  for (const [field, value] of Object.entries(header.fields)) {
    const own = durationFields[field]
    if (own !== undefined) fields[own] = readDuration(value)
    else if (Object.hasOwn(fields, field) || Object.hasOwn(fileFields, field)) {
      report(header.positionOf([field]), field, 'is no field of a file')
    } else fields[field] = value
  }
  for (const { at, path, message } of header.misreadNumbers) {
    // Values are text, but YAML would make 1.10 a number and lose its zero.
    if (path[0] === 'parameters') report(at, path.join('.'), message)
  }
  const illFormed = findIllFormed(header.fields)
  if (illFormed) report(header.positionOf(illFormed), illFormed.join('.'), notWellFormed)
  const parsed = definitionShape.safeParse(fields)
  for (const { path, message } of parsed.success ? [] : fieldProblems(parsed.error)) {
    const [own, ...rest] = path.map(String) as [string, ...string[]]
    const field = fileFields[own] ?? own
    const unreadable = Object.hasOwn(durationFields, field) && Number.isNaN(fields[own])
    const told = unreadable ? 'must be a duration such as 900s, 15m or 1h' : message
    if (own === 'query') problems.push({ file, ...parts.queryAt, field, message })
    else report(header.positionOf([field, ...rest]), [field, ...rest].join('.'), told)
  }
  if (parsed.success && problems.length === 0) return { definition: parsed.data, queryAt: parts.queryAt }
  return { problems: problems.sort((a, b) => a.line - b.line) }
}

/** A place in a part of a text as one in the whole of it. */
export function within(start: TextPosition, at: TextPosition): TextPosition {
  return {
    line: start.line + at.line - 1,
    column: at.line === 1 ? start.column + at.column - 1 : at.column,
  }
}

/** What is no duration becomes NaN, which the shape refuses like any other wrong number. */
function readDuration(value: unknown): number | null {
  if (value === 'none') return null
  return (typeof value === 'string' ? parseDuration(value) : undefined) ?? Number.NaN
}

interface FileParts {
  /** Text between the marks of the comment, and where it begins. */
  header: string
  headerAt: TextPosition
  query: string
  queryAt: TextPosition
}

function splitFile(content: string): FileParts | undefined {
  for (const { kind, start, end } of sqlTokens(content)) {
    if (kind === 'space') continue
    if (kind !== 'comment' || !content.startsWith('/*', start)) return undefined
    const query = content.slice(end)
    return {
      header: content.slice(start + 2, end - 2),
      headerAt: positionAt(content, start + 2),
      query,
      queryAt: positionAt(content, end + Math.max(0, query.search(/\S/))),
    }
  }
  return undefined
}

function positionAt(content: string, offset: number): TextPosition {
  const lines = content.slice(0, offset).split('\n')
  return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
}

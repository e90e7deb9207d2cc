import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { Document, Scalar, visit } from 'yaml'
import { sqlTokens } from '../../../shared/sql-tokens.ts'
import type { FileProblem } from '../../base/files/file-problem.ts'
import { readYamlFields, type TextPosition } from '../../base/files/yaml-fields.ts'
import { formatDuration, parseDuration } from '../../base/text/duration.ts'
import { fieldProblems, findIllFormed, notWellFormed, problemSentence } from '../../base/validation.ts'
import { positionOf, within } from '../../sql/edits.ts'
import { inferredTypes } from '../../sql/parameter-types.ts'
import { queryOf } from '../../sql/query.ts'
import { definitionShape, type EndpointDefinition, withInferredTypes } from './definition.ts'
import { shownParameters } from './parameter-declaration.ts'

type DefinitionReading =
  | { definition: EndpointDefinition; queryAt: TextPosition }
  | { problems: FileProblem[] }

/** Reads the definitions in a directory. Reports the problems of all files together. */
export function readDefinitions(directory: string): EndpointDefinition[] {
  const readings = readdirSync(directory)
    .filter((file) => file.endsWith('.sql'))
    .sort()
    .map((file) => readDefinition(file, readFileSync(join(directory, file), 'utf8')))
  const problems = readings.flatMap((reading) => ('problems' in reading ? reading.problems : []))
  if (problems.length > 0) throw new Error(problems.map(describeProblem).join('\n'))
  return readings.flatMap((reading) => ('definition' in reading ? [reading.definition] : []))
}

export function describeProblem({ file, line, message }: FileProblem): string {
  return `${file}:${line}: ${message}`
}

/** Fields that are a duration such as 15m in a file, and a number of seconds everywhere else. */
const durationFields: Record<string, string> = {
  cache: 'cache_seconds',
  warm: 'warm_seconds',
  timeout: 'timeout_seconds',
}
const fileFields = Object.fromEntries(Object.entries(durationFields).map(([file, own]) => [own, file]))

/** Reads an endpoint from its file: a comment with YAML settings, then SQL. The file name is the endpoint's name. */
export function readDefinition(file: string, content: string): DefinitionReading {
  const parts = splitFile(content)
  if (parts === undefined) {
    const message = content.trimStart().startsWith('/*')
      ? 'The header has no end. Close the comment with */ before the SQL.'
      : 'The header is missing. Run wellhead check --fix to write one, or start the file with a comment /* … */ that contains the settings.'
    return { problems: [{ file, line: 1, column: 1, message }] }
  }
  const header = readYamlFields(parts.header, 'max_rows: 1000')
  const problems: FileProblem[] = []
  const report = (at: TextPosition, field: string, message: string) =>
    problems.push({ file, ...within(parts.headerAt, at), message: problemSentence(field, message) })
  for (const { at, message } of header.syntaxProblems) report(at, 'header', message)
  if (problems.length > 0) return { problems }

  const fields: Record<string, unknown> = { name: basename(file, '.sql'), query: parts.query }
  for (const [field, value] of Object.entries(header.fields)) {
    const own = durationFields[field]
    if (own !== undefined) fields[own] = durationOf(value)
    else if (Object.hasOwn(fields, field) || Object.hasOwn(fileFields, field)) {
      report(header.positionOf([field]), field, 'is not allowed in a file')
    } else fields[field] = value
  }
  for (const { at, path, message } of header.misreadNumbers) {
    // Values are text, but YAML would make 1.10 a number and lose its zero.
    if (path[0] === 'parameters') report(at, path.join('.'), message)
  }
  const illFormed = findIllFormed(header.fields)
  if (illFormed) report(header.positionOf(illFormed), illFormed.join('.'), notWellFormed)
  const parsed = definitionShape.safeParse(withInferredTypes(fields))
  const found = parsed.success ? [] : fieldProblems(parsed.error, definitionShape, fileFields)
  for (const { path, message } of found) {
    const [own, ...rest] = path.map(String) as [string, ...string[]]
    const field = fileFields[own] ?? own
    const isUnreadable = Object.hasOwn(durationFields, field) && Number.isNaN(fields[own])
    const isMissingId = own === 'id' && message === 'is missing'
    const reason = isUnreadable
      ? 'must be a duration such as 900s, 15m or 1h'
      : isMissingId
        ? 'is missing. Run wellhead check --fix to write one'
        : message
    if (own === 'query') problems.push({ file, ...parts.queryAt, message: problemSentence(field, message) })
    else report(header.positionOf([field, ...rest]), [field, ...rest].join('.'), reason)
  }
  if (parsed.success && problems.length === 0) return { definition: parsed.data, queryAt: parts.queryAt }
  return { problems: problems.sort((a, b) => a.line - b.line) }
}

/** Where a file has a field of its header; undefined if it does not. */
export function fieldPosition(content: string, path: readonly string[]): TextPosition | undefined {
  const parts = splitFile(content)
  if (parts === undefined) return undefined
  const { document, positionOf } = readYamlFields(parts.header, '')
  return document.hasIn(path) ? within(parts.headerAt, positionOf(path)) : undefined
}

/** Seconds of a duration. Anything else becomes NaN, which the shape refuses. */
function durationOf(value: unknown): number | null {
  if (value === 'none') return null
  return (typeof value === 'string' ? parseDuration(value) : undefined) ?? Number.NaN
}

/** The YAML inside of the comment that a file starts with, and the SQL after it. */
export function splitFile(content: string) {
  for (const { kind, start, end } of sqlTokens(content)) {
    if (kind === 'space') continue
    if (kind !== 'comment' || !content.startsWith('/*', start)) return undefined
    const query = content.slice(end)
    return {
      header: content.slice(start + 2, end - 2),
      headerStart: start + 2,
      headerAt: positionOf(content, start + 2),
      query,
      queryAt: positionOf(content, end + Math.max(0, query.search(/\S/))),
    }
  }
  return undefined
}

export function formatDefinition(definition: EndpointDefinition): string {
  const { id, description, cache_seconds, warm_seconds, published } = definition
  const { max_rows, timeout_seconds, json, sandbox, strict, chart, timestamps } = definition
  const told = inferredTypes(queryOf(definition.query))
  const parameters = Object.entries(shownParameters(definition.parameters)).map(([name, parameter]) => {
    const { type, required, empty_is_omitted, description, ...values } = parameter
    const shownType = type === 'string' && (told.get(name) ?? type) === type ? null : type
    return [
      name,
      {
        ...given({ type: shownType, required }),
        ...values,
        ...given({ empty_is_omitted, description: description || null }),
      },
    ]
  })
  const header = new Document({
    ...given({ id, description: description || null, parameters: Object.fromEntries(parameters), max_rows }),
    cache: cache_seconds === null ? 'none' : formatDuration(cache_seconds),
    ...given({
      warm: warm_seconds === null ? null : formatDuration(warm_seconds),
      timeout: formatDuration(timeout_seconds),
      json,
      sandbox,
      strict,
      chart: chart && given(chart),
      timestamps: timestamps === 'iso' ? null : timestamps,
      published,
    }),
  })
  visit(header, {
    Scalar(_key, node) {
      if (typeof node.value === 'string' && !isPlain(node.value)) node.type = Scalar.QUOTE_DOUBLE
    },
  })
  const yaml = header.toString({ lineWidth: 0 })
  return `/*\n${yaml.replaceAll('/*', '/\\x2a').replaceAll('*/', '*\\/')}*/\n${definition.query}\n`
}

/** Without null, false and empty lists, which are the defaults. */
function given(fields: Record<string, unknown>): Record<string, unknown> {
  const isDefault = (value: unknown) =>
    value === null || value === false || (typeof value === 'object' && Object.keys(value).length === 0)
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => !isDefault(value)))
}

/** Only double quotes can hold every character on one line, with comment marks escaped. */
function isPlain(value: string): boolean {
  return /^[\x20-\x7e\u00a1-\u167f]*$/.test(value) && !/\/\*|\*\//.test(value)
}

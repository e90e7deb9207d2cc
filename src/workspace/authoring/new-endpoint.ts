import { Document } from 'yaml'
import { parseDefinition } from '../../core/endpoints/definition/definition.ts'
import { formatDefinition } from '../../core/endpoints/definition/definition-file.ts'
import {
  declarationsOf,
  type JsonValue,
  typeOf,
} from '../../core/endpoints/definition/parameter-declaration.ts'
import { inferredTypes, nullTested, usedAsLists } from '../../core/sql/parameter-types.ts'
import type { ColumnsOf } from '../../core/sql/paths.ts'
import { queryOf } from '../../core/sql/query.ts'
import type { Workspace } from '../workspace.ts'

interface NewEndpoint {
  name: string
  id: string
  query: string
  /** Examples of parameters, which also determine their types. */
  values: Readonly<Record<string, JsonValue>>
  nowMs: number
  published?: boolean | undefined
}

/** Parameters of a query that can be declared, in the order of their first appearance. */
export function parametersOf(query: string): string[] {
  // Checking the file explains why another name is not allowed.
  return queryOf(query).parameterNames.filter((name) => /^[A-Za-z]\w{0,63}$/.test(name))
}

/** The endpoint file and a test that gets rows from the fixtures of the workspace. */
export function newEndpointFiles(
  { name, id, query, values, nowMs, published }: NewEndpoint,
  fixtures: Workspace['fixtures'],
  columnsOf?: ColumnsOf,
): Record<string, string> {
  const newest = newestEntry(fixtures)
  const project = /^[A-Za-z][\w-]*$/.test(newest?.project ?? '') ? (newest?.project as string) : 'demo'
  const told = inferredTypes(queryOf(query), columnsOf)
  const optional = nullTested(queryOf(query))
  const lists = usedAsLists(queryOf(query), columnsOf)
  const exampleOf = (parameter: string): JsonValue => {
    if (Object.hasOwn(values, parameter)) return values[parameter] as JsonValue
    if (lists.has(parameter)) return []
    if (optional.has(parameter)) return null
    const type = told.get(parameter) ?? 'string'
    const isText = type === 'string' || type === 'regex'
    return parameter === 'project' ? project : isText ? 'example' : typeOf({ type }).samples[1]
  }
  const examples = Object.fromEntries(
    parametersOf(query).map((parameter) => [parameter, exampleOf(parameter)]),
  )
  const now = new Date(Math.ceil(((newest?.ms ?? nowMs) + 1) / hourMs) * hourMs)
  const parameters: Record<string, object> = declarationsOf(examples)
  for (const [parameter, told] of lists) {
    const sent = [examples[parameter] ?? []].flat()
    const of = sent.length > 0 && sent.every((value) => typeof value === 'number') ? 'number' : told
    // An omitted list is empty.
    if (parameters[parameter])
      parameters[parameter] = { type: 'list', of, ...(sent.length > 0 && { example: sent }) }
  }
  for (const [parameter, type] of told)
    if (parameters[parameter] && !lists.has(parameter)) Object.assign(parameters[parameter], { type })
  for (const parameter of optional)
    if (parameters[parameter]) Object.assign(parameters[parameter], { required: false })
  const content = formatDefinition(parseDefinition({ id, name, query, parameters, published }))
  return { [`endpoints/${name}.sql`]: content, [`tests/${name}.yaml`]: testFile(name, now, examples) }
}

const hourMs = 3_600_000

function newestEntry(fixtures: Workspace['fixtures']): { ms: number; project: string } | undefined {
  let newest: { ms: number; project: string } | undefined
  for (const { lines } of fixtures) {
    for (const line of lines) {
      const { timestamp, project } = JSON.parse(line.toString()) as { timestamp: string; project: string }
      const ms = Number(timestamp) * 1000
      if (ms > (newest?.ms ?? Number.NEGATIVE_INFINITY)) newest = { ms, project }
    }
  }
  return newest
}

function testFile(name: string, now: Date, examples: Record<string, JsonValue>): string {
  // A parameter without a value is omitted.
  const parameters = Object.fromEntries(Object.entries(examples).filter(([, value]) => value !== null))
  const head = { endpoint: name, now: now.toISOString().replace('.000Z', 'Z') }
  const document = new Document({
    ...head,
    tests: [
      {
        name: 'returns the expected rows',
        ...(Object.keys(parameters).length > 0 && { parameters }),
      },
    ],
  })
  const values = document.getIn(['tests', 0, 'parameters']) as { flow?: boolean } | undefined
  if (values) values.flow = true
  const advice = '# Save the rows that the endpoint returns with: wellhead test --update\n'
  return `${advice}${document.toString({ lineWidth: 0 })}`
}

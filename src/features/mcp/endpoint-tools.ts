import type { Caller } from '../../core/access/caller.ts'
import type { Endpoint } from '../../core/endpoints/definition/endpoint.ts'
import type { SandboxView } from '../../core/endpoints/definition/sandbox.ts'
import type { SavedEndpoint } from '../../core/endpoints/manage/endpoints.ts'
import { limitsOf, parameterSchemas, rowSchema } from '../../core/endpoints/schema/endpoint-schema.ts'
import { rowsSchema } from './row-result.ts'
import { builtInNames, readOnly, type ToolDefinition } from './tool.ts'

/** Only what authors wrote: nothing in it comes from entries. */
export function endpointTool(
  name: string,
  endpoint: Endpoint,
  caller: Caller,
  /** The views that callers of a sandbox can read. */
  views: readonly SandboxView[],
): ToolDefinition {
  const { definition } = endpoint
  const { sandbox } = definition
  const parameters = parameterSchemas(endpoint, caller.parameters)
  const row = rowSchema(endpoint, 'iso')
  return {
    name,
    title: definition.name,
    description: [
      definition.description || `The saved query ${definition.name}.`,
      ...(sandbox ? [sandboxText(views)] : []),
      limitsOf(endpoint),
    ].join('\n\n'),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(
        parameters.map(({ name: parameter, description, schema, example }) => [
          parameter,
          {
            ...schema,
            ...(description !== '' && { description }),
            ...(example !== undefined && { examples: [example] }),
          },
        ]),
      ),
      required: parameters.filter(({ required }) => required).map(({ name: parameter }) => parameter),
      additionalProperties: false,
    },
    // A caller's SQL has columns of its own.
    outputSchema: rowsSchema(sandbox ? { type: 'object' } : row),
    annotations: { title: definition.name, ...readOnly },
  }
}

function sandboxText(views: readonly SandboxView[]): string {
  const listed = views.map(
    ({ name, columns }) =>
      `- ${name}(${columns.map((column) => `${column.name} ${column.type}`).join(', ')})`,
  )
  return [
    'With sql, one SELECT in ClickHouse SQL over these views replaces the usual result. ' +
      'It can read nothing else, and it has no parameters: write values as literals.',
    ...(listed.length > 0 ? listed : ['Their names are in the error of a SELECT over any other name.']),
  ].join('\n')
}

/** How to get fewer rows from an endpoint, as a sentence. */
export function narrowing(endpoint: Endpoint, caller: Caller): string {
  const names = parameterSchemas(endpoint, caller.parameters).map(({ name }) => name)
  if (names.length === 0) return 'The endpoint has no parameters; use one that returns fewer or shorter rows.'
  return `Narrow the request with ${names.join(', ')}.`
}

const maxLength = 128

/**
 * The endpoints by the names of their tools, in order of the names. A tool has the name of its endpoint, with `_` in place of
 * other characters than letters, digits, `_` and `-`. If two have the same name, the older endpoint keeps it, so that a
 * tool does not change its meaning when an endpoint is created. The others get the beginning of their id as well.
 */
export function toolNames(
  endpoints: readonly SavedEndpoint[],
  addedNames: readonly string[] = [],
): Map<string, SavedEndpoint> {
  const named = new Map<string, SavedEndpoint>()
  const taken = new Set<string>([...builtInNames, ...addedNames])
  for (const endpoint of endpoints.toSorted(byAge)) {
    const { name, id } = endpoint.definition
    const plain = name.replace(/[^A-Za-z0-9_-]/g, '_')
    const isFree = !taken.has(plain)
    const [free = id] = isFree
      ? [plain]
      : [8, id.length].map((length) => withEnd(plain, id.slice(0, length))).filter((one) => !taken.has(one))
    taken.add(free)
    named.set(free, endpoint)
  }
  return new Map([...named].sort(([one], [other]) => (one < other ? -1 : 1)))
}

function withEnd(name: string, end: string): string {
  return `${name.slice(0, maxLength - end.length - 1)}_${end}`
}

function byAge(one: SavedEndpoint, other: SavedEndpoint): number {
  const age = ({ created_at, definition }: SavedEndpoint) => `${created_at} ${definition.id}`
  return age(one) < age(other) ? -1 : 1
}

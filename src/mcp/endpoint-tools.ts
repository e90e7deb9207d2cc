import { LRUCache } from 'lru-cache'
import type { Caller } from '../access/caller.ts'
import type { Endpoint } from '../endpoints/definition/endpoint.ts'
import type { SandboxView } from '../endpoints/definition/sandbox.ts'
import type { Endpoints, SavedEndpoint } from '../endpoints/manage/endpoints.ts'
import { limitsOf, parameterSchemas, rowSchema } from '../endpoints/schema/endpoint-schema.ts'
import { rowsSchema } from './row-result.ts'
import { readOnly, type ToolDefinition } from './tool.ts'
import { toolNames } from './tool-names.ts'

interface EndpointToolsOptions {
  endpoints: Endpoints
  /** The views that callers of a sandbox can read. */
  viewsOf: (endpoint: SavedEndpoint) => Promise<readonly SandboxView[]>
  /** Maximum number of callers whose tools are remembered. */
  maxCallers: number
}

/** The endpoints that a caller can call, as tools. */
export class EndpointTools {
  readonly #options: EndpointToolsOptions
  /** By tag of the caller. */
  readonly #named: LRUCache<string, ReadonlyMap<string, SavedEndpoint>>

  constructor(options: EndpointToolsOptions) {
    this.#options = options
    this.#named = new LRUCache({ max: options.maxCallers })
    options.endpoints.onChange(() => this.#named.clear())
  }

  /** By name of the tool, in order. */
  of(caller: Caller): ReadonlyMap<string, SavedEndpoint> {
    const known = this.#named.get(caller.tag)
    if (known) return known
    const callable = this.#options.endpoints.list().filter(({ definition }) => caller.mayCall(definition))
    const named = toolNames(callable)
    this.#named.set(caller.tag, named)
    return named
  }

  /** Only what authors wrote: nothing in it comes from entries. */
  async definition(name: string, endpoint: SavedEndpoint, caller: Caller): Promise<ToolDefinition> {
    const { definition } = endpoint
    const { sandbox } = definition
    const parameters = parameterSchemas(endpoint, caller.parameters)
    // Without an engine, the other tools are listed nevertheless.
    const views = sandbox ? await this.#options.viewsOf(endpoint).catch(() => []) : []
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

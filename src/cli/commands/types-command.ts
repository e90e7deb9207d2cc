import { resolve } from 'node:path'
import type { Command } from 'commander'
import { writeWhole } from '../../core/base/files/disk.ts'
import type { JsonSchema } from '../../core/base/validation.ts'
import { addServiceAction, addServiceOptions } from '../kit/command.ts'
import type { CommandIo } from '../kit/command-io.ts'

interface Operation {
  parameters?: readonly { name: string; in?: string; required?: boolean; schema?: JsonSchema }[]
}

interface ApiDocument {
  paths: Record<string, { get?: Operation }>
  components: { schemas: Record<string, JsonSchema> }
}

const defaultFile = 'wellhead-endpoints.d.ts'

export function defineTypes(command: Command, io: CommandIo): void {
  addServiceOptions(command)
    .argument('[file]', `where to write the declarations; - is standard output (default: ${defaultFile})`)
    .addHelpText(
      'after',
      '\nTypeScript then completes names, parameters and rows of @wellhead/client and @wellhead/client/react.\n',
    )
  addServiceAction(command, io, {
    examples: ['wellhead types', 'wellhead types src/wellhead-endpoints.d.ts'],
    request: async (client, file: string = defaultFile) => {
      const text = declarationsOf(await client.json<ApiDocument>('GET', '/openapi.json'))
      if (file !== '-') writeWhole(resolve(io.cwd, file), text)
      return { file, text, endpoints: text.split('\n').filter((line) => line.startsWith('    "')).length }
    },
    print: async ({ file, text, endpoints }) => {
      await io.stdout.write(file === '-' ? text : `${file}: ${endpoints} endpoints\n`)
    },
  })
}

/** Declares the endpoints that the token can call, from the document of the API. */
export function declarationsOf({ paths, components }: ApiDocument): string {
  const endpoints = Object.entries(components.schemas).flatMap(([component, row]) => {
    const name = component.replace(/^row\./, '')
    const operation = paths[`/api/endpoints/query/${name}`]?.get
    if (name === component || !operation) return []
    const own = (operation.parameters ?? []).filter((one) => one.in === 'query' && !one.name.startsWith('_'))
    const parameters = own.map((one) => {
      // A token with a project fills it in.
      const isOptional = !one.required || one.name === 'project'
      return `${JSON.stringify(one.name)}${isOptional ? '?' : ''}: ${typeOf(one.schema ?? {})}`
    })
    // An empty object type would take any parameter.
    const taken = parameters.length > 0 ? `{ ${parameters.join('; ')} }` : 'Record<string, never>'
    const fields = `parameters: ${taken}; row: ${typeOf(row)}`
    return [`    ${JSON.stringify(name)}: { ${fields} }`]
  })
  return [
    '// Written by `wellhead types`. A 64-bit integer is a number here; JSON has text for one above 2^53.',
    "import '@wellhead/client'",
    '',
    "declare module '@wellhead/client' {",
    '  interface Endpoints {',
    ...endpoints,
    '  }',
    '}',
    '',
  ].join('\n')
}

function typeOf(schema: JsonSchema): string {
  const { type, enum: allowed, anyOf, items, properties, required = [], additionalProperties } = schema
  if (Array.isArray(allowed)) return allowed.map((value) => JSON.stringify(value)).join(' | ')
  if (Array.isArray(anyOf)) return union(anyOf.map(typeOf))
  if (Array.isArray(type)) {
    // Counts and sums have 64 bits. They are numbers, since almost none exceeds what a number holds exactly.
    const types = schema.format === 'int64' ? type.filter((one) => one !== 'string') : type
    return union(types.map((one) => typeOf({ ...schema, type: one })))
  }
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'string':
    case 'boolean':
    case 'null':
      return type
    case 'array':
      return `(${items ? typeOf(items as JsonSchema) : 'unknown'})[]`
    case 'object': {
      const fields = Object.entries((properties ?? {}) as Record<string, JsonSchema>).map(
        ([name, field]) =>
          `${JSON.stringify(name)}${(required as string[]).includes(name) ? '' : '?'}: ${typeOf(field)}`,
      )
      if (fields.length > 0) return `{ ${fields.join('; ')} }`
      const isTyped = typeof additionalProperties === 'object' && additionalProperties !== null
      return `Record<string, ${isTyped ? typeOf(additionalProperties as JsonSchema) : 'unknown'}>`
    }
    default:
      return 'unknown'
  }
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

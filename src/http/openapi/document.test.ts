import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { definitionShape } from '../../endpoints/definition/definition.ts'
import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { bindQuery } from '../../endpoints/definition/parameters.ts'
import { fixedOperations, openApiDocument } from './document.ts'
import { schemas } from './schemas.ts'

const id = '11111111-2222-4333-8444-555555555555'

function endpointWith(fields: Record<string, unknown>, columns: Endpoint['columns'] = []): Endpoint {
  const definition = definitionShape.parse({ id, name: 'sample', query: 'SELECT 1', ...fields })
  return { definition, version: 3, compiled: bindQuery(definition.query, definition.parameters), columns }
}

interface Described {
  parameters: { name: string; required?: boolean; schema: object; example?: unknown }[]
  responses: Record<string, { content: Record<string, { schema: { properties: object } }> }>
}

function described(endpoint: Endpoint, fixed: Record<string, string> = {}): Described {
  const document = openApiDocument({ version: '1', endpoints: [endpoint], reader: { parameters: fixed } })
  return document.paths[`/api/endpoints/query/${endpoint.definition.name}`]?.get as Described
}

function ownParameters(endpoint: Endpoint, fixed?: Record<string, string>) {
  const all = described(endpoint, fixed).parameters as (Described['parameters'][0] & { in: string })[]
  return all.filter(({ name, in: place }) => place === 'query' && !name.startsWith('_'))
}

describe('openApiDocument', () => {
  test('is valid, without endpoints and with one that has everything', async () => {
    const parameters = Object.fromEntries(
      ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex'].map((type) => [`a_${type}`, { type }]),
    )
    const endpoint = endpointWith({ parameters, sandbox: true }, [
      { name: 'a', type: "Nullable(DateTime64(6, 'UTC'))" },
      { name: 'odd "name', type: 'Tuple(x Int8, `y z` Map(String, JSON))' },
      { name: 'e', type: "Enum8('' = 0, 'b' = 1)" },
    ])
    for (const endpoints of [[], [endpoint]]) {
      const document = openApiDocument({ version: '1', endpoints })
      const { valid, errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)))
      expect(errors).toBeUndefined()
      expect(valid).toBe(true)
    }
  })

  test('every reference leads somewhere', () => {
    const document = openApiDocument({ version: '1', endpoints: [endpointWith({})] })
    const references = new Set(
      JSON.stringify(document)
        .match(/#\/components\/[^"]+/g)
        ?.map((pointer) => pointer.split('/').slice(2)),
    )
    const missing = [...references].filter(([group = '', name = '']) => !document.components[group]?.[name])
    expect(missing).toEqual([])
  })

  test('no two operations share an id, nor a method and a path', () => {
    for (const key of ['id', 'address'] as const) {
      const keys = fixedOperations.map(({ id, method, path }) => ({ id, address: `${method} ${path}` })[key])
      expect(new Set(keys).size).toBe(keys.length)
    }
  })

  test('every field of every shape has a text, and none has a default that would make it seem to be there', () => {
    const fields = Object.entries(schemas).flatMap(([name, { properties }]) =>
      Object.entries(properties).map(([field, schema]) => ({ field: `${name}.${field}`, schema })),
    )
    expect(fields.filter(({ schema }) => !schema.description).map(({ field }) => field)).toEqual([])
    expect(fields.filter(({ schema }) => 'default' in schema)).toEqual([])
  })

  test('shapes are told as they are sent and as they are answered', () => {
    expect(schemas.EndpointFields.required).toEqual(['name', 'query'])
    expect(schemas.EndpointChange).not.toHaveProperty('required')
    expect(schemas.Endpoint.required).toEqual(expect.arrayContaining(['id', 'query', 'sandbox', 'version']))
    expect(schemas.Endpoint.properties.query).toMatchObject({ type: 'string' })
    expect(schemas.EndpointFields.properties.version).toMatchObject({ readOnly: true })
    expect(schemas.AccessTokenFields.required).toEqual(['scopes'])
    expect(schemas.AccessToken.properties).not.toHaveProperty('token')
    expect(schemas.NewAccessToken.required).toContain('token')
  })
})

describe('a saved endpoint', () => {
  test('has its parameters with their types, values and texts', () => {
    const parameters = {
      project: { required: true, description: 'Project.', example: 'demo' },
      interval: { enum: ['a', 'b'], default: 'a' },
      limit: { type: 'integer', default: 20, enum: [20, 50] },
      big: { type: 'integer', example: '9223372036854775807' },
      share: { type: 'number', example: '0.5' },
      on: { type: 'boolean', default: '1' },
      since: { type: 'timestamp' },
      like: { type: 'regex', description: 'Which.' },
    }
    expect(ownParameters(endpointWith({ query: 'SELECT @loose, @project', parameters }))).toEqual([
      {
        name: 'project',
        in: 'query',
        required: true,
        description: 'Project.',
        schema: { type: 'string' },
        example: 'demo',
      },
      {
        name: 'interval',
        in: 'query',
        description: '',
        schema: { type: 'string', enum: ['a', 'b'], default: 'a' },
      },
      {
        name: 'limit',
        in: 'query',
        description: '',
        schema: { type: 'integer', format: 'int64', enum: [20, 50], default: 20 },
      },
      {
        name: 'big',
        in: 'query',
        description: '',
        schema: { type: 'string', pattern: expect.any(String) },
        example: '9223372036854775807',
      },
      { name: 'share', in: 'query', description: '', schema: { type: 'number' }, example: 0.5 },
      { name: 'on', in: 'query', description: '', schema: { type: 'boolean', default: true } },
      { name: 'since', in: 'query', description: '', schema: { type: 'string', format: 'date-time' } },
      {
        name: 'like',
        in: 'query',
        description: 'Which. A regular expression of RE2.',
        schema: { type: 'string' },
      },
      { name: 'loose', in: 'query', description: '', schema: { type: 'string' } },
    ])
  })

  test('leaves out what the token fixes', () => {
    const endpoint = endpointWith({ query: 'SELECT @project, @tier, @q' })
    expect(ownParameters(endpoint, { project: 'demo', tier: 'PRO' }).map(({ name }) => name)).toEqual(['q'])
  })

  test('has a row with its columns, under a name that meets no other', () => {
    const endpoint = endpointWith({ name: 'Error', max_rows: 7 }, [{ name: 'count', type: 'UInt32' }])
    const { schemas: all } = openApiDocument({ version: '1', endpoints: [endpoint] }).components
    expect(all?.['row.Error']).toEqual({
      type: 'object',
      properties: { count: { type: 'integer' } },
      required: ['count'],
      additionalProperties: false,
    })
    const { content } = described(endpoint).responses[200] as Described['responses'][string]
    expect(content['application/json']?.schema.properties).toEqual({
      result: { type: 'array', items: { $ref: '#/components/schemas/row.Error' }, maxItems: 7 },
    })
    expect(Object.keys(content)).toEqual([
      'application/json',
      'application/x-ndjson',
      'text/csv',
      'application/vnd.apache.parquet',
      'application/vnd.apache.arrow.stream',
      'text/event-stream',
    ])
  })

  test('takes SQL in a sandbox, and then has other columns', () => {
    const endpoint = endpointWith({ sandbox: true })
    expect(ownParameters(endpoint).map(({ name }) => name)).toEqual(['sql'])
    expect(JSON.stringify(described(endpoint).responses[200])).toContain('"anyOf":[{"$ref"')
  })
})

test('docs/api.md lists every operation and who may ask for it, and nothing else', () => {
  const page = readFileSync(new URL('../../../docs/api.md', import.meta.url), 'utf8')
  const rows = page
    .split('\n')
    .filter((line) => /^\| `[A-Z]+ \//.test(line))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map(([, address, access]) => `${address} ${access}`)
  const operations = fixedOperations.map(({ method, path, access }) => {
    const named = { public: 'none', optional: 'optional', any: 'any' } as Record<string, string>
    return `\`${method.toUpperCase()} ${path}\` ${named[access] ?? `\`${access}\``}`
  })
  expect(rows).toEqual(operations)
})

import { readdirSync, readFileSync } from 'node:fs'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, test } from 'vitest'
import { describedServer } from '../../../described-server.ts'
import { definitionShape } from '../../endpoints/definition/definition.ts'
import type { Endpoint } from '../../endpoints/definition/endpoint.ts'
import { bindQuery } from '../../endpoints/definition/parameters.ts'
import { documentsOf } from './document.ts'

const server = await describedServer()
const routes = server.routeList
const openApiDocument = documentsOf(server)
const schemas = openApiDocument({ version: '1' }).components.schemas as Record<
  string,
  { properties: Record<string, object>; required?: string[] }
>

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

describe('the OpenAPI document', () => {
  test('describes parameters that have a default', () => {
    const { get } = openApiDocument({ version: '1' }).paths['/api/requests'] ?? {}
    expect(JSON.stringify(get)).toMatch(/"description":"How far back\..* Default: \\"1hr\\"\."/)
  })

  test('is valid, without endpoints and with one that has everything', async () => {
    const parameters = Object.fromEntries(
      ['string', 'integer', 'number', 'boolean', 'timestamp', 'regex'].map((type) => [`a_${type}`, { type }]),
    )
    const endpoint = endpointWith({ parameters, sandbox: true }, [
      { name: 'a', type: "Nullable(DateTime64(6, 'UTC'))" },
      { name: 'odd "name', type: 'Tuple(x Int8, `y z` Map(String, JSON))' },
      { name: 'e', type: "Enum8('' = 0, 'b' = 1)" },
    ])
    const config = await createConfig({ extends: ['recommended'] })
    for (const endpoints of [[], [endpoint]]) {
      const source = JSON.stringify(openApiDocument({ version: '1', endpoints }))
      const { valid, errors } = await new Validator().validate(JSON.parse(source))
      expect(errors).toBeUndefined()
      expect(valid).toBe(true)
      const problems = await lintFromString({ source, absoluteRef: 'openapi.json', config })
      const found = problems.map(({ ruleId, message, location }) =>
        [ruleId, message, location[0]?.pointer].join(' '),
      )
      // In these paths, the literal segment wins, as OpenAPI says; an endpoint named `query` is managed by its id.
      const known = /^no-ambiguous-paths .*: `\/api\/endpoints\/query\/\{reference\}` and `/
      expect(found.filter((problem) => !known.test(problem))).toEqual([])
    }
  })

  test('describes the part of the API that each operation belongs to', () => {
    const { paths, tags } = openApiDocument({ version: '1', endpoints: [endpointWith({})] })
    const operations = Object.values(paths).flatMap((path) => Object.values(path ?? {})) as {
      tags: string[]
    }[]
    const described = tags.map(({ name }) => name as string)
    expect(
      operations.flatMap((operation) => operation.tags).filter((tag) => !described.includes(tag)),
    ).toEqual([])
    expect(operations.length).toBeGreaterThan(100)
  })

  test('has no dangling references', () => {
    const document = openApiDocument({ version: '1', endpoints: [endpointWith({})] })
    const references = new Set(
      JSON.stringify(document)
        .match(/#\/components\/[^"]+/g)
        ?.map((pointer) => pointer.split('/').slice(2)),
    )
    const missing = [...references].filter(([group = '', name = '']) => !document.components[group]?.[name])
    expect(missing).toEqual([])
  })

  test('describes every route, with a unique operation id', () => {
    const ids = routes.map(({ operation }) => operation?.id)
    expect(ids).not.toContain(undefined)
    expect(new Set(ids).size).toBe(routes.length)
  })

  test('describes every field of every shape, and moves defaults into the descriptions', () => {
    const fields = Object.entries(schemas)
      .filter(([name]) => name !== 'Error')
      .flatMap(([name, { properties }]) =>
        Object.entries(properties).map(([field, schema]) => ({ field: `${name}.${field}`, schema })),
      )
    expect(fields.filter(({ schema }) => !('description' in schema)).map(({ field }) => field)).toEqual([])
    expect(fields.filter(({ schema }) => 'default' in schema)).toEqual([])
    expect(schemas.EndpointFields?.properties.max_rows).toMatchObject({
      description: expect.stringContaining('Default: 1000.'),
    })
    expect(JSON.stringify(schemas.EndpointChange?.properties.max_rows)).not.toContain('Default')
  })

  test('tells fields that are sent from fields that are returned', () => {
    const { Endpoint, EndpointFields, EndpointChange, AccessToken, AccessTokenFields, NewAccessToken } =
      schemas
    expect(EndpointFields?.required).toEqual(['name', 'query'])
    expect(EndpointChange).not.toHaveProperty('required')
    expect(Endpoint?.required).toEqual(expect.arrayContaining(['id', 'query', 'sandbox', 'version']))
    expect(Endpoint?.properties.query).toMatchObject({ type: 'string' })
    expect(EndpointFields?.properties.version).toMatchObject({ readOnly: true })
    expect(AccessTokenFields?.required).toEqual(['scopes'])
    expect(AccessToken?.properties).not.toHaveProperty('token')
    expect(NewAccessToken?.required).toContain('token')
  })
})

describe('a saved endpoint', () => {
  test('has its parameters with their types, values and descriptions', () => {
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
        description: 'Which. An RE2 regular expression.',
        schema: { type: 'string' },
      },
      { name: 'loose', in: 'query', description: '', schema: { type: 'string' } },
    ])
  })

  test('leaves out parameters that the token fixes', () => {
    const endpoint = endpointWith({ query: 'SELECT @project, @tier, @q' })
    expect(ownParameters(endpoint, { project: 'demo', tier: 'PRO' }).map(({ name }) => name)).toEqual(['q'])
  })

  test('has a row with its columns, under a name of its own', () => {
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

  test('takes SQL in a sandbox, whose columns are unknown', () => {
    const endpoint = endpointWith({ sandbox: true })
    expect(ownParameters(endpoint).map(({ name }) => name)).toEqual(['sql'])
    expect(JSON.stringify(described(endpoint).responses[200])).toContain('"anyOf":[{"$ref"')
  })
})

test('docs/reference/api.md lists every operation with its access and summary', () => {
  const page = readFileSync(new URL('../../../../docs/reference/api.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^- (`[A-Z]+ \/[^`]*`), ([^:]+): (.+)$/gm)].map((match) => match.slice(1))
  // What all kinds have in common is a line of a table for each kind.
  const kinds = page.matchAll(
    /^\| `(\w+)` +\| ([^|;]+?)(?:; versions: ([^|]+?))? +\| ([^|]+?) +\| ([^|]+?) +\|$/gm,
  )
  for (const [, kind, read, versions = read, change, remove] of kinds) {
    const [all, one] = [`/api/${kind}`, `/api/${kind}/{reference}`]
    for (const path of [`GET ${all}`, `GET ${one}`]) rows.push([`\`${path}\``, `${read}`])
    for (const path of [
      `POST ${all}`,
      `PUT ${one}`,
      `PATCH ${one}`,
      `POST ${one}/versions/{version}/restore`,
    ])
      rows.push([`\`${path}\``, `${change}`])
    rows.push([`\`GET ${one}/versions\``, `${versions}`], [`\`DELETE ${one}\``, `${remove}`])
  }
  const inTable = new Set(rows.filter((row) => row.length === 2).map(([path]) => path))
  expect(inTable.size).toBe(6 * 8)
  const named: Record<string, string> = {
    ...{ public: 'none', optional: 'optional', any: 'any' },
    'query or search': '`query` or `search`',
    call: '`query` or `dashboard`',
  }
  const operations = routes.map(({ method, path, access, operation }) => {
    const request = `\`${method} ${path.replace(/:(\w+)/g, '{$1}')}\``
    const listed = [request, named[access] ?? `\`${access}\``]
    return inTable.has(request) ? listed : [...listed, operation?.summary]
  })
  expect(rows.toSorted()).toEqual(operations.toSorted())
})

const docs = new URL('../../../../docs/', import.meta.url)

test('pages name the scope that a request requires, written as `POST /api/sql` (scope `read`)', () => {
  const named = readdirSync(docs, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) => [
      ...readFileSync(new URL(file, docs), 'utf8').matchAll(/`([A-Z]+ \/\S+)` \(scope `(\w+)`\)/g),
    ])
    .map(([, request, scope]) => ({ request, scope }))
  expect(named.length).toBeGreaterThan(3)
  expect(named).toEqual(
    named.map(({ request }) => ({
      request,
      scope: routes.find(({ method, path }) => `${method} ${path}` === request)?.access,
    })),
  )
})

test('docs/guides/endpoints.md lists the kinds that a deployment takes', () => {
  const page = readFileSync(new URL('guides/endpoints.md', docs), 'utf8')
  const [, sentence = ''] = /all kinds atomically: ([^.]+)\./.exec(page) ?? []
  const { dry_run: _, ...kinds } = schemas.DeploymentResponse?.properties ?? {}
  expect([...sentence.matchAll(/`(\w+)`/g)].map(([, kind]) => kind).toSorted()).toEqual(
    Object.keys(kinds).toSorted(),
  )
})

test('docs/guides/access.md names everything that needs no token', () => {
  const page = readFileSync(new URL('guides/access.md', docs), 'utf8')
  const [, sentence = ''] = /needs a token, except([\s\S]+?)which contain no data/.exec(page) ?? []
  const named = [...sentence.matchAll(/`(?:GET )?(\/[^`…]*)(…?)`/g)]
  const isMeant = (path: string, [, start = '', more]: RegExpExecArray) =>
    more ? `${path}/`.startsWith(start) : path === start
  const open = routes
    .filter(({ access }) => access === 'public' || access === 'optional')
    .map(({ path }) => path)
  expect(open.filter((path) => !named.some((one) => isMeant(path, one)))).toEqual([])
  expect(named.filter((one) => !open.some((path) => isMeant(path, one)))).toEqual([])
})

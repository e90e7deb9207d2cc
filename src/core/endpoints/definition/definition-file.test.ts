import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { builtInSources } from '../../../built-in-sources.ts'
import { chartTypes, definitionShape, type EndpointDefinition } from './definition.ts'
import { describeProblem, formatDefinition, readDefinition } from './definition-file.ts'
import { parameterShape, parameterTypeNames, typeOf } from './parameter-declaration.ts'

const id = '5f0b7a11-4f0e-4c39-9d0e-6f1c3f0b7a11'

function read(content: string, file = 'endpoints/usage.sql'): EndpointDefinition {
  const reading = readDefinition(file, content)
  if ('problems' in reading) throw new Error(reading.problems.map(describeProblem).join('\n'))
  return reading.definition
}

function problems(content: string, file = 'usage.sql'): string[] {
  const reading = readDefinition(file, content)
  return 'problems' in reading ? reading.problems.map(describeProblem) : []
}

describe('reading a file', () => {
  test('returns every setting', () => {
    const content = `/*
id: 5F0B7A11-4F0E-4C39-9D0E-6F1C3F0B7A11
description: Requests of a project by API area.
parameters:
  project:  { required: true, type: regex, description: "A regular expression: matched against the URL." }
  interval: { required: true, enum: [minutely, hourly, daily], example: daily }
  limit:    { type: integer, default: 10, empty_is_omitted: true }
max_rows: 500
cache: 15m
warm: 300s
timeout: 1h
json: [details]
sandbox: true
strict: true
chart: { type: stacked, x: timestamp, series: status }
timestamps: logflare
published: true
*/
-- Counts.
SELECT @project, @interval, @limit;
`
    expect(read(content)).toEqual({
      id,
      name: 'usage',
      description: 'Requests of a project by API area.',
      query: '-- Counts.\nSELECT @project, @interval, @limit',
      parameters: {
        project: {
          ...{ type: 'regex', required: true, empty_is_omitted: false },
          description: 'A regular expression: matched against the URL.',
        },
        interval: {
          ...{ type: 'string', required: true, empty_is_omitted: false, description: '' },
          ...{ enum: ['minutely', 'hourly', 'daily'], example: 'daily' },
        },
        limit: { type: 'integer', required: false, empty_is_omitted: true, description: '', default: '10' },
      },
      max_rows: 500,
      cache_seconds: 900,
      warm_seconds: 300,
      timeout_seconds: 3600,
      json: ['details'],
      sandbox: true,
      strict: true,
      chart: { type: 'stacked', x: 'timestamp', y: [], series: 'status' },
      timestamps: 'logflare',
      published: true,
    })
  })

  test('takes types of numbers and booleans from the SQL, declared or not, unless the file has them', () => {
    const header = `/*\nid: ${id}\nparameters: { hours: { example: 24 }, n: { type: string }, since: {} }\n*/\n`
    const sql =
      'SELECT 1 WHERE timestamp > @now - toIntervalHour(@hours) AND a = toInt32(@n) AND metadata.ok::Bool = @ok ' +
      'AND timestamp > @since LIMIT @n OFFSET @skip'
    const { parameters } = read(header + sql)
    const types = Object.entries(parameters).map(([name, { type, required }]) => [name, type, required])
    expect(types).toEqual([
      ['hours', 'integer', false],
      ['n', 'string', false],
      ['since', 'string', false],
      ['ok', 'boolean', false],
      ['skip', 'integer', false],
    ])
    const written = formatDefinition(read(header + sql))
    expect(read(written).parameters).toEqual(parameters)
  })

  test('refuses an example that does not fit the type that the SQL tells, at its line', () => {
    const content = `/*\nid: ${id}\nparameters:\n  hours: { example: soon }\n*/\nSELECT 1 LIMIT @hours`
    expect(problems(content)).toEqual([
      'usage.sql:4: parameters.hours.example must be a whole number of at most 64 bits.',
    ])
  })

  test('names the endpoint after the file', () => {
    const content = `/* id: ${id} */ SELECT 1`
    expect(read(content, '/some/where/logs.all.sql').name).toBe('logs.all')
    expect(problems(content, 'all logs.sql')).toEqual([
      expect.stringMatching(/^all logs\.sql:1: name must start/),
    ])
  })

  test('reads none as no cache and no warming', () => {
    expect(read(`/*\nid: ${id}\ncache: none\nwarm: none\n*/ SELECT 1`)).toEqual(
      read(`/* id: ${id} */ SELECT 1`),
    )
  })

  test('reads only the first comment as header; comments in it nest as in SQL', () => {
    expect(read(`/*\nid: ${id}\n# /* inner */\n*/ /* kept */ SELECT 1`).query).toBe('/* kept */ SELECT 1')
  })

  test('accepts a byte order mark and Windows line endings', () => {
    const content = `\ufeff/*\r\nid: ${id}\r\nmax_rows: 5\r\n*/\r\nSELECT 1,\r\n2\r\n`
    expect(read(content)).toMatchObject({ max_rows: 5, query: 'SELECT 1,\n2' })
  })
})

describe('a problem is reported with file, line and field', () => {
  test('together with all others, ordered by line', () => {
    const content = `
/*
id: 123
descripton: Misspelt.
parameters:
  project: { required: yes }
  interval:
    enum:
      - daily
      - daily
    default: hourly
max_rows: 20000
cache: 900
warm: 300s
*/

`
    expect(problems(content)).toEqual([
      'usage.sql:3: id must be a UUID.',
      'usage.sql:4: Unknown field "descripton". Did you mean description?',
      'usage.sql:6: parameters.project.required must be true or false.',
      'usage.sql:10: parameters.interval.enum.1 is a duplicate.',
      'usage.sql:11: parameters.interval.default must be one of daily, daily.',
      'usage.sql:12: max_rows must be a whole number from 1 to 10000.',
      'usage.sql:13: cache must be a duration such as 900s, 15m or 1h.',
      'usage.sql:15: query is missing.',
    ])
  })

  test('with the name that a misspelt field most likely means in a file', () => {
    const content = `/*
id: ${randomUUID()}
cach: 15m
tiemout: 5s
colour: red
parameters: { since: { requird: true } }
*/
SELECT 1`
    expect(problems(content)).toEqual([
      'usage.sql:3: Unknown field "cach". Did you mean cache?',
      'usage.sql:4: Unknown field "tiemout". Did you mean timeout?',
      'usage.sql:5: Unknown field "colour".',
      'usage.sql:6: Unknown field "parameters.since.requird". Did you mean required?',
    ])
  })

  test('a missing field, at the header', () => {
    expect(problems('\n/*\nmax_rows: 5\n*/\nSELECT 1')).toEqual([
      'usage.sql:2: id is missing. Run wellhead check --fix to write one.',
    ])
    expect(problems('/* */ SELECT 1')).toEqual([
      'usage.sql:1: header must be a list of fields, such as "max_rows: 1000".',
    ])
  })

  test.each(['', 'SELECT 1', '-- id: 1\nSELECT 1', 'SELECT 1 /* id: 1 */'])('%j has no header', (content) => {
    expect(problems(content)).toEqual([
      'usage.sql:1: The header is missing. Run wellhead check --fix to write one, or start the file with a comment /* … */ that contains the settings.',
    ])
  })

  test('a header that is not closed has no end', () => {
    expect(problems('\n/* id: 1\nSELECT 1')).toEqual([
      'usage.sql:1: The header has no end. Close the comment with */ before the SQL.',
    ])
  })

  test.each([
    ['a: [1, 2', 4],
    ['a: b: c', 3],
    [`id: ${id}`, 3],
    ['a: *unknown', 1],
    ['a: !what b', 3],
  ])('%j is not YAML', (line, at) => {
    expect(problems(`/*\nid: ${id}\n${line}\n*/ SELECT 1`)[0]).toMatch(
      new RegExp(`^usage\\.sql:${at}: header cannot be read as YAML: `),
    )
  })

  test('an alias that expands without end is refused', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    for (let i = 1; i < 9; i++) {
      const aliases = Array(10).fill(`*a${i - 1}`)
      lines.push(`a${i}: &a${i} [${aliases.join(', ')}]`)
    }
    expect(problems(`/*\n${lines.join('\n')}\n*/ SELECT 1`)).toEqual([
      expect.stringMatching(/header cannot be read as YAML: .*alias/i),
    ])
  })

  test.each([
    // Fields that the file itself sets, or that have another form there.
    ['name: other', 'name is not allowed in a file.'],
    ['query: SELECT 2', 'query is not allowed in a file.'],
    ['cache_seconds: 5', 'cache_seconds is not allowed in a file.'],
    // A number that YAML would change.
    [
      'parameters: { v: { enum: ["1.10", 1.10] } }',
      'parameters.v.enum would be read as 1.1: put 1.10 in quotes.',
    ],
    ...['900', '900 s', '-5s', '1.5h', '1y', '5S', '', 'true', '[5s]'].map((cache) => {
      return [`cache: ${cache}`, 'cache must be a duration such as 900s, 15m or 1h.']
    }),
    ['timeout: 0s', 'timeout must be a whole number of seconds from 1 to 3600.'],
    ['warm: 5s', 'warm requires caching.'],
  ])('%s', (line, problem) => {
    expect(problems(`/*\nid: ${id}\n${line}\n*/ SELECT 1`)).toEqual([`usage.sql:3: ${problem}`])
  })
})

describe('a definition', () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.constantFrom('*/', '/*', ': ', ...'/*"\'\\\n #-{@a\0')).map((pieces) => pieces.join('')),
  )
  const written = [
    '1',
    '-5',
    '0',
    'true',
    'false',
    '1e3',
    '.5',
    '2026-01-31T12:00:00Z',
    '2026-01-31 12:00',
    '2026-01-31',
    '["a","]"]',
    '[]',
  ]
  const value = (type: (typeof parameterTypeNames)[number]) => {
    const { engineType, read } = typeOf({ type })
    const readable = fc.constantFrom(...written.filter((text) => read(text) !== undefined))
    return engineType === 'String' ? fc.oneof(anyText, readable) : readable
  }
  const parameter = fc.constantFrom(...parameterTypeNames).chain((type) =>
    fc
      .record(
        {
          type: fc.constant(type),
          required: fc.boolean(),
          default: value(type),
          enum: fc.uniqueArray(value(type), { minLength: 1, maxLength: 3 }),
          empty_is_omitted: fc.boolean(),
          description: anyText,
          example: value(type),
        },
        { requiredKeys: [] },
      )
      // Otherwise most declarations would contradict themselves.
      .map(({ required, ...rest }) => ({
        ...rest,
        ...(rest.enum && { default: rest.enum[0], example: rest.enum.at(-1) }),
        ...(rest.enum === undefined && rest.default === undefined && { required: required ?? false }),
      })),
  )
  const name = fc.constantFrom('a', 'project', 'constructor', 'toString', 'on', 'null', 'Y')
  const day = 86_400
  const upTo = (max: number, min = 1) => fc.integer({ min, max })
  const definition = fc
    .record({
      id: fc.uuid(),
      name: fc.constantFrom('a', 'logs.all', 'wellhead.x-1'),
      description: anyText,
      query: fc.oneof(anyText, fc.constant('/* not a header */ SELECT 1;')),
      parameters: fc.dictionary(name, parameter),
      max_rows: upTo(10_000),
      cache_seconds: fc.option(upTo(day, 900)),
      warm_seconds: fc.option(upTo(1800)),
      timeout_seconds: upTo(3600),
      sandbox: fc.boolean(),
      strict: fc.boolean(),
      chart: fc.option(
        fc.record({
          type: fc.constantFrom(...chartTypes),
          x: fc.option(anyText),
          y: fc.array(anyText, { maxLength: 20 }),
          series: fc.option(anyText),
        }),
      ),
      timestamps: fc.constantFrom('iso', 'logflare'),
      published: fc.boolean(),
    })
    .map((fields) => definitionShape.safeParse(fields))
    .filter((parsed) => parsed.success)
    .map((parsed) => parsed.data as EndpointDefinition)

  test('that is written to a file reads back the same', () => {
    fc.assert(
      fc.property(definition, (original) => {
        expect(read(formatDefinition(original), `${original.name}.sql`)).toEqual(original)
      }),
      { numRuns: 100 },
    )
  })

  test('is written as people write it', () => {
    const content = `/*
id: ${id}
description: "Any text, even */ and /*."
parameters:
  project:
    type: regex
    required: true
    description: "Matched against the URL: all of it."
  interval:
    default: daily
    enum:
      - hourly
      - daily
max_rows: 1000
cache: 15m
warm: 5m
timeout: 30s
*/
SELECT @project
`.replace('*/ and /*', '*\\/ and /\\x2a')
    expect(formatDefinition(read(content, 'a.sql'))).toBe(content)
  })
})

describe('the shipped files', () => {
  const folder = new URL('../../../../shipped/endpoints/', import.meta.url)
  const files = readdirSync(folder)
  const definitions = files.map((file) => read(readFileSync(new URL(file, folder), 'utf8'), file))

  test('have the documented configuration', () => {
    const common = {
      max_rows: 1000,
      cache_seconds: null,
      warm_seconds: null,
      timeout_seconds: 30,
      sandbox: false,
      timestamps: 'logflare',
      published: true,
    }
    const statistics = { ...common, cache_seconds: 10, published: false }
    expect(definitions).toMatchObject([
      { ...common, name: 'functions.invocation-stats', cache_seconds: 900, warm_seconds: 300 },
      { ...common, name: 'logs.all' },
      { ...common, name: 'usage.api-counts', cache_seconds: 900, warm_seconds: 300 },
      { ...statistics, name: 'wellhead.endpoint-stats', max_rows: 10_000 },
      { ...statistics, name: 'wellhead.top-callers' },
    ])
  })

  test('are counted in the docs, and docs/guides/access.md names those that are published', () => {
    const pageOf = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8')
    const words: Record<number, string> = { 5: 'Five', 14: 'fourteen' }
    const readme = pageOf('README.md').replace(/\s+/g, ' ')
    expect(readme).toContain(`${words[definitions.length]} saved queries exist from the first start`)
    expect(readme).toContain(`So do ${words[builtInSources.length]} sources`)
    const counts = (noun: string) =>
      ['endpoints', 'workspaces', 'from-logflare', 'sending-logs'].flatMap((page) =>
        [
          ...pageOf(`docs/guides/${page}.md`).matchAll(new RegExp(`(\\w+) (?:built-in )?${noun} exist`, 'g')),
        ].map(([, counted]) => counted),
      )
    expect(counts('endpoints')).toEqual([words[definitions.length]])
    expect(counts('sources')).toEqual(['Fourteen'])
    for (const page of ['workspaces', 'from-logflare']) {
      expect(pageOf(`docs/guides/${page}.md`)).toContain(`${words[builtInSources.length]} built-in sources](`)
    }
    // It is the page of the published package.
    expect(readme).not.toMatch(/npm ci|npm start/)
    const [, named = ''] =
      /Of the endpoints of the first start,([\s\S]+?)are published/.exec(pageOf('docs/guides/access.md')) ??
      []
    const published = definitions.filter((definition) => definition.published).map(({ name }) => name)
    expect([...named.matchAll(/`([^`]+)`/g)].map(([, name]) => name)).toEqual(published)
  })

  test('leave out the oldest statistics if there are too many rows', () => {
    const [stats] = definitions.filter(({ name }) => name === 'wellhead.endpoint-stats')
    expect(stats?.query).toMatch(/ORDER BY timestamp DESC, endpoint\s*$/)
  })

  test('have unique ids', () => {
    expect(new Set(definitions.map((definition) => definition.id)).size).toBe(files.length)
  })

  test('read back the same after they are written', () => {
    for (const original of definitions) {
      expect(read(formatDefinition(original), `${original.name}.sql`)).toEqual(original)
    }
  })
})

describe('docs/guides/endpoints.md', () => {
  const page = readFileSync(new URL('../../../../docs/guides/endpoints.md', import.meta.url), 'utf8')
  const sectionOf = (heading: string) => page.split(/^## /m).find((text) => text.startsWith(heading)) ?? ''
  /** Names and defaults in the list of a section. */
  const listed = (heading: string) =>
    [...sectionOf(heading).matchAll(/^- `(\w+)`(?: \(`?(.+?)`?\))?: /gm)].map(([, name, preset = '']) => [
      name,
      preset,
    ])

  test('lists every setting of a file with its default', () => {
    const { name: _name, query: _query, ...defaults } = read(`/* id: ${id} */ SELECT 1`)
    const shown: Record<string, string> = {
      ...{
        id: '',
        description: 'empty',
        parameters: 'none',
        json: 'none',
        chart: 'none',
      },
    }
    const inFiles = Object.entries(defaults).map(([field, value]) =>
      field.endsWith('_seconds')
        ? [field.replace('_seconds', ''), value === null ? 'none' : `${value}s`]
        : [field, shown[field] ?? String(value)],
    )
    expect(listed('Settings')).toEqual(inFiles)
  })

  test('lists every field of a parameter and every type', () => {
    expect(listed('Parameters').map(([name]) => name)).toEqual(Object.keys(parameterShape.shape))
    const types = [...sectionOf('Parameters').matchAll(/^\| `(\w+)` .+\| `(.+)` +\|$/gm)]
    expect(types.map(([, name, engineType]) => [name, engineType])).toEqual(
      parameterTypeNames.map((type) => [type, typeOf({ type }).engineType]),
    )
  })

  test('has an example that can be read', () => {
    const example = /```sql\n([\s\S]+?)```/.exec(page)?.[1] ?? ''
    expect(read(example).parameters).toMatchObject({ limit: { type: 'integer', default: '20' } })
  })
})

import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { builtInSources } from '../../../src/built-in-sources.ts'
import {
  definitionShape,
  type EndpointDefinition,
} from '../../../src/core/endpoints/definition/definition.ts'
import { readDefinition, readDefinitions } from '../../../src/core/endpoints/definition/definition-file.ts'
import { endpointWarnings } from '../../../src/core/endpoints/manage/endpoint-warnings.ts'
import { documentsOf } from '../../../src/core/http/openapi/document.ts'
import { codeTokens } from '../../../src/core/sql/tokens.ts'
import { manyEntries } from '../../../src/core/sql/warnings/path-warnings.ts'
import { warningCodes } from '../../../src/core/sql/warnings/warning.ts'
import { describedServer } from '../../../src/described-server.ts'
import { newWorkspaceFiles, templates } from '../../../src/workspace/authoring/new-workspace.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const id = '11111111-2222-4333-8444-555555555555'

const columns = new Map(builtInSources.map(({ name, columns }) => [name, columns]))
// Sources that guides create are unknown here, and their paths are not checked.
const known = {
  has: (name: string) => columns.has(name),
  keys: () => columns.keys(),
  typedColumns: (name: string) => columns.get(name),
}
const warningsOf = endpointWarnings(() => known)

interface Statement {
  /** Where it is written. */
  at: string
  definition: EndpointDefinition
}

/** A definition file, or only SQL: then every parameter counts as declared. */
function read(at: string, text: string): Statement {
  if (text.startsWith('/*')) {
    const reading = readDefinition('documented.sql', text.replace('id: …', `id: ${id}`))
    if ('problems' in reading) throw new Error(`${at}: ${reading.problems[0]?.message}`)
    return { at, definition: reading.definition }
  }
  const used = codeTokens(text).flatMap(({ kind, text }) => (kind === 'parameter' ? text.slice(1) : []))
  const parameters = Object.fromEntries(used.filter((name) => name !== 'now').map((name) => [name, {}]))
  return { at, definition: definitionShape.parse({ id, name: 'documented', query: text, parameters }) }
}

/** Endpoints anywhere in a JSON value. */
function endpointsIn(at: string, value: unknown): Statement[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.values(value).flatMap((one) => endpointsIn(at, one))
  if (!('query' in value) || typeof value.query !== 'string' || !isSql(value.query)) return inner
  // A change of an endpoint keeps its parameters, and SQL without an endpoint has values in place of declarations.
  const fields = 'parameters' in value ? { query: value.query, parameters: value.parameters } : undefined
  const definition = definitionShape.safeParse({ id, name: 'documented', ...fields })
  return [...inner, definition.success ? { at, definition: definition.data } : read(at, value.query)]
}

const isSql = (text: string) => /^(?:\/\*|WITH\b|SELECT\b)/i.test(text.trim()) && /\bFROM\s+\w/i.test(text)

interface Block {
  at: string
  info: string
  text: string
}

function blocksOf(page: string): Block[] {
  const blocks = [...readFileSync(root + page, 'utf8').matchAll(/^```(\S.*)\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, info = '', text = ''], index) => ({ at: `${page}, block ${index + 1}`, info, text }))
}

const isWrong = ({ info }: Block) => /^sql\b.*\bwrong\b/.test(info)

function statementsOf(page: string): Statement[] {
  const content = readFileSync(root + page, 'utf8')
  const fenced = blocksOf(page).flatMap((block): Statement[] => {
    if (/^sql\b/.test(block.info)) return isWrong(block) ? [] : [read(block.at, block.text)]
    const sent = [...block.text.matchAll(/<<'END'\n((?:> .*\n)+)> END$/gm)]
    const files = sent.map(([, text = '']) => text.replace(/^> /gm, ''))
    return files.filter(isSql).map((text) => read(block.at, text))
  })
  const bodies = [...content.matchAll(/-d '(\{[^']*\})'/g)].flatMap(([, body = '']) => {
    return endpointsIn(page, parsed(body))
  })
  const indented = [...content.matchAll(/(?:^|\n\n)((?: {4}.*\n)+)/g)]
    .map(([, text = '']) => text.replace(/^ {4}/gm, ''))
    .filter(isSql)
  return [
    ...fenced,
    ...bodies,
    ...indented.filter((text) => !text.includes('<')).map((text) => read(page, text)),
  ]
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const pages = [
  'README.md',
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
].sort()

async function warningsIn(statements: readonly Statement[]): Promise<string[]> {
  const found = await Promise.all(
    statements.map(async ({ at, definition }) =>
      (await warningsOf(definition, definition.query)).map(
        ({ code, message }) => `${at}: ${code}: ${message}`,
      ),
    ),
  )
  return found.flat()
}

describe('SQL without any warning', () => {
  test('in shipped endpoints', async () => {
    const shipped = readDefinitions(`${root}shipped/endpoints`)
    expect(shipped.length).toBeGreaterThan(3)
    expect(await warningsIn(shipped.map((definition) => ({ at: definition.name, definition })))).toEqual([])
  })

  test('in the files of a new workspace', async () => {
    const all = templates.flatMap((template) => Object.entries(newWorkspaceFiles(template, () => id)))
    const files = all.filter(([file, text]) => file.endsWith('.sql') && !text.includes('nginx_logs'))
    expect(files).toHaveLength(5)
    expect(await warningsIn(files.map(([file, text]) => read(file, text)))).toEqual([])
  })

  test('in the examples of the API', async () => {
    const statements = endpointsIn('openapi.json', documentsOf(await describedServer())({ version: '1' }))
    expect(statements.length).toBeGreaterThan(3)
    expect(await warningsIn(statements)).toEqual([])
  })

  test('in all pages', async () => {
    const statements = pages.flatMap(statementsOf)
    expect(new Set(statements.map(({ at }) => at.split(',')[0])).size).toBeGreaterThan(5)
    expect(await warningsIn(statements)).toEqual([])
  })
})

describe('docs/reference/warnings.md', () => {
  const page = 'docs/reference/warnings.md'
  const sections = readFileSync(root + page, 'utf8')
    .split(/^## /m)
    .slice(1)

  test('has a section for each code, in the same order', () => {
    expect(sections.map((section) => section.split('\n')[0])).toEqual([...warningCodes])
  })

  test.each(warningCodes)('shows a mistake that causes %s, and its correction', async (code) => {
    const section = sections.find((text) => text.startsWith(`${code}\n`)) ?? ''
    const blocks = [...section.matchAll(/^```sql( wrong)?\n([\s\S]*?)^```$/gm)]
    const paths = ['duration_ms', 'response.status_code', 'cache.status']
    const sampled = {
      sample: async () => ({
        entries: code === 'slow_path' ? manyEntries : 10,
        paths: new Map(paths.map((path) => [path, ['String']])),
      }),
      present: async (_: string, searched: readonly unknown[]) => searched.map(() => false),
    }
    const codesOf = async (text: string) => {
      const { definition } = read(page, text)
      const found = await endpointWarnings(() => known, sampled)(definition, definition.query)
      return [...new Set(found.map((warning) => warning.code))].filter((other) =>
        // The misspelled parameter leaves the right one unused.
        code === 'undeclared_parameter' ? other !== 'unused_parameter' : true,
      )
    }
    const wrong = blocks.filter(([, mark]) => mark)
    const right = blocks.filter(([, mark]) => !mark)
    expect([wrong.length, right.length]).toEqual([1, 1])
    expect(await codesOf(wrong[0]?.[2] ?? '')).toEqual([code])
    expect(await codesOf(right[0]?.[2] ?? '')).toEqual([])
  })
})

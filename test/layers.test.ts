import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { consolePages } from '../src/shared/console-pages.ts'

/** A page of the console does not import another one. */
const pages =
  'alerts audit dashboards embed endpoints help logs people plans reference sources tables tokens'.split(' ')

/** Rooms of the console that belong to core or to the console itself. Others have the name of their feature. */
const ownRooms =
  'api app charts definitions embed endpoints help main navigation query reference schema shell sign-in tokens ui'.split(
    ' ',
  )

/** Rooms from the top to the bottom. A room imports those below it, never those above or beside it. */
const rooms = {
  src: [
    ['main'],
    ['cli'],
    ['workspace', 'described-server'],
    ['app'],
    ['built-in-sources', 'kinds', 'own-tables', 'settings-table'],
    ['features'],
    ['feature'],
    ['cli/kit'],
    ['core'],
    ['shared'],
  ],
  'src/core': [
    ['hooks'],
    ['http'],
    ['access', 'endpoints', 'intake'],
    ['definitions', 'search'],
    ['cache', 'catalog'],
    ['engine'],
    ['sql'],
    ['base'],
  ],
  'console/src': [
    ['main'],
    ['app'],
    ['shell', 'sign-in'],
    ['navigation'],
    pages,
    ['definitions', 'erasure', 'live', 'replay', 'statistics', 'supabase'],
    ['schema'],
    ['query'],
    ['charts'],
    ['ui'],
    ['api'],
  ],
  client: [['react'], ['client', 'pino']],
}

/** What a room leaves to those between them. */
const leaves: [from: string, to: RegExp, why: string][] = [
  ['src/core/http/', /^src\/core\/(?:cache|engine)\//, 'A route knows neither the cache nor the engine.'],
  [
    'src/core/engine/embedded/host.ts',
    /^src\/core\/engine\/[^/]*$/,
    'The engine process knows nothing of the service.',
  ],
  [
    'src/core/engine/embedded/durability/',
    /^src\/core\/engine\/[^/]*$/,
    'The engine process knows nothing of the service.',
  ],
  ['console/src/', /^src\/(?!shared\/)/, 'The console knows the service by its interface alone.'],
  ['client/', /^src\/(?!shared\/)/, 'Applications get no part of the service.'],
]

/** Imports up, each with a reason. */
const upward: Record<string, string> = {}

const roomOf = (path: string, root: string) =>
  path.startsWith('src/cli/kit/') ? 'cli/kit' : (path.slice(root.length + 1).split(/[/.]/)[0] as string)

const sourcesIn = (root: string) =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => `${root}/${name}`)
    .filter((name) => /\.tsx?$/.test(name) && !/\.(?:test|d)\.tsx?$/.test(name))

test('only the engine reads what ClickHouse says about itself', () => {
  const others = sourcesIn('src').filter((file) => !file.startsWith('src/core/engine/'))
  const knows = /(?<![.\w])system\.\w|\bsystemTable\b/
  expect(others.filter((file) => knows.test(readFileSync(file, 'utf8')))).toEqual([])
})

test.each(Object.entries(rooms))('imports in %s go down', (root, layers) => {
  const rankOf = (room: string) => layers.findIndex((layer) => layer.includes(room))
  const files = sourcesIn(root)
  expect(files.map((file) => roomOf(file, root)).filter((room) => rankOf(room) < 0)).toEqual([])
  const wrong = files.flatMap((file) => {
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import\(?) ?'(\.[^']*)'/g)
    return [...imports].flatMap(([, path]) => {
      const target = join(dirname(file), path as string)
      const [from, to] = [roomOf(file, root), roomOf(target, root)]
      const goesDown =
        upward[file] === target || from === to || !target.startsWith(`${root}/`) || rankOf(to) > rankOf(from)
      const why = leaves.find(([start, isLeft]) => file.startsWith(start) && isLeft.test(target))?.[2]
      return goesDown && !why ? [] : `${file} imports ${target}. ${why ?? ''}`
    })
  })
  expect(wrong).toEqual([])
})

test('rooms and pages of the console have the names of their features', () => {
  const named = [...rooms['console/src'].flat(), ...Object.values(consolePages)]
  const ofFeatures = named.filter((name) => name !== null && !ownRooms.includes(name))
  expect(ofFeatures.length).toBeGreaterThan(10)
  expect(ofFeatures.filter((name) => !existsSync(`src/features/${name}`))).toEqual([])
  expect(ofFeatures.filter((name) => !existsSync(`console/src/${name}`))).toEqual([])
})

test('a feature uses another one through its index.ts, and only one that stands earlier in the list', () => {
  const featureOf = (path: string) => /^src\/features\/([^/]+)\//.exec(path)?.[1]
  const list = readFileSync('src/features.ts', 'utf8')
  const names = new Map(
    [...list.matchAll(/import \{ (\w+) \} from '\.\/features\/([^/]+)\//g)].map(([, name, folder]) => [
      folder,
      name,
    ]),
  )
  const order = (list.split('= [')[1] ?? '').split(/[\s,\]]+/)
  const placeOf = (folder: string) => order.indexOf(names.get(folder) ?? '')
  const wrong = sourcesIn('src/features').flatMap((file) => {
    const own = featureOf(file) as string
    const imports = readFileSync(file, 'utf8').matchAll(/(?:from|import\(?) ?'(\.[^']*)'/g)
    return [...imports].flatMap(([, path]) => {
      const target = join(dirname(file), path as string)
      const other = featureOf(target)
      if (other === undefined || other === own) return []
      const isAllowed = target === `src/features/${other}/index.ts` && placeOf(other) < placeOf(own)
      return isAllowed ? [] : `${file} imports ${target}.`
    })
  })
  expect(names.size).toBeGreaterThan(10)
  expect([...names.keys()].map((folder) => placeOf(folder as string)).filter((place) => place < 0)).toEqual(
    [],
  )
  expect(wrong).toEqual([])
})

/** A file and what it loads with it, without what it imports when that is used. */
function loadedWith(start: string): string[] {
  const found = new Set([start])
  // Grows while it is read.
  for (const file of found) {
    const text = file.startsWith('src/') ? readFileSync(file, 'utf8') : ''
    for (const [, path = ''] of text.matchAll(/^import (?!type )(?:[^']* from )?'([^']+)'/gm)) {
      found.add(path.startsWith('.') ? join(dirname(file), path) : path)
    }
  }
  return [...found]
}

test.each([
  'cli/commands/endpoint-commands',
  'cli/commands/sql-command',
  'features/erasure/commands',
  'features/logs/commands',
  'features/sources/commands',
  'features/tables/commands',
])('%s starts without what only the service and workspaces need', (name) => {
  const loaded = loadedWith(`src/${name}.ts`)
  expect(loaded).toContain('src/cli/kit/service-client.ts')
  expect(loaded.filter((file) => /^(?:zod$|src\/(?:core\/engine\/embedded|workspace)\/)/.test(file))).toEqual(
    [],
  )
})

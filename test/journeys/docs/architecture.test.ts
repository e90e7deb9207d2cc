import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { scenarios, scenariosByTest } from '../../../torture/scenarios.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const page = readFileSync(`${root}docs/architecture.md`, 'utf8')

/** Layers from top to bottom. Features are called by hooks of those around them. */
const layers = [
  ['main'],
  ['cli'],
  ['workspace'],
  ['app'],
  ['http'],
  // The cache runs what endpoints pass to it, so a walk goes from one to the other and back.
  ['access', 'cache', 'endpoints', 'features', 'intake'],
  ['catalog'],
  ['engine'],
  ['sql'],
  ['base'],
]
const rankOf = (file: string) => {
  const [, room = '', coreRoom = ''] = file.split('/')
  return layers.findIndex((layer) => layer.includes(room === 'core' ? coreRoom : room))
}

/** The files of a numbered list below a heading. */
function walk(heading: string): string[] {
  const section = page.split(/^## /m).find((text) => text.startsWith(heading)) ?? ''
  return [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file as string)
}

function pathsIn(text: string): string[] {
  const paths = /`((?:src|test|console|scripts|shipped|bench|torture|docs)\/[^`*<{ ]*)`/g
  return [...text.matchAll(paths)].map(([, path]) => path as string)
}

describe('docs/architecture.md', () => {
  test('names only files and folders that exist', () => {
    expect(pathsIn(page).length).toBeGreaterThan(40)
    expect(pathsIn(page).filter((path) => !existsSync(root + path))).toEqual([])
  })

  test('describes every folder of src, every room of core and every feature', () => {
    const foldersOf = (path: string) =>
      readdirSync(root + path, { withFileTypes: true })
        .filter((entry) => entry.isDirectory())
        .map(({ name }) => name)
    expect(foldersOf('src').filter((name) => !page.includes(`\`src/${name}/\``))).toEqual([])
    const rooms = [...foldersOf('src/core'), ...foldersOf('src/features')]
    expect(rooms.filter((name) => !page.includes(`\n- \`${name}\`: `))).toEqual([])
  })

  test('names every hook', () => {
    const hooks = readFileSync(`${root}src/core/hooks.ts`, 'utf8').split('export interface Hooks {')[1] ?? ''
    const names = [...hooks.matchAll(/^ {2}(?:readonly )?(\w+): /gm)].map(([, name]) => name as string)
    expect(names.length).toBeGreaterThan(15)
    expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  test('draws every layer', () => {
    const drawing = /```mermaid\n([\s\S]+?)```/.exec(page)?.[1] ?? ''
    expect(layers.flat().filter((name) => !new RegExp(`\\b${name}\\b`).test(drawing))).toEqual([])
  })

  test.each(['An uncached call', 'An entry'])('walks down, through every file once: %s', (heading) => {
    const files = walk(heading)
    expect(files.length).toBeGreaterThan(6)
    expect(new Set(files).size).toBe(files.length)
    const ranks = files.map(rankOf)
    expect(ranks).not.toContain(-1)
    expect(ranks).toEqual(ranks.toSorted((one, other) => one - other))
  })
})

test('torture/README.md describes every scenario of npm run torture', () => {
  const text = readFileSync(`${root}torture/README.md`, 'utf8')
  const listed = [...text.matchAll(/^- `([\w-]+)`: .+ → .+$/gm)].map(([, name]) => name)
  expect(listed.toSorted()).toEqual(scenarios.map(({ name }) => name).toSorted())
})

test('npm test runs a short form of every scenario of npm run torture', () => {
  for (const file of Object.keys(scenariosByTest)) {
    expect(readFileSync(root + file, 'utf8')).toContain(`testShortForms('${file}')`)
  }
})

test('pages link to and name existing files and headings', () => {
  const pages = readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`)
  const named = pages.flatMap((file) =>
    pathsIn(readFileSync(root + file, 'utf8'))
      .filter((path) => !existsSync(root + path))
      .map((path) => `${file}: ${path}`),
  )
  expect(named).toEqual([])
  const linking = ['README.md', 'CONTRIBUTING.md', 'bench/README.md', 'scripts/emulation/README.md', ...pages]
  const broken = linking.flatMap((file) =>
    [...readFileSync(root + file, 'utf8').matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)/g)]
      .map(([, path, anchor]) => ({ path: path ? join(dirname(file), path) : file, anchor }))
      .filter(({ path, anchor }) => !existsSync(root + path) || (anchor && !anchorsOf(path).includes(anchor)))
      .map(({ path, anchor }) => `${file}: ${path}${anchor ? `#${anchor}` : ''}`),
  )
  expect(broken).toEqual([])
})

/** The anchors of a page's headings, as GitHub makes them. */
function anchorsOf(path: string): string[] {
  const text = readFileSync(root + path, 'utf8').replace(/^```[\s\S]*?^```/gm, '')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- _]/gu, '')
      .replaceAll(' ', '-'),
  )
}

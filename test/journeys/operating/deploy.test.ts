import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse, parseDocument } from 'yaml'
import { createProgram } from '../../../src/cli/program.ts'
import { readSettings, variableOf } from '../../../src/core/base/settings.ts'
import { loadSettings } from '../../../src/settings-table.ts'
import { memoryIo } from '../../support/memory-io.ts'

const table = await loadSettings()
const repository = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8')
const isThere = (path: string) => existsSync(fileURLToPath(new URL(path, repository)))

const { bin } = JSON.parse(read('package.json')) as { bin: { wellhead: string } }
const dockerfile = read('deploy/Dockerfile')
const unit = read('deploy/wellhead.service')

const { wellhead } = parse(read('deploy/compose.yaml')).services
const { 'wellhead-1': node } = parse(read('deploy/cluster/compose.yaml'), { merge: true }).services
const supabase = parseDocument(read('deploy/supabase/docker-compose.wellhead.yml'))
const { analytics, studio, vector } = supabase.toJS().services
/** The services that run the image. */
const composed = { 'deploy/compose.yaml': wellhead, 'deploy/cluster': node, 'deploy/supabase': analytics }

const assigned = (text: string) =>
  Object.fromEntries([...text.matchAll(/\b(WELLHEAD_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]))

describe('the deployment files', () => {
  test.each([
    ['deploy/Dockerfile', { host: '0.0.0.0', port: 4000, dataDir: '/data/wellhead' }],
    ['deploy/wellhead.service', { dataDir: '/var/lib/wellhead/data' }],
  ])('%s has valid settings', (path, expected) => {
    expect(readSettings(table, assigned(read(path)) as Record<string, string>)).toMatchObject({
      settings: expected,
    })
  })

  test('start the command of the package', () => {
    expect(dockerfile).toContain(`ENTRYPOINT ["node", "/app/${bin.wellhead}"]`)
    expect(unit).toContain(`/opt/wellhead/node_modules/wellhead/${bin.wellhead} serve`)
    expect(read('src/main.ts').split('\n')[0]).toBe('#!/usr/bin/env node')
  })

  test('give the service enough time to stop', () => {
    const finishWithinMs = Number(
      /finishWithinMs = ([\d_]+)/.exec(read('src/app.ts'))?.[1]?.replaceAll('_', ''),
    )
    expect(Number(/TimeoutStopSec=(\d+)/.exec(unit)?.[1]) * 1000).toBeGreaterThan(finishWithinMs)
    for (const { stop_grace_period } of Object.values(composed)) {
      expect(Number.parseInt(stop_grace_period, 10) * 1000).toBeGreaterThan(finishWithinMs)
    }
  })

  test('give the image no rights, and nothing but its volume to write to', () => {
    for (const [path, service] of Object.entries(composed)) {
      expect([path, service]).toEqual([
        path,
        expect.objectContaining({
          read_only: true,
          tmpfs: ['/tmp'],
          cap_drop: ['ALL'],
          security_opt: ['no-new-privileges:true'],
        }),
      ])
    }
    expect(dockerfile).toMatch(/^USER 1000:1000$/m)
  })

  test('never ask a registry for the image', () => {
    expect([wellhead, node].map(({ pull_policy }) => pull_policy)).toEqual(['build', 'build'])
    for (const [directory, { build }] of [
      ['deploy', wellhead],
      ['deploy/cluster', node],
    ]) {
      expect(isThere(posix.join(directory, build.context, build.dockerfile))).toBe(true)
    }
    expect(analytics).toMatchObject({ image: wellhead.image, pull_policy: 'never' })
  })

  test('the image copies only existing files and ignores private ones', () => {
    const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \.\/?$/gm)].flatMap(([, files]) =>
      files?.split(' '),
    )
    expect(copied.filter((path) => !isThere(path as string))).toEqual([])
    const ignored = read('.dockerignore').split('\n')
    for (const path of ['node_modules', 'data', '.git', '.env*']) expect(ignored).toContain(path)
  })
})

describe('the override of a self-hosted Supabase', () => {
  test('gives the service the memory and the files that the documentation asks for', () => {
    const page = read('docs/operations/operating.md')
    const gigabytes = Number(/at least ([\d.]+) GB/.exec(page)?.[1])
    expect(Number(/^(\d+)g$/.exec(analytics.mem_limit)?.[1])).toBeGreaterThanOrEqual(gigabytes)
    expect(analytics.ulimits).toEqual(wellhead.ulimits)
    const settings = Object.entries(analytics.environment).filter(([name]) => name.startsWith('WELLHEAD'))
    expect(readSettings(table, Object.fromEntries(settings) as Record<string, string>)).toHaveProperty(
      'settings',
    )
  })

  test('needs both tokens, and gives them to all versions of Studio and Vector', () => {
    const [open, secret] = ['PUBLIC', 'PRIVATE'].map(
      (kind) => `\${LOGFLARE_${kind}_ACCESS_TOKEN:?set it in .env}`,
    )
    const tokens = { LOGFLARE_PUBLIC_ACCESS_TOKEN: open, LOGFLARE_PRIVATE_ACCESS_TOKEN: secret }
    expect(analytics.environment).toMatchObject(tokens)
    expect(studio.environment).toMatchObject({
      LOGFLARE_PRIVATE_ACCESS_TOKEN: secret,
      LOGFLARE_API_KEY: secret,
    })
    expect(vector.environment).toEqual({ LOGFLARE_PUBLIC_ACCESS_TOKEN: open, LOGFLARE_API_KEY: open })
  })

  test('serves the console to its machine only, also where the service was open to everyone', () => {
    expect(analytics.ports).toEqual(['127.0.0.1:4000:4000'])
    // Compose would add the port to those of the other files.
    const path = ['services', 'analytics', 'ports']
    expect(supabase.getIn(path, true)).toMatchObject({ tag: '!override' })
  })

  test('is named in docs/supabase.md as Compose and run.sh know it', () => {
    const page = read('docs/supabase.md')
    const lines = [...page.matchAll(/`COMPOSE_FILE=(\S+)`/g)].map(([, files]) => files?.split(':'))
    expect(lines.map((files) => [files?.at(0), files?.at(-1)])).toEqual(
      Array(2).fill(['docker-compose.yml', 'docker-compose.wellhead.yml']),
    )
    const [, added] = /run\.sh config add logs (\w+)/.exec(page) as unknown as [string, string]
    expect(isThere(`deploy/supabase/docker-compose.${added}.yml`)).toBe(true)
  })
})

describe('docs/operations/operating.md', () => {
  const page = read('docs/operations/operating.md')

  test('links to existing files', () => {
    const links = [...page.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, path]) =>
      posix.join('docs/operations', path as string),
    )
    const named = [...page.matchAll(/\bdeploy\/[\w.]+/g)].map(([path]) => path)
    expect(links.length).toBeGreaterThan(3)
    expect([...links, ...named].filter((path) => !isThere(path))).toEqual([])
  })

  test('mentions only existing settings', () => {
    const known = Object.keys(table).map(variableOf)
    const named = [...page.matchAll(/\bWELLHEAD_[A-Z_]+/g)].map(([name]) => name)
    expect(named.filter((name) => !known.includes(name))).toEqual([])
  })

  test('uses only existing flags', async () => {
    const { commands } = await createProgram(memoryIo())
    const given = [...page.matchAll(/\bwellhead (backup|restore|serve)\b([^&|\n`]*)/g)]
    expect(given.length).toBeGreaterThan(3)
    for (const [, name, rest] of given) {
      const flags = commands.find((command) => command.name() === name)?.options.map(({ long }) => long)
      for (const [flag] of rest?.matchAll(/--[a-z-]+/g) ?? [])
        expect(flags, `${name} ${flag}`).toContain(flag)
    }
  })
})

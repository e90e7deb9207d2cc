import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { readSettings, settingNames, variableOf } from '../../../src/base/settings.ts'
import { createProgram } from '../../../src/cli/program.ts'
import { memoryIo } from '../../support/memory-io.ts'

const repository = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8')
const isThere = (path: string) => existsSync(fileURLToPath(new URL(path, repository)))

const { bin } = JSON.parse(read('package.json')) as { bin: { wellhead: string } }
const dockerfile = read('deploy/Dockerfile')
const unit = read('deploy/wellhead.service')

const assigned = (text: string) =>
  Object.fromEntries([...text.matchAll(/\b(WELLHEAD_\w+)=(\S+)/g)].map(([, name, value]) => [name, value]))

describe('the deployment files', () => {
  test.each([
    ['deploy/Dockerfile', { host: '0.0.0.0', port: 4000, dataDir: '/data/wellhead' }],
    ['deploy/wellhead.service', { dataDir: '/var/lib/wellhead/data' }],
  ])('%s has valid settings', (path, expected) => {
    expect(readSettings(assigned(read(path)) as Record<string, string>)).toMatchObject({ settings: expected })
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
    const { services } = parse(read('deploy/compose.yaml'))
    expect(Number.parseInt(services.wellhead.stop_grace_period, 10) * 1000).toBeGreaterThan(finishWithinMs)
    expect(
      isThere(posix.join('deploy', services.wellhead.build.context, services.wellhead.build.dockerfile)),
    ).toBe(true)
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
    const known = settingNames.map(variableOf)
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

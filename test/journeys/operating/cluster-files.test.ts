import { existsSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createProgram } from '../../../src/cli/program.ts'
import { readSettings, variableOf } from '../../../src/core/base/settings.ts'
import { neededGrants } from '../../../src/core/engine/grants.ts'
import { loadSettings } from '../../../src/settings-table.ts'
import { memoryIo } from '../../support/memory-io.ts'

const table = await loadSettings()
const repository = new URL('../../../', import.meta.url)
const isThere = (path: string) => existsSync(fileURLToPath(new URL(path, repository)))
const read = (path: string) => readFileSync(new URL(path, repository), 'utf8')

const compose = read('deploy/cluster/compose.yaml')
const example = read('deploy/cluster/example.env')
const xml = { config: '', users: '', keeper: '' }
for (const name of Object.keys(xml) as (keyof typeof xml)[]) xml[name] = read(`deploy/cluster/${name}.xml`)

interface ComposeService {
  environment?: Record<string, string>
  volumes?: string[]
  depends_on?: Record<string, unknown>
  healthcheck?: { test: string[] }
}
const { services, volumes } = parse(compose, { merge: true }) as {
  services: Record<string, ComposeService>
  volumes: Record<string, null>
}
const named = (prefix: string) => Object.keys(services).filter((name) => name.startsWith(prefix))
const texts = (document: string, element: string) =>
  [...document.matchAll(new RegExp(`<${element}>([^<]*)</${element}>`, 'g'))].map(([, text]) => text)
const fromEnvironment = (document: string) =>
  [...document.matchAll(/from_env="(\w+)"/g)].map(([, name]) => name as string)

describe('deploy/cluster', () => {
  test('has two shards of two replicas, three keepers, two services and a proxy', () => {
    expect(named('clickhouse-')).toEqual([
      'clickhouse-1-1',
      'clickhouse-1-2',
      'clickhouse-2-1',
      'clickhouse-2-2',
    ])
    expect(named('keeper-')).toHaveLength(3)
    expect(named('wellhead-')).toHaveLength(2)
    expect(Object.keys(services)).toContain('proxy')
  })

  test.each(Object.keys(xml) as (keyof typeof xml)[])('%s.xml is well-formed', (name) => {
    const open: string[] = []
    for (const [, end, element, empty] of xml[name]
      .replace(/<!--[\s\S]*?-->/g, '')
      .matchAll(/<(\/?)([a-z_]\w*|main|wellhead)(?:\s+\w+="[^"]*")*\s*(\/?)>/g)) {
      if (end) expect(open.pop()).toBe(element)
      else if (!empty) open.push(element as string)
    }
    expect(open).toEqual([])
    expect(xml[name].replace(/<!--[\s\S]*?-->|<\/?\w+(?:\s+\w+="[^"]*")*\s*\/?>/g, '')).not.toMatch(/[<>]/)
  })

  test('uses the same names of nodes, keepers and services in all files', () => {
    const [, shards = ''] = xml.config.split('<remote_servers')
    expect(texts(shards.split('</remote_servers>')[0] as string, 'host')).toEqual(named('clickhouse-'))
    expect(texts(xml.config.split('<zookeeper>')[1] as string, 'host')).toEqual(named('keeper-'))
    expect(texts(xml.keeper, 'hostname')).toEqual(named('keeper-'))
    expect(texts(xml.keeper, 'id')).toEqual(
      named('keeper-').map((name) => services[name]?.environment?.KEEPER_ID),
    )
    const proxied = [...read('deploy/cluster/haproxy.cfg').matchAll(/^ +server (\S+) (\S+):4000$/gm)]
    expect(proxied.map(([, name]) => name)).toEqual(named('wellhead-'))
    expect(proxied.map(([, , host]) => host)).toEqual(named('wellhead-'))
    for (const name of named('clickhouse-')) {
      const { SHARD, REPLICA } = services[name]?.environment ?? {}
      expect(`clickhouse-${SHARD}-${REPLICA}`).toBe(name)
    }
    for (const { depends_on = {} } of Object.values(services)) {
      expect(Object.keys(depends_on).filter((name) => !(name in services))).toEqual([])
    }
  })

  test('gives each container its own volume, existing files and the variables that its configuration reads', () => {
    const mounts = Object.values(services).flatMap(({ volumes: mounted = [] }) => mounted)
    const sources = mounts.map((mount) => mount.split(':')[0] as string)
    const files = sources.filter((source) => source.startsWith('./'))
    expect(files.filter((file) => !isThere(posix.join('deploy/cluster', file)))).toEqual([])
    expect(sources.filter((source) => !source.startsWith('./'))).toEqual(Object.keys(volumes))
    const variables = { 'clickhouse-': [xml.config, xml.users], 'keeper-': [xml.keeper] }
    for (const [prefix, documents] of Object.entries(variables)) {
      for (const name of named(prefix)) {
        expect(Object.keys(services[name]?.environment ?? {})).toEqual(
          expect.arrayContaining(documents.flatMap(fromEnvironment)),
        )
      }
    }
  })

  test('takes all secrets from the environment, and contains none', () => {
    const required = new Set([...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name]) => name))
    const offered = [...example.matchAll(/^(\w+)=(.*)$/gm)]
    expect(new Set(offered.map(([, name]) => name))).toEqual(required)
    expect(offered.every(([, , value]) => value === '')).toBe(true)
    expect(compose.match(/(?:PASSWORD|SECRET|TOKEN): (?!\$\{)/g)).toBeNull()
    expect(read('.gitignore').split('\n')).toContain('.env')
  })

  test('starts the services with valid settings', () => {
    for (const name of named('wellhead-')) {
      const environment = {
        ...services[name]?.environment,
        WELLHEAD_ADMIN_TOKEN: 'a-token-of-an-administrator',
      }
      const reading = readSettings(table, environment)
      expect(reading).toMatchObject({
        settings: { clickhouseCluster: 'main', clickhouseDatabase: 'wellhead' },
      })
      const hosts = (environment as Record<string, string>).WELLHEAD_CLICKHOUSE_URL?.split(',') ?? []
      expect(hosts.map((url) => new URL(url).hostname)).toEqual(named('clickhouse-'))
    }
  })

  test('pins the versions of all images', () => {
    const images = [...compose.matchAll(/image: (\S+)/g)].map(([, image]) => image as string)
    expect(images.filter((image) => image !== 'wellhead' && !/:\d+\.\d+/.test(image))).toEqual([])
    expect(compose).toContain('clickhouse-server:25.3.')
  })

  test('grants the user exactly what the service checks', () => {
    const needed = neededGrants('wellhead', 'main')
    expect(texts(xml.users, 'query')).toEqual(needed.map((grant) => `GRANT ${grant}`))
    const statements = read('deploy/cluster/user.sql').matchAll(/^GRANT ON CLUSTER main (.+) TO wellhead;$/gm)
    const granted = [...statements].map(([, grant]) => grant)
    expect(granted.toSorted()).toEqual(needed.toSorted())
    expect(granted.slice(0, neededGrants('wellhead', undefined).length)).toEqual(
      neededGrants('wellhead', undefined),
    )
  })
})

describe('docs/cluster.md', () => {
  const page = read('docs/cluster.md')

  test('lists the grants that the service checks', () => {
    const listed = [...page.matchAll(/^ *GRANT (.+) TO wellhead;$/gm)].map(([, grant]) => grant)
    expect(listed.toSorted()).toEqual(neededGrants('wellhead', 'main').toSorted())
  })

  test('links to existing files and mentions only existing settings and flags', async () => {
    const links = [...page.matchAll(/\]\(([^)#:]+)[^)]*\)/g)].map(([, path]) =>
      posix.join('docs', path as string),
    )
    const files = [...page.matchAll(/\bdeploy\/[\w./-]*\w/g)].map(([path]) => path)
    expect([...links, ...files].filter((path) => !isThere(path))).toEqual([])
    const known = Object.keys(table).map(variableOf)
    const settings = [...page.matchAll(/\bWELLHEAD_(?!TEST_)[A-Z_]+[A-Z]/g)].map(([name]) => name)
    expect(settings.filter((name) => !known.includes(name))).toEqual([])
    const { commands } = await createProgram(memoryIo())
    const used = [...page.matchAll(/\bwellhead (copy|doctor|backup|restore)\b([^&|\n`]*)/g)]
    for (const [, name, rest] of used) {
      const command = commands.find((each) => each.name() === name)
      const flags = command?.options.map(({ long }) => long)
      for (const [flag] of rest?.matchAll(/--[a-z-]+/g) ?? [])
        expect(flags, `${name} ${flag}`).toContain(flag)
    }
  })
})

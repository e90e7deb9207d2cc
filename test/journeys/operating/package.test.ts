import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ask } from '../../support/callers.ts'
import { scratchDirectory } from '../../support/scratch.ts'
import { isAlive } from '../../support/service-process.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const read = (path: string) => readFileSync(join(repository, path), 'utf8')
const { path: folder, remove } = scratchDirectory()
afterAll(remove)
let files: string[]
let archive: string

beforeAll(() => {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const [packed] = JSON.parse(
    execFileSync('npm', args, { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  files = packed.files.map(({ path }: { path: string }) => path)
  archive = join(folder, packed.filename)
})

describe('the package', () => {
  test('has its notices, its pages and what an operator needs, but nothing that needs the sources', () => {
    expect(files).toEqual(
      expect.arrayContaining([
        ...['LICENSE', 'SECURITY.md', 'dist/THIRD-PARTY-LICENSES.txt', 'dist/sbom.cdx.json', 'dist/main.js'],
        ...['docs/stability.md', 'deploy/wellhead.service', 'deploy/kubernetes/kustomization.yaml'],
      ]),
    )
    expect(
      files.filter((path) => /Dockerfile|compose\.yaml|^(?:src|test|client|console|scripts)\//.test(path)),
    ).toEqual([])
    expect(
      execFileSync('node', ['node_modules/publint/src/cli.js', '--strict', archive], {
        cwd: repository,
        encoding: 'utf8',
      }),
    ).toContain('All good!')
  })

  test('contains every page that a message names', () => {
    const named = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
      .flatMap((name) =>
        [...read(`src/${name}`).matchAll(/\b(?:docs|deploy)\/[\w/-]+\.\w+/g)].map(([path]) => path),
      )
    expect(named.length).toBeGreaterThan(3)
    expect(named.filter((path) => !files.includes(path) && path !== 'deploy/cluster')).toEqual([])
  })

  test('has a license and an entry in the bill of materials for everything in the bundles', () => {
    const bill = JSON.parse(read('dist/sbom.cdx.json'))
    expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6' })
    const licenses = read('dist/THIRD-PARTY-LICENSES.txt')
    const parts: { group?: string; name: string; version: string; licenses: object[] }[] = bill.components
    const names = parts.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`)
    // React is in the console, fastify in the service; the others are installed beside the package.
    for (const name of ['react ', 'fastify ', 'chdb ', 'ffi-rs ']) {
      expect(names).toContainEqual(expect.stringMatching(`^${name}`))
    }
    expect(
      names.filter((name) => !/^(?:chdb|ffi-rs) /.test(name) && !licenses.includes(`${name} (`)),
    ).toEqual([])
    expect(parts.filter((part) => part.licenses.length === 0)).toEqual([])
  })
})

/** What npm needs to trust the registry. */
const { WELLHEAD_TEST_AUTHORITIES: authorities } = process.env
const env = { ...process.env, ...(authorities && { NODE_EXTRA_CA_CERTS: authorities }) }
const hasRegistry = spawnSync('npm', ['view', 'chdb', 'version'], { stdio: 'ignore', env }).status === 0

/** The libraries that npm would install, from the checkout, which has them already: to extract them takes longer than all else. */
function linkLibraries(home: string): void {
  const { packages } = JSON.parse(readFileSync(join(home, 'package-lock.json'), 'utf8'))
  const chosen = Object.keys(packages).filter((path) => {
    const isHere = packages[path].optional && existsSync(join(repository, path))
    return isHere && JSON.parse(read(`${path}/package.json`)).version === packages[path].version
  })
  // Machines without a library have an emulated engine.
  if (!process.env.WELLHEAD_ENGINE_NODE) {
    expect(chosen).toContainEqual(expect.stringContaining('/@chdb/lib-'))
    expect(chosen).toContainEqual(expect.stringContaining('/@yuuang/ffi-rs-'))
  }
  for (const path of chosen) {
    mkdirSync(join(home, dirname(path)), { recursive: true })
    symlinkSync(join(repository, path), join(home, path))
  }
}

test.runIf(hasRegistry)(
  'is installed in an empty folder, serves with npx, and stops with npx',
  { timeout: 600_000 },
  async () => {
    const home = join(folder, 'empty')
    execFileSync('mkdir', [home])
    writeFileSync(join(home, 'package.json'), '{}')
    const flags = ['--no-audit', '--no-fund', '--prefer-offline', '--omit=optional']
    await promisify(execFile)('npm', ['install', archive, ...flags], { cwd: home, env })
    linkLibraries(home)
    // The engine, and nothing that is bundled.
    expect(readdirSync(join(home, 'node_modules'))).not.toContain('fastify')
    const npx = spawn('npx', ['wellhead', 'serve', '--port', '0'], { cwd: home, stdio: 'ignore' })
    const file = () =>
      JSON.parse(readFileSync(join(home, 'data/service.json'), 'utf8')) as { url: string; pid: number }
    await expect.poll(() => file().url).toMatch(/^http/)
    const { url, pid } = file()
    const token = readFileSync(join(home, 'data/admin-token'), 'utf8').trim()
    const sent = await ask({ url }, token, 'POST', '/api/logs?source=edge_logs', { project: 'demo' })
    expect(sent.body).toMatchObject({ accepted: 1 })
    const rows = await ask({ url }, token, 'GET', '/api/endpoints/query/logs.all?project=demo')
    expect(rows.body.result).toHaveLength(1)
    npx.kill('SIGTERM')
    await expect.poll(() => isAlive(pid)).toBe(false)
  },
)

/**
 * Makes everything that a maintainer publishes: `npm run release -- 0.2.0`. Refuses a dirty tree and failing tests. With `--check`,
 * does all of it without writing to the repository, and prints what is missing. `--no-test` leaves out `npm test`.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { dated, notesOf } from './support/changelog.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path) => readFileSync(join(root, path), 'utf8')
const words = process.argv.slice(2)
const isCheck = words.includes('--check')
const current = JSON.parse(read('package.json')).version
const version = words.find((word) => !word.startsWith('--')) ?? current
const out = isCheck ? mkdtempSync(join(tmpdir(), 'wellhead-release-')) : join(root, 'release')

/** The output of a command; throws the end of it if it fails. */
function run(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    ...{ cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 },
    ...options,
  })
  if (status === 0) return stdout.trim()
  const lines = `${stdout ?? ''}\n${stderr ?? ''}`.trim().split('\n')
  throw new Error(error?.message ?? `${command} ${args.join(' ')} failed:\n${lines.slice(-30).join('\n')}`)
}

const node = (...args) => run(process.execPath, args)
const size = (bytes) => (bytes < 2 ** 20 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`)

const rows = []
/** Runs a step and remembers its result. The steps that need it are left out if it fails. */
async function step(name, work) {
  const began = performance.now()
  try {
    rows.push({ mark: '✔', name, detail: await work() })
  } catch (error) {
    rows.push({ mark: '✘', name, detail: error.message })
  }
  const row = rows.at(-1)
  console.log(`${row.mark} ${name} (${Math.round((performance.now() - began) / 1000)} s)`)
  return row.mark === '✔'
}

function packageStep(directory) {
  const [packed] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', out], {
      cwd: join(root, directory),
    }),
  )
  node('node_modules/publint/src/cli.js', '--strict', directory)
  if (directory === 'client') {
    node(
      'node_modules/@arethetypeswrong/cli/dist/index.js',
      '--profile',
      'esm-only',
      join(out, packed.filename),
    )
  }
  return `${packed.filename}: ${size(packed.size)}, unpacked ${size(packed.unpackedSize)}, ${packed.entryCount} files`
}

const isClean = await step('clean tree', () => {
  const changed = run('git', ['status', '--porcelain'])
  if (changed !== '') throw new Error(`Commit or remove these first:\n${changed}`)
  return run('git', ['rev-parse', '--short', 'HEAD'])
})
const isNamed =
  isClean &&
  (await step('version', () => {
    if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error(`"${version}" is not a version such as 0.2.0.`)
    if (run('git', ['tag', '--list', `v${version}`]) !== '') {
      throw new Error(`v${version} is released already. Name the next version: npm run release -- 0.2.0`)
    }
    notesOf(read('CHANGELOG.md'), version)
    return version
  }))
if (isNamed) {
  rmSync(out, { recursive: true, force: true })
  mkdirSync(out, { recursive: true })
  if (!isCheck) bump()
  const isBuilt = await step('build', () => run('npm', ['run', '--silent', 'build']))
  if (isBuilt) {
    await step('wellhead', () => packageStep('.'))
    await step('@wellhead/client', () => packageStep('client'))
    await step('bill of materials', () => {
      const bill = read('dist/sbom.cdx.json')
      writeFileSync(join(out, `wellhead-${version}.cdx.json`), bill)
      return `${JSON.parse(bill).components.length} components`
    })
    await step('image', async () => {
      const { buildImage } = await import('./image.mjs')
      const { name, bytes } = await buildImage({ name: `wellhead:${version}` })
      const env = { ...process.env, WELLHEAD_TEST_IMAGE: name }
      run(process.execPath, ['scripts/test.mjs', 'test/journeys/operating/image.test.ts'], { env })
      return `${name}: ${size(bytes)}`
    })
    await step('manifests', () => {
      node('scripts/test.mjs', 'test/journeys/operating/kubernetes.test.ts')
      return 'deploy/kubernetes fits the schemas of Kubernetes'
    })
    await step('archive of this version', async () => {
      const { makeArchive } = await import('./release-archive.mjs')
      return size(makeArchive(isCheck ? join(out, `${version}.tar.gz`) : undefined))
    })
    // Opens the archives of all releases.
    await step('archives opened', () => {
      node('scripts/test.mjs', 'test/journeys/operating/upgrade.test.ts')
      return (
        readdirSync(join(root, 'test/releases'))
          .filter((name) => name.endsWith('.tar.gz'))
          .join(', ') || 'none yet'
      )
    })
    if (!words.includes('--no-test')) {
      await step('npm test', () => run('npm', ['test']).split('\n').at(-1))
    }
  }
}

for (const { mark, name, detail } of rows)
  console.log(`${mark} ${name.padEnd(24)} ${detail.replaceAll('\n', '\n  ')}`)
const isFine = rows.every(({ mark }) => mark === '✔') && rows.length > 2
if (isFine) finish()
if (isCheck) rmSync(out, { recursive: true, force: true })
else if (!isFine && isNamed)
  console.log('Nothing is committed or tagged. To undo the new version: git checkout .')
process.exit(isFine ? 0 : 1)

function bump() {
  const flags = ['--workspaces', '--include-workspace-root', '--no-git-tag-version', '--allow-same-version']
  run('npm', ['version', version, ...flags])
  writeFileSync(join(root, 'CHANGELOG.md'), dated(read('CHANGELOG.md'), version, new Date()))
}

function finish() {
  writeFileSync(join(out, 'NOTES.md'), notesOf(read('CHANGELOG.md'), version))
  const sums = readdirSync(out)
    .filter((name) => name !== 'SHA256SUMS' && statSync(join(out, name)).isFile())
    .map(
      (name) =>
        `${createHash('sha256')
          .update(readFileSync(join(out, name)))
          .digest('hex')}  ${name}\n`,
    )
  writeFileSync(join(out, 'SHA256SUMS'), sums.join(''))
  if (isCheck) return
  run('git', ['add', '--all', '.'])
  run('git', ['commit', '-m', `Release ${version}`])
  run('git', ['tag', '-a', `v${version}`, '-m', `Wellhead ${version}`])
  console.log(`
release/ has the packages, the bill of materials, checksums and notes. Publish with:

  git push --follow-tags
  npm publish release/wellhead-client-${version}.tgz --access public
  npm publish release/wellhead-${version}.tgz --access public
  podman push wellhead:${version} <registry>/wellhead:${version}
`)
}
